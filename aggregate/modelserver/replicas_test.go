package modelserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/field"
)

// replica is a server with its own address that reaches the others by links that can be cut. Its clock
// has a fixed offset.
type replica struct {
	t       *testing.T
	clock   func() time.Time
	targets []string
	addr    string

	server *modelserver.Server
	peers  *modelserver.Peers
	stop   func()
}

func (r *replica) start() {
	r.t.Helper()
	server, err := modelserver.New(modelserver.Config{Tick: time.Hour, Now: r.clock})
	if err != nil {
		r.t.Fatal(err)
	}
	peers, err := modelserver.NewPeers(server, modelserver.PeersConfig{Targets: r.targets, Timeout: time.Minute})
	if err != nil {
		r.t.Fatal(err)
	}
	guard, err := transport.NewConnLimiter(transport.Limits{})
	if err != nil {
		r.t.Fatal(err)
	}
	listener, err := guard.Listen(context.Background(), r.addr, transport.Config{})
	if err != nil {
		r.t.Fatal(err)
	}
	options, err := guard.ServerOptions(transport.Config{})
	if err != nil {
		r.t.Fatal(err)
	}
	wire := grpc.NewServer(options...)
	spaziov1.RegisterPeerServiceServer(wire, server)
	served := make(chan error, 1)
	go func() { served <- wire.Serve(listener) }()
	r.server, r.peers = server, peers
	r.stop = sync.OnceFunc(func() {
		peers.Close()
		wire.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // stopped before it began
			r.t.Errorf("Serve: %v", err)
		}
	})
}

// link forwards connections to an address until it is cut.
type link struct {
	listener net.Listener
	to       string
	cut      atomic.Bool

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	done  sync.WaitGroup
}

func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, to: to, conns: map[net.Conn]struct{}{}}
	l.done.Add(1)
	go func() {
		defer l.done.Done()
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			l.done.Add(1)
			go l.forward(conn)
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		l.setCut(true)
		l.done.Wait()
	})
	return l
}

func (l *link) setCut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut.Store(cut)
	if cut {
		for c := range l.conns {
			c.Close()
		}
	}
}

// keep reports whether the link is up.
func (l *link) keep(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut.Load() {
		c.Close()
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

func (l *link) forward(from net.Conn) {
	defer l.done.Done()
	if !l.keep(from) {
		return
	}
	defer from.Close()
	to, err := net.Dial("tcp", l.to)
	if err != nil || !l.keep(to) {
		return
	}
	l.done.Add(1)
	go func() {
		defer l.done.Done()
		_, _ = io.Copy(to, from)
		to.Close()
	}()
	_, _ = io.Copy(from, to)
}

// trio is three replicas with one simulated time, each with a clock that is hours off the others'.
type trio struct {
	t        *testing.T
	elapsed  atomic.Int64 // nanoseconds
	replicas [3]*replica
	links    [3][3]*link // from the first index to the second
	sequence uint64
	rng      *rand.Rand
}

func newTrio(t *testing.T) *trio {
	t.Helper()
	c := &trio{t: t, rng: rand.New(rand.NewPCG(1, 2))}
	for i := range c.replicas {
		offset := time.Duration(i) * 5 * time.Hour
		c.replicas[i] = &replica{t: t, addr: transporttest.Address(t), clock: func() time.Time {
			return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(offset + time.Duration(c.elapsed.Load()))
		}}
	}
	for i, asks := range c.replicas {
		for j, asked := range c.replicas {
			if i != j {
				c.links[i][j] = newLink(t, asked.addr)
				asks.targets = append(asks.targets, c.links[i][j].listener.Addr().String())
			}
		}
	}
	for _, r := range c.replicas {
		r.start()
		t.Cleanup(func() { r.stop() })
	}
	return c
}

// push sends a new model of a node to a replica.
func (c *trio) push(node, replica int) {
	c.t.Helper()
	c.sequence++
	l := local(fmt.Sprint("node-", node), c.rng.IntN(2), .5+c.rng.Float64())
	l.Sequence = c.sequence
	l.Costs[0] = agent.Cost{Value: 1 + c.rng.Float64(), SD: .1, Known: true}
	push(c.t, c.replicas[replica].server, l)
}

// round is one exchange interval: every replica queries each other one once.
func (c *trio) round() {
	c.t.Helper()
	c.elapsed.Add(int64(time.Second))
	for _, r := range c.replicas {
		_ = r.peers.Round(c.t.Context()) // cut links fail
	}
}

// agree fails the test unless all replicas hold the same nodes and, to 1e-12, the same model.
func (c *trio) agree(nodes int) {
	c.t.Helper()
	var want aggregate.Global
	for i, r := range c.replicas {
		got := global(c.t, r.server)
		if i == 0 {
			want = got
		}
		if got.Nodes != nodes || want.Costs[0] != got.Costs[0] {
			c.t.Errorf("replica %d: got %d nodes and cost %+v, want %d and %+v", i, got.Nodes, got.Costs[0], nodes, want.Costs[0])
		}
		if d := distance(got, want); d > 1e-12 {
			c.t.Errorf("replica %d differs from replica 0 by %.2g of the trace", i, d)
		}
		if got.Ages != want.Ages {
			c.t.Errorf("replica %d: got ages %+v, replica 0 %+v", i, got.Ages, want.Ages)
		}
	}
}

// global returns the model of what a server holds now, published or not.
func global(t *testing.T, s *modelserver.Server) aggregate.Global {
	t.Helper()
	snapshot := s.Snapshot()
	a, err := aggregate.New(aggregate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range snapshot.Entries {
		if _, err := a.Restore(snapshot.Written, e); err != nil {
			t.Fatal(err)
		}
	}
	globals, err := a.Globals(snapshot.Written)
	if err != nil || len(globals) != 1 {
		t.Fatalf("Globals: %v, %v", globals, err)
	}
	return globals[0]
}

// distance returns the distance of two models' moments relative to the trace.
func distance(a, b aggregate.Global) float64 {
	x, y := a.Model.MomentsTo(nil), b.Model.MomentsTo(nil)
	var sum, trace float64
	for i := range y {
		sum += (x[i] - y[i]) * (x[i] - y[i])
		if i%(b.Dim+1) == 0 {
			trace += y[i]
		}
	}
	return math.Sqrt(sum) / trace
}

// TestReplicasConverge partitions one of three for a minute while its nodes keep pushing, and kills
// another, which restarts empty or from a snapshot: two intervals later, all are equal.
func TestReplicasConverge(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		t.Run(fmt.Sprintf("snapshot=%v", snapshot), func(t *testing.T) {
			c := newTrio(t)
			const nodes = 60
			for n := range nodes {
				c.push(n, n%3)
			}
			c.round()
			c.round()
			c.agree(nodes)
			kept := c.replicas[1].server.Snapshot()

			partition := func(cut bool) {
				for i := range 2 {
					c.links[i][2].setCut(cut)
					c.links[2][i].setCut(cut)
				}
			}
			partition(true)
			for second := range 60 {
				for n := range nodes {
					if (n+second)%5 == 0 {
						c.push(n, n%3)
					}
				}
				c.push(nodes, 2) // a node that only the partitioned replica receives
				if second == 30 {
					c.replicas[1].stop() // with changes that it has not sent
				}
				if second == 40 {
					c.replicas[1].start()
					if snapshot {
						if n, err := c.replicas[1].server.Restore(kept); err != nil || n != nodes {
							t.Fatalf("Restore: %d nodes, %v", n, err)
						}
					}
				}
				c.round()
			}
			if d := distance(global(t, c.replicas[0].server), global(t, c.replicas[2].server)); d < 1e-6 {
				t.Errorf("the partition had no effect: %.2g", d)
			}
			partition(false)
			c.round()
			c.round()
			c.agree(nodes + 1)
			if p := c.replicas[2].peers; p.Others() != 2 || p.Lag() > time.Second {
				t.Errorf("%d peers, the last exchange %v ago", p.Others(), p.Lag())
			}
		})
	}
}

// TestForgottenNodesStayForgotten cuts a replica off until the others have forgotten a node, and then
// reconnects it.
func TestForgottenNodesStayForgotten(t *testing.T) {
	c := newTrio(t)
	c.push(0, 0)
	c.push(1, 0)
	c.round()
	c.agree(2)
	for i := range 2 {
		c.links[i][2].setCut(true)
		c.links[2][i].setCut(true)
	}
	c.elapsed.Add(int64(49 * time.Minute)) // node 0 is about to be forgotten
	c.push(1, 0)
	c.round()
	for i := range 2 {
		c.links[i][2].setCut(false)
		c.links[2][i].setCut(false)
	}
	for range 3 {
		c.elapsed.Add(int64(time.Minute))
		c.push(1, 0)
		c.round()
		c.round()
	}
	c.agree(1)
}

// TestLargeStatesAreSentInChunks: messages stay within their size limit.
func TestLargeStatesAreSentInChunks(t *testing.T) {
	c := newTrio(t)
	const nodes, dim = 60, 64
	for n := range nodes {
		l := local(strings.Repeat("n", 200)+fmt.Sprint(n), 0, 1)
		l.Model.Dim, l.Model.U = dim, make([]float64, dim)
		l.Model.U[n] = 1
		l.Costs = make([]agent.Cost, dim)
		for i := range l.Costs {
			l.Costs[i] = agent.Cost{Value: 1.1, SD: .1, Known: true}
		}
		push(t, c.replicas[0].server, l)
	}
	c.round()
	c.agree(nodes)
}

// TestOwnAddress: a replica may be among its own targets, and a name stands for all its addresses.
func TestOwnAddress(t *testing.T) {
	c := newTrio(t)
	_, port, err := net.SplitHostPort(c.replicas[0].addr)
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"127.0.0.1"}
	peers, err := modelserver.NewPeers(c.replicas[0].server, modelserver.PeersConfig{
		Targets:   []string{"dns:///replicas.example:" + port, c.replicas[1].addr},
		Transport: transport.Config{Insecure: true},
	}.WithResolve(func(_ context.Context, host string) ([]string, error) {
		if host != "replicas.example" {
			return nil, errors.New(host)
		}
		return hosts, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer peers.Close()
	c.push(0, 1)
	if err := peers.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := peers.Others(); n != 1 {
		t.Errorf("%d peers", n)
	}
	if n := global(t, c.replicas[0].server).Nodes; n != 1 {
		t.Errorf("%d nodes", n)
	}
	hosts = nil
	if err := peers.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// badPeer answers with a given chunk.
type badPeer struct {
	spaziov1.UnimplementedPeerServiceServer
	chunk *spaziov1.StateChunk
}

func (p badPeer) Changes(_ *spaziov1.ChangesRequest, stream grpc.ServerStreamingServer[spaziov1.StateChunk]) error {
	return stream.Send(p.chunk)
}

// TestBadChunksAreRefused as a whole: their valid entries are not merged either.
func TestBadChunksAreRefused(t *testing.T) {
	state := func() *spaziov1.NodeState {
		return &spaziov1.NodeState{Node: "n", Schema: "s", Dim: 2, Weight: 20, Moments: []float64{.5, .1, .2}}
	}
	for field, spoil := range map[string]func(*spaziov1.StateChunk){
		"replica":              func(m *spaziov1.StateChunk) { m.Replica = 0 },
		"states[1].node":       func(m *spaziov1.StateChunk) { m.States[1].Node = "" },
		"states[1].moments":    func(m *spaziov1.StateChunk) { m.States[1].Moments = nil },
		"states[1].moments[2]": func(m *spaziov1.StateChunk) { m.States[1].Moments[1] = .4 },
		"states[1].moments[0]": func(m *spaziov1.StateChunk) { m.States[1].Moments[0] = math.NaN() },
		"states[1].weight":     func(m *spaziov1.StateChunk) { m.States[1].Weight = -1 },
		"states[1].age_nanos":  func(m *spaziov1.StateChunk) { m.States[1].AgeNanos = -1 },
	} {
		chunk := &spaziov1.StateChunk{Replica: 9, Cursor: 2, States: []*spaziov1.NodeState{state(), state()}}
		chunk.States[1].Node = "m"
		spoil(chunk)
		s, err := modelserver.New(modelserver.Config{})
		if err != nil {
			t.Fatal(err)
		}
		failures := 0
		peers, err := modelserver.NewPeers(s, modelserver.PeersConfig{Targets: []string{serve(t, badPeer{chunk: chunk})}, OnError: func(string, error) { failures++ }})
		if err != nil {
			t.Fatal(err)
		}
		defer peers.Close()
		for range 2 {
			if err := peers.Round(t.Context()); err == nil || !strings.Contains(err.Error(), "api: "+field+" = ") {
				t.Errorf("a bad %s: %v", field, err)
			}
		}
		if n := len(s.Snapshot().Entries); n != 0 || failures != 1 {
			t.Errorf("bad %s: got %d nodes and %d calls of OnError", field, n, failures)
		}
	}
}

// silentPeer signals each request, and never answers.
type silentPeer struct {
	spaziov1.UnimplementedPeerServiceServer
	asked chan struct{}
}

func (p silentPeer) Changes(_ *spaziov1.ChangesRequest, stream grpc.ServerStreamingServer[spaziov1.StateChunk]) error {
	p.asked <- struct{}{}
	<-stream.Context().Done()
	return stream.Context().Err()
}

// TestExchangesGivenUp: stopping in the middle of a round does not count as an unreachable peer.
func TestExchangesGivenUp(t *testing.T) {
	asked := make(chan struct{}, 1)
	peers, err := modelserver.NewPeers(populated(t, 0), modelserver.PeersConfig{
		Targets: []string{serve(t, silentPeer{asked: asked})}, Timeout: time.Minute,
		OnError: func(peer string, err error) { t.Errorf("got an unreachable peer %s: %v", peer, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer peers.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- peers.Round(ctx) }()
	<-asked
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Round = %v", err)
	}
}

// serve serves a PeerService until the test ends and returns its address.
func serve(t testing.TB, s spaziov1.PeerServiceServer) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	spaziov1.RegisterPeerServiceServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return listener.Addr().String()
}

// TestHeldUntilTheOthersWereQueried: a replica starts empty beside one that has the fleet: its first
// answer with a model is the fleet's.
func TestHeldUntilTheOthersWereQueried(t *testing.T) {
	c := newTrio(t)
	for n := range 20 {
		c.push(n, 0)
	}
	s := start(t, modelserver.Config{Hold: true, Tick: time.Millisecond, Now: c.replicas[0].clock})
	until(t, s, func(stats modelserver.Stats) bool { return !stats.At.IsZero() })
	if response := push(t, s, local("node-0", 0, 1)); response.GetGlobal() != nil || s.Ready() {
		t.Errorf("held server: got %v, ready %v", response, s.Ready())
	}
	var failed atomic.Bool
	peers, err := modelserver.NewPeers(s, modelserver.PeersConfig{
		Targets: []string{c.replicas[0].addr}, Interval: time.Millisecond, Timeout: time.Minute,
		OnError: func(string, error) { failed.Store(true) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- peers.Run(ctx) }()
	for sequence := uint64(2); ; sequence++ {
		again := local("node-0", 0, 1)
		again.Sequence = sequence
		if g := push(t, s, again).GetGlobal(); g != nil {
			// On a slow machine the first round times out.
			if n := g.GetNodes(); n != 20 && !failed.Load() {
				t.Errorf("first model: got %d nodes", n)
			}
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestPeersConfigErrors(t *testing.T) {
	s, err := modelserver.New(modelserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]modelserver.PeersConfig{
		"Interval": {Interval: -1},
		"Timeout":  {Timeout: -1},
		"Targets":  {Targets: []string{"no port"}},
	} {
		_, err := modelserver.NewPeers(s, c)
		var bad *field.Error
		if !errors.As(err, &bad) || bad.Field != name {
			t.Errorf("NewPeers(%+v): %v", c, err)
		}
	}
	var plaintext *transport.PlaintextError
	if _, err := modelserver.NewPeers(s, modelserver.PeersConfig{Targets: []string{"dns:///elsewhere:1"}}); !errors.As(err, &plaintext) {
		t.Errorf("plaintext beyond loopback: got error %v", err)
	}
}

// TestReadersAreBounded: callers that do not read cannot pile up.
func TestReadersAreBounded(t *testing.T) {
	s, err := modelserver.New(modelserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	stuck := &stuckStream{ctx: t.Context(), release: release, sending: make(chan struct{}, 100)}
	var asking sync.WaitGroup
	for range 64 {
		asking.Add(1)
		go func() {
			defer asking.Done()
			if err := s.Changes(&spaziov1.ChangesRequest{Replica: 1}, stuck); err != nil {
				t.Error(err)
			}
		}()
	}
	for range 64 {
		<-stuck.sending
	}
	if err := s.Changes(&spaziov1.ChangesRequest{Replica: 1}, stuck); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one reader over the limit: got %v", err)
	}
	push(t, s, local("a", 0, 1)) // pushes are not blocked
	close(release)
	asking.Wait()
}

type stuckStream struct {
	grpc.ServerStream
	ctx     context.Context
	release chan struct{}
	sending chan struct{}
}

func (s *stuckStream) Send(*spaziov1.StateChunk) error {
	s.sending <- struct{}{}
	<-s.release
	return nil
}
