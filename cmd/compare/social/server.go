package social

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// ErrInvalid is wrapped where a field of a Load, a tier, an operation or an argument is invalid.
var ErrInvalid = errors.New("invalid configuration or input")

// tierServer is a replica of a tier. It is an http.Handler, safe for concurrent use.
type tierServer struct {
	tier   string
	peers  *directory
	client *http.Client
	calls  atomic.Uint64
}

// renewEvery is after how many calls one has a connection end with it, where services are
// called: whom a service leads to is decided anew for each connection alone.
const renewEvery = 16

// callTimeout is what a callee may take.
const callTimeout = 10 * time.Second

// newServer returns a replica that finds others in peers.
func newServer(tier string, peers *directory) (*tierServer, error) {
	if tiers[tier] == nil {
		return nil, fmt.Errorf("%w: tier %q", ErrInvalid, tier)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}
	return &tierServer{tier: tier, peers: peers, client: &http.Client{Transport: transport, Timeout: callTimeout}}, nil
}

// ServeHTTP answers /read and /compose when all whom the tier calls have, and /ready.
func (s *tierServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path[min(1, len(r.URL.Path)):]
	if path == "ready" {
		return
	}
	op := operation(path)
	does, ok := tiers[s.tier][op]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if err := burn(does.cpu); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if err := s.callAll(r.Context(), does.calls, op); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	_, _ = io.WriteString(w, s.tier+"\n") // who does not want it has gone
}

func (s *tierServer) callAll(ctx context.Context, callees []string, op operation) error {
	failed := make([]error, len(callees))
	var calls sync.WaitGroup
	for i, callee := range callees {
		calls.Go(func() { failed[i] = s.call(ctx, callee, op) })
	}
	calls.Wait()
	return errors.Join(failed...)
}

// call asks a replica, and another where that is gone: what was killed is known to its
// callers a moment later.
func (s *tierServer) call(ctx context.Context, tier string, op operation) error {
	again, err := s.ask(ctx, tier, op)
	if again {
		_, err = s.ask(ctx, tier, op)
	}
	return err
}

// ask says besides whether the replica is gone.
func (s *tierServer) ask(ctx context.Context, tier string, op operation) (gone bool, err error) {
	address, err := s.peers.nextOf(tier)
	if err != nil {
		return true, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/"+string(op), nil)
	if err != nil {
		return false, fmt.Errorf("%s: %w", tier, err)
	}
	request.Close = s.peers.services() && s.calls.Add(1)%renewEvery == 0
	answer, err := s.client.Do(request)
	if err != nil {
		return ctx.Err() == nil, fmt.Errorf("%s: %w", tier, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<12))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", tier, answer.Status, text)
	}
	return false, err
}

// Serve serves at the address until ctx ends. It calls ready with the address once it
// listens.
func Serve(ctx context.Context, listen string, handler http.Handler, ready func(address string) error) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: callTimeout}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := ready(listener.Addr().String()); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
