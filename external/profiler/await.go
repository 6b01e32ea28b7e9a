package profiler

import (
	"context"
	"errors"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed"
)

// await follows a scheduling until done returns true, and returns it as it was then. done gets nil
// for a scheduling that does not exist.
func (p *Profiler) await(ctx context.Context, name string, done func(*wire.Scheduling) (bool, error)) (*wire.Scheduling, error) {
	scope := client.Scope{Kinds: []wire.Kind{wire.Schedulings}, Namespace: p.c.Namespace, Names: []string{name}, Lost: func(err error) {
		p.c.Logger.Warn("lost the connection to the interface; connecting again", "error", err)
	}}
	full := testbed.Name{Namespace: p.c.Namespace, Name: name}
	for view, err := range p.c.Client.Watch(ctx, scope) {
		if err != nil {
			return nil, err
		}
		var now *wire.Scheduling
		if s, there := view.Scheduling(full); there {
			now = &s
		}
		ok, err := done(now)
		var failed *FailedError
		if errors.As(err, &failed) {
			failed.Scheduling = name
		}
		if ok || err != nil {
			return now, err
		}
	}
	return nil, context.Cause(ctx)
}
