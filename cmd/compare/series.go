package compare

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/cmd/compare/social"
)

// attempts is how often a run may be made until it counts.
const attempts = 3

// report makes all runs in their order, each by run. A void one is made again at once, so
// that it has the same place in the order.
func (c Config) report(ctx context.Context, quality, nodes string, say func(string, ...any), run func(context.Context, turn) (runResult, error)) (Report, error) {
	names := labels(c.Schedulers)
	r := Report{Quality: quality, Settings: c.settings(nodes), Schedulers: names}
	plan := turns(len(names), c.Runs)
	for i, t := range plan {
		for attempt := 1; ; attempt++ {
			say("run %d of %d: %s, pair %d", i+1, len(plan), names[t.scheduler], t.pair+1)
			made, err := run(ctx, t)
			if err != nil {
				return r, failure(ctx, fmt.Errorf("%s, pair %d: %w", names[t.scheduler], t.pair+1, err))
			}
			made.Scheduler, made.Pair = names[t.scheduler], t.pair
			r.Runs = append(r.Runs, made)
			if made.Void == "" {
				say("  %d requests, %d errors, %.0f J, p99 %.1f ms", made.Requests, made.Errors, made.Joules, 1e3*made.P99)
				break
			}
			say("  void: %s", made.Void)
			if attempt == attempts {
				break
			}
		}
	}
	return r, enough(r)
}

// look is how often pods are counted.
const look = 200 * time.Millisecond

// hold lasts from the beginning for the duration: it has those killed who have to be, and
// returns the pods of each node on average.
func (c Config) hold(ctx context.Context, began time.Time, pair int, count func() map[string]float64, kill func(context.Context, replica) error) (pods map[string]float64, err error) {
	var killing sync.WaitGroup
	defer killing.Wait()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	killing.Go(func() {
		if err := c.killAll(ctx, began, pair, kill); err != nil {
			stop(err)
		}
	})
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	end := time.NewTimer(time.Until(began.Add(c.Duration)))
	defer end.Stop()
	pods, looks := count(), 1.
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-end.C:
			for node := range pods {
				pods[node] /= looks
			}
			killing.Wait() // who was killed is made again
			return pods, context.Cause(ctx)
		case <-ticker.C:
			for node, n := range count() {
				pods[node] += n
			}
			looks++
		}
	}
}

// killAll kills those of the pair when they are due.
func (c Config) killAll(ctx context.Context, began time.Time, pair int, kill func(context.Context, replica) error) error {
	for _, k := range c.kills(pair) {
		if err := pause(ctx, time.Until(began.Add(k.at))); err != nil {
			return err
		}
		for _, r := range k.replicas {
			if err := kill(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// answered has a run tell how its requests fared, and whether it counts.
func (c Config) answered(r *runResult, of social.LoadResult) {
	r.Requests, r.Errors, r.P50, r.P99, r.P999, r.Late = of.Requests, of.Errors, of.P50, of.P99, of.P999, of.Late
	switch {
	case of.Late > c.MostLate:
		r.Void = fmt.Sprintf("%.1f %% of the requests were sent more than %v late", 100*of.Late, social.LateAfter)
	case of.Requests == 0:
		r.Void = "no request was answered: " + of.Error
	}
}
