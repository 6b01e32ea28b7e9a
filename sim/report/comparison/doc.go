// Package comparison presents what the simulator's experiments and the evaluations beside them have
// found, as tables for a terminal, as rows for machines, as pictures and as pages:
//
//   - [Comparison]: schedulers compared by experiments (package sim/experiment)
//   - [Sensitivity]: how much each constant of Spazio matters
//   - [Recommenders]: recommenders of requests on recorded series (package profile/replay)
//
// A comparison of schedulers, for example:
//
//	rows, err := experiment.Run(ctx, cases, options)
//	c := comparison.Comparison{Cases: cases, Rows: rows, Runs: comparison.Runs{Seeds: options.Seeds}}
//	for _, t := range c.Tables(text.Terminal) {
//		err = t.WriteText(os.Stdout, text.Terminal)
//	}
//
// The package knows no metric by itself: the columns are those that the simulator reports, what
// schedulers are judged by first.
//
// Types are plain values unless they say otherwise.
package comparison
