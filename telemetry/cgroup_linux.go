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
	t.churn = churn{} // what is there at the start is not a change
	t.report(notify)
	for {
		events, err := in.read(t.wake())
		for ; err == nil && ctx.Err() == nil; events = in.readReady() {
			if !t.update(time.Now(), events, notify) {
				break
			}
			err = in.pause(p.config.Gather)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("telemetry: watching cgroups: %w", err)
		}
	}
}
