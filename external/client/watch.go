package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// Scope is which objects Watch follows.
type Scope struct {
	// Kinds are one or more.
	Kinds []wire.Kind
	// Namespace has the objects; empty is all namespaces, which takes the right to all
	// of them.
	Namespace string
	// Names are the objects' names; none are all.
	Names []string
	// Lost is called, if it is not nil, whenever the connection is lost or cannot be made, with
	// the reason: until the next View the state is as of then.
	Lost func(error)
}

// silence is how long a connection without messages is taken for alive: a server sends one every
// ten seconds.
const silence = 35 * time.Second

// Watch follows objects: it yields their state, and again whenever that has changed. A
// loop that takes long over a View misses none of the objects' newest states, and nothing
// piles up meanwhile. A connection that is lost is made again, at the Client's URL or one of
// its Replicas, and goes on where it was.
//
// The sequence ends with an error when ctx ends or the server refuses what is asked for
// good: a *wire.Problem. Leaving the loop closes the connection.
func (c *Client) Watch(ctx context.Context, scope Scope) iter.Seq2[*View, error] {
	return func(yield func(*View, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		w := &watching{client: c, scope: scope, mirror: newMirror(), news: make(chan struct{}, 1)}
		ended := make(chan error, 1)
		go func() { ended <- w.run(ctx) }()
		err := w.deliver(yield, ended)
		cancel()
		if err == nil { // the loop was left
			<-ended //nolint:errcheck // of cancel
			return
		}
		yield(nil, err)
	}
}

// watching is one Watch: a goroutine listens, and the loop's takes what has come.
type watching struct {
	client *Client
	scope  Scope
	news   chan struct{}

	mu     sync.Mutex
	mirror *mirror
}

// deliver yields until the loop is left, which is nil, or run has ended.
func (w *watching) deliver(yield func(*View, error) bool, ended <-chan error) error {
	for {
		select {
		case err := <-ended:
			return err
		case <-w.news:
		}
		w.mu.Lock()
		v := w.mirror.view()
		w.mu.Unlock()
		if v != nil && !yield(v, nil) {
			return nil
		}
	}
}

// run keeps a connection until ctx ends or the server refuses; its error is never nil.
func (w *watching) run(ctx context.Context) error {
	c := w.client
	pause := c.config.pause
	for i := 0; ; i++ {
		came, err := w.once(ctx, c.bases[i%len(c.bases)])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var p *wire.Problem
		if errors.As(err, &p) && p.Status != http.StatusTooManyRequests && p.Status < http.StatusInternalServerError {
			return err // it would be refused again
		}
		if w.scope.Lost != nil {
			w.scope.Lost(err)
		}
		if came {
			pause = c.config.pause
		}
		if !came && i%len(c.bases) < len(c.bases)-1 {
			continue // another may be there
		}
		if sleep(ctx, pause/2+rand.N(pause)) != nil { // so that not all come back together
			return context.Cause(ctx)
		}
		pause = min(2*pause, c.config.maxPause)
	}
}

// once follows over one connection until that ends; it reports whether anything came.
func (w *watching) once(ctx context.Context, base *url.URL) (came bool, _ error) {
	conn, err := w.dial(ctx, base)
	if err != nil {
		return false, err
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { // reading goes on meanwhile, as closing takes it
		defer close(closed)
		_ = conn.Close(websocket.StatusNormalClosure, "")
	})
	defer func() {
		if _ = conn.CloseNow(); !stop() {
			<-closed
		}
	}()
	w.mu.Lock()
	w.mirror.begin()
	request, err := json.Marshal(wire.Request{
		Op: wire.OpSubscribe, ID: "1", Kinds: w.scope.Kinds, Namespace: w.scope.Namespace, Names: w.scope.Names, Cursor: w.mirror.cursor,
	})
	w.mu.Unlock()
	if err != nil {
		return false, fmt.Errorf("client: %w", err)
	}
	if err := conn.Write(ctx, websocket.MessageText, request); err != nil {
		return false, &connectionError{err}
	}
	for {
		if err := w.next(conn); err != nil {
			return came, err
		}
		came = true
	}
}

// next takes a message in.
func (w *watching) next(conn *websocket.Conn) error {
	reading, cancel := context.WithTimeout(context.Background(), silence)
	defer cancel()
	_, data, err := conn.Read(reading)
	if err != nil {
		return &connectionError{err}
	}
	var m wire.Message
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("client: a message of the watch: %w", err)
	}
	if m.Type == wire.ErrorMessage && m.Problem != nil {
		return m.Problem
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.mirror.take(&m); err != nil {
		return err
	}
	select {
	case w.news <- struct{}{}:
	default: // the loop will look anyway
	}
	return nil
}

func (w *watching) dial(ctx context.Context, base *url.URL) (*websocket.Conn, error) {
	header := http.Header{}
	if err := w.client.authorize(ctx, header); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	conn, answer, err := websocket.Dial(ctx, base.JoinPath("external", "v1", "watch").String(), &websocket.DialOptions{
		HTTPClient: w.client.config.HTTP, HTTPHeader: header, Subprotocols: []string{wire.Subprotocol},
	})
	if err != nil {
		if answer == nil || answer.StatusCode == http.StatusSwitchingProtocols {
			return nil, &connectionError{err}
		}
		data, _ := io.ReadAll(answer.Body) // Dial has cut it short
		return nil, problemOf(answer, data)
	}
	conn.SetReadLimit(longest)
	return conn, nil
}
