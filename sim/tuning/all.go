package tuning

import (
	"context"
	"sync"
)

// Row is a run and what came of it. It is a plain value, safe for concurrent reading.
type Row struct {
	Scenario Scenario `json:"scenario"`
	Tuner    Tuner    `json:"tuner"`
	Seed     uint64   `json:"seed"`
	Result
}

// All are the runs of all scenarios, tuners and seeds, in this order, at most so many at
// a time, which does not change them.
func All(ctx context.Context, scenarios []Scenario, tuners []Tuner, seeds []uint64, c Config, workers int) ([]Row, error) {
	var rows []Row
	for _, scenario := range scenarios {
		for _, tuner := range tuners {
			for _, seed := range seeds {
				rows = append(rows, Row{Scenario: scenario, Tuner: tuner, Seed: seed})
			}
		}
	}
	// What the clairvoyant asks for is that of a seed, whoever tunes.
	least := map[uint64]func() (float64, error){}
	for _, seed := range seeds {
		c := c.withDefaults()
		c.Seed = seed
		least[seed] = sync.OnceValues(func() (float64, error) { return clairvoyant(c) })
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	turns := make(chan struct{}, max(workers, 1))
	var all sync.WaitGroup
	for i := range rows {
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			all.Wait()
			return nil, context.Cause(ctx)
		}
		all.Add(1)
		go func(r *Row) {
			defer all.Done()
			defer func() { <-turns }()
			c := c
			c.Scenario, c.Tuner, c.Seed = r.Scenario, r.Tuner, r.Seed
			var err error
			if r.Result, err = serve(c); err == nil {
				r.Clairvoyant, err = least[r.Seed]()
			}
			if err != nil {
				cancel(err)
			}
		}(&rows[i])
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return rows, nil
}
