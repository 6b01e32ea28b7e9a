package room

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/field"
)

// Config says where the scheduler is. The zero value of a field but Target is its
// default. A plain value.
type Config struct {
	// Target is where the scheduler takes its agents' signals, host:port.
	Target string
	// Transport is the caller's identity and trust. Plaintext is for loopback.
	Transport transport.Config
	// TokenFile holds the token that the scheduler asks for, empty for none. It is read
	// anew for each stream, and needs TLS.
	TokenFile string
	// MaxWait bounds the time between two attempts to reach the scheduler, which doubles with
	// each from 100 ms on; default 5 s.
	MaxWait time.Duration
	// Logger gets a line where the scheduler is lost, and one where it is back; nil logs
	// nothing.
	Logger *slog.Logger

	// maxAge is how long after the scheduler's last word a reading is fresh; default
	// 5 s. The scheduler says something every second.
	maxAge time.Duration
}

// Validate returns a *field.Error, or what package transport refuses.
func (c Config) Validate() error {
	switch {
	case c.MaxWait < 0:
		return refuse("MaxWait", c.MaxWait, "negative")
	case c.Target == "":
		return refuse("Target", c.Target, "missing")
	case c.TokenFile != "" && !c.Transport.Encrypted():
		return refuse("TokenFile", c.TokenFile, "a token is not sent in plaintext")
	}
	return nil
}

// errInvalid is what a field.Error wraps, unless it is of a file that can't be read: that
// wraps the system's error.
var errInvalid = errors.New("invalid configuration or input")

func refuse(name string, value any, why string) error {
	return &field.Error{Package: "room", Field: name, Value: value, Err: fmt.Errorf("%w: %s", errInvalid, why)}
}

func (c Config) withDefaults() Config {
	c.maxAge = cmp.Or(c.maxAge, 5*time.Second)
	c.MaxWait = cmp.Or(c.MaxWait, 5*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

const (
	// connectTimeout is how long one attempt may take to connect: gRPC's own 20 s are
	// long beside MaxWait.
	connectTimeout = 3 * time.Second
	// silentAges is how many times Config.maxAge a stream may be silent before another is
	// opened.
	silentAges = 3
)

// Client is a Source that follows a scheduler. It is safe for concurrent use.
type Client struct {
	config  Config
	options []grpc.DialOption
	changed chan struct{}
	ended   chan struct{}
	// stale fires when the readings have turned stale.
	stale *time.Timer

	mu    sync.Mutex
	rooms map[string]Reading
	// heard is when the scheduler said something last, zero before it did.
	heard time.Time
}

var _ Source = (*Client)(nil)

// Watch follows the scheduler until ctx ends; Wait returns then. That the scheduler is
// away is no error: there are no readings then, or none that are fresh. The error is
// that of Config.Validate, or of its files.
func Watch(ctx context.Context, c Config) (*Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	options, err := transport.DialOptions(c.Target, c.Transport)
	if err != nil {
		return nil, err
	}
	if c.TokenFile != "" {
		options = append(options, transport.Token(c.TokenFile))
	}
	options = append(options, grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: connectTimeout}))
	w := &Client{config: c.withDefaults(), options: options, changed: make(chan struct{}, 1), ended: make(chan struct{})}
	w.stale = time.AfterFunc(w.config.maxAge, w.signal)
	w.stale.Stop() // until there is a reading
	go func() {
		defer close(w.ended)
		defer w.stale.Stop()
		w.run(ctx)
	}()
	return w, nil
}

// Wait returns when all that Watch began has ended.
func (w *Client) Wait() { <-w.ended }

// Room implements Source.
func (w *Client) Room(node string) (r Reading, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok = w.rooms[node]
	r.Fresh = r.Fresh && w.fresh(time.Now())
	return r, ok
}

// Changed implements Source. That all readings have turned stale is a change.
func (w *Client) Changed() <-chan struct{} { return w.changed }

// Heard is when the scheduler said something last; zero before it did.
func (w *Client) Heard() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard
}

// fresh reports whether the scheduler was heard within maxAge; w.mu is held.
func (w *Client) fresh(now time.Time) bool {
	return !w.heard.IsZero() && now.Sub(w.heard) < w.config.maxAge
}

func (w *Client) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// run keeps a stream, with waits between two, until ctx ends.
func (w *Client) run(ctx context.Context) {
	fresh := wait.Backoff{Duration: min(100*time.Millisecond, w.config.MaxWait), Factor: 2, Jitter: 1, Steps: 1 << 10, Cap: w.config.MaxWait}
	waits, away := fresh, false
	for {
		began := time.Now()
		err := w.session(ctx, func() {
			if away {
				w.config.Logger.Info("the scheduler reports the nodes' room again", "target", w.config.Target)
			}
			away = false
		})
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > w.config.MaxWait { // it worked: what ended it is new
			waits = fresh
		}
		if !away {
			w.config.Logger.Warn("the scheduler reports no room of nodes: slots of automatic test beds stay as they are", "target", w.config.Target, "error", err)
		}
		away = true
		select {
		case <-ctx.Done():
			return
		case <-time.After(waits.Step()):
		}
	}
}

// session opens a stream and takes what it brings until it or ctx ends, or it is silent
// for too long. up is called with the first update.
func (w *Client) session(ctx context.Context, up func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(silentAges*w.config.maxAge, func() { cancel(errSilent) })
	defer silent.Stop()
	connection, err := grpc.NewClient(w.config.Target, w.options...)
	if err != nil {
		return err
	}
	defer connection.Close()
	stream, err := spaziov1.NewRoomServiceClient(connection).Watch(ctx, &spaziov1.WatchRooms{})
	if err != nil {
		return err
	}
	var u update
	for {
		m, err := stream.Recv()
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		part, err := api.ToRooms(m)
		if err != nil {
			return err
		}
		silent.Reset(silentAges * w.config.maxAge)
		switch complete := u.add(part); {
		case len(u.rooms) > maxNodes || len(u.gone) > maxNodes:
			return errCrowd
		case complete:
			w.take(&u)
			up()
		}
	}
}

var (
	errSilent = errors.New("the scheduler sends nothing")
	errCrowd  = errors.New("the update has more nodes than a cluster may have")
)

// maxNodes bounds the memory of an update, far above what any cluster has.
const maxNodes = 100_000

// update is what has come of an update so far. The zero value is nothing.
type update struct {
	full  bool
	rooms map[string]Reading
	gone  []string
}

// add takes a part, and reports whether it was the last.
func (u *update) add(part api.Rooms) (complete bool) {
	if u.rooms == nil {
		u.rooms = make(map[string]Reading, len(part.Rooms))
	}
	u.full = u.full || part.Full
	u.gone = append(u.gone, part.Gone...)
	for _, r := range part.Rooms {
		u.rooms[r.Node] = Reading{
			Avail: r.Avail, InFlight: r.InFlight, Held: r.Held, Fresh: r.Fresh, CostKnown: r.CostKnown, Saturated: r.Saturated,
		}
	}
	return !part.More
}

// take makes an update count and empties it.
func (w *Client) take(u *update) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := !w.fresh(time.Now()) && len(w.rooms) > 0
	w.heard = time.Now()
	w.stale.Reset(w.config.maxAge)
	switch {
	case u.full:
		changed = changed || !maps.Equal(w.rooms, u.rooms)
		w.rooms = u.rooms
	default:
		if w.rooms == nil {
			w.rooms = make(map[string]Reading)
		}
		for node, r := range u.rooms {
			changed = changed || w.rooms[node] != r
			w.rooms[node] = r
		}
		for _, node := range u.gone {
			_, known := w.rooms[node]
			changed = changed || known
			delete(w.rooms, node)
		}
	}
	*u = update{}
	if changed {
		w.signal()
	}
}

// Reading is what a scheduler knows of a node, in pods of mean cost. It is a plain
// value.
type Reading struct {
	// Avail is a lower bound of the pods that fit beyond those the node counts,
	// InFlight are those bound to it and not yet counted, and Held is what placeholders keep
	// free. What is free of all is Avail − InFlight − Held, which may be negative.
	Avail, InFlight, Held float64
	// Fresh reports whether the reading is of now, CostKnown whether the node has seen enough
	// pods to know what one takes, and Saturated whether a resource of it is full.
	Fresh, CostKnown, Saturated bool
}

// Free is the room that no placeholder holds; it may be negative.
func (r Reading) Free() float64 { return r.Avail - r.InFlight - r.Held }

// Source knows the newest readings. Its methods are safe for concurrent use.
type Source interface {
	// Room returns the newest reading of a node; ok is false where there is none.
	Room(node string) (r Reading, ok bool)
	// Changed has a token after readings have changed. It is for one receiver.
	Changed() <-chan struct{}
}
