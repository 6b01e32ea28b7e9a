package tuning

import (
	"context"
	"sync"

	"github.com/spazio-scheduler/spazio/sim"
)

// row is a run and what came of it.
type row struct {
	Scenario Scenario `json:"scenario"`
	Tuner    Tuner    `json:"tuner"`
	Seed     uint64   `json:"seed"`
	result
}

// Run runs all scenarios, tuners and seeds, and returns the runs in this order. At most so many workers
// run at a time, which does not change the runs. The error is a *field.Error or ctx's.
func Run(ctx context.Context, scenarios []Scenario, tuners []Tuner, seeds []uint64, c Config, workers int) (Runs, error) {
	var rows Runs
	for _, scenario := range scenarios {
		for _, tuner := range tuners {
			for _, seed := range seeds {
				rows = append(rows, row{Scenario: scenario, Tuner: tuner, Seed: seed})
			}
		}
	}
	// What the clairvoyant asks for depends on the seed alone.
	least := map[uint64]func() (float64, error){}
	for _, seed := range seeds {
		c := c.withDefaults()
		c.seed = seed
		least[seed] = sync.OnceValues(func() (float64, error) { return clairvoyant(c) })
	}
	err := sim.Parallel(ctx, len(rows), workers, func(_ context.Context, i int) (err error) {
		r, c := &rows[i], c
		c.Scenario, c.Tuner, c.seed = r.Scenario, r.Tuner, r.Seed
		if r.result, err = serve(c); err == nil {
			r.Clairvoyant, err = least[r.Seed]()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}
