package telemetry

import (
	"context"
	"fmt"
	"time"
)

const inotifySupported = true

// Run watches the tree until ctx ends. It returns an error only if the system
// gives it no inotify instance; when it runs out of watches it reads the whole
// tree once a second instead.
func (p *CgroupPods) Run(ctx context.Context, notify func(PodEvent)) error {
	in, err := openInotify()
	if err != nil {
		return fmt.Errorf("telemetry: watching cgroups: %w", err)
	}
	defer in.close()
	defer context.AfterFunc(ctx, in.interrupt)()

	t := newTree(p.config, in, p.setHealth)
	t.rescan(time.Now())
	t.schedule()
	t.churn = false // what is there at the start is not a change
	t.report(notify)
	for {
		if err := in.setDeadline(t.wake()); err != nil {
			return fmt.Errorf("telemetry: watching cgroups: %w", err)
		}
		// Asked after setting the deadline: interrupt may have come before it.
		if ctx.Err() != nil {
			return nil
		}
		events, err := in.read()
		if err != nil {
			return fmt.Errorf("telemetry: watching cgroups: %w", err)
		}
		for t.update(time.Now(), events, notify) {
			if !pause(ctx, p.config.Gather) {
				return nil
			}
			events = in.readReady()
		}
	}
}

// pause waits and says whether it was not cut short by the end of ctx.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
