package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node/build"
)

// connectTimeout is how long one attempt may take to connect before it counts
// as failed; gRPC's own 20 s would keep a node silent long after a peer that
// dropped packets has returned.
const connectTimeout = 3 * time.Second

// usageConnectTimeout is that of what can wait: windows are kept, and grow together. When
// all agents of a fleet come to a profiler at once, who gives up and comes again has it
// begin another handshake where it was about to end one.
const usageConnectTimeout = 20 * time.Second

// dialOptions are those of a target, which gets this program's version; a tokenFile, if there is one, is read anew
// for each stream.
func dialOptions(target string, c transport.Config, tokenFile string, timeout time.Duration) ([]grpc.DialOption, error) {
	options, err := transport.DialOptions(target, c)
	if err != nil {
		return nil, err
	}
	if tokenFile != "" {
		options = append(options, transport.Token(tokenFile))
	}
	options = append(options, grpc.WithUserAgent("spazio-agent/"+build.Version()))
	return append(options, grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.DefaultConfig,
		MinConnectTimeout: timeout,
	})), nil
}

// Backoff is an exponential backoff with jitter: the wait before retry i = 0,
// 1, ... is between half of and all of min(Max, Min·2^i), so that the agents
// of a fleet don't return to a restarted peer in step.
type Backoff struct {
	// Min is the first wait, default 100 ms; Max the longest, default 5 s.
	Min, Max time.Duration
}

// validate refuses negative waits and a Min above Max.
func (b Backoff) validate() error {
	if b.Min < 0 {
		return refuse("Backoff.Min", b.Min, "negative")
	}
	if d := b.withDefaults(); d.Max < d.Min {
		return refuse("Backoff.Max", b.Max, "less than Min")
	}
	return nil
}

func (b Backoff) withDefaults() Backoff {
	b.Min = cmp.Or(b.Min, 100*time.Millisecond)
	b.Max = cmp.Or(b.Max, max(b.Min, 5*time.Second))
	return b
}

// delay is the wait before retry i; random is in [0,1).
func (b Backoff) delay(i int, random float64) time.Duration {
	b = b.withDefaults()
	d := b.Max
	if i < 62 && b.Min<<i>>i == b.Min {
		d = min(d, b.Min<<i)
	}
	return d/2 + time.Duration(random*float64(d-d/2))
}

// retries counts failures in a row.
type retries struct {
	backoff  Backoff
	failures int
}

func (r *retries) next() time.Duration {
	d := r.backoff.delay(r.failures, rand.Float64())
	r.failures++
	return d
}

func (r *retries) reset() { r.failures = 0 }

// reconnect runs sessions, with waits between them, until ctx ends. It hands lost
// the error of each, and whether it is the first of an outage.
func reconnect(ctx context.Context, b Backoff, session func(context.Context) error, lost func(err error, first bool)) {
	retry := retries{backoff: b}
	for {
		began := time.Now()
		err := session(ctx)
		if ctx.Err() != nil {
			return
		}
		// A session that outlived the longest wait worked: what ended it is new.
		if time.Since(began) > b.Max {
			retry.reset()
		}
		lost(err, retry.failures == 0)
		if !sleep(ctx, retry.next()) {
			return
		}
	}
}

// sleep waits for d and reports whether ctx still runs.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// ErrInvalid is the reason of every field.Error of this package.
var ErrInvalid = errors.New("invalid configuration or input")

// refuse returns a *field.Error for a field that is refused for a reason.
func refuse(name string, value any, reason string) error {
	return &field.Error{Package: "publish", Field: name, Value: value, Err: fmt.Errorf("%w: %s", ErrInvalid, reason)}
}
