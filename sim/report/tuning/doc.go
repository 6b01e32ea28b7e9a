// Package tuning shows what became of services whose requests a profiler corrects: the
// runs of package sim/tuning as a table and as a picture.
//
//	rows, err := simulated.All(ctx, scenarios, tuners, seeds, simulated.Config{}, workers) // package sim/tuning
//	err = tuning.Runs(rows).Table().WriteText(os.Stdout, table.Terminal)
//	err = tuning.Runs(rows).Save("tuning.svg")
//
// A run holds its bars if its latency has settled after 50 minutes, as S. Galantino's
// thesis has it, and in the end it requests at most 1.25 times what somebody would who
// knows what is enough, with no service held up by its limit in more than 1 % of its
// periods.
package tuning
