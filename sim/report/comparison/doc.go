// Package comparison presents what package sim/experiment has run: schedulers
// compared, and what each constant of Spazio is worth, as tables for a terminal, as
// rows for machines and as a page with pictures.
//
//	rows, err := experiment.Run(ctx, cases, options)
//	c := comparison.Comparison{Cases: cases, Rows: rows, Runs: comparison.Runs{Seeds: options.Seeds}}
//	for _, t := range c.Tables(table.Terminal) {
//		err = t.WriteText(os.Stdout, table.Terminal)
//	}
//
// It knows no metric by itself: the columns are those that the simulator reports,
// what schedulers are judged by first.
//
// Types that do not speak of concurrent use are plain values.
package comparison
