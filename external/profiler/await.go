package profiler

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// await follows a scheduling until done says so, of nil once it is no more, and returns it
// as it was then.
func (p *Profiler) await(ctx context.Context, name string, done func(*wire.Scheduling) (bool, error)) (*wire.Scheduling, error) {
	for {
		s, err := p.c.Client.Scheduling(ctx, p.c.Namespace, name)
		now := &s
		if isStatus(err, http.StatusNotFound) {
			now, err = nil, nil
		}
		if err != nil {
			return nil, err
		}
		ok, err := done(now)
		var failed *FailedError
		if errors.As(err, &failed) {
			failed.Scheduling = name
		}
		if ok || err != nil {
			return now, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
