package modelserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/svd"
)

// start runs a server until the test ends.
func start(t *testing.T, c modelserver.Config) *modelserver.Server {
	t.Helper()
	s, err := modelserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	return s
}

// run runs a server until the test ends.
func run(t *testing.T, s *modelserver.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// until waits until the server's stats are as wanted.
func until(t *testing.T, s *modelserver.Server, wanted func(modelserver.Stats) bool) {
	t.Helper()
	for !wanted(s.Stats()) {
		if t.Context().Err() != nil {
			t.Fatalf("got stats %+v", s.Stats())
		}
		time.Sleep(time.Millisecond)
	}
}

// local returns a node's model of load along one axis.
func local(node string, axis int, sigma float64) agent.Local {
	u := make([]float64, 2)
	u[axis] = 1
	return agent.Local{
		Node: node, Incarnation: 1, Schema: "cpu,memory",
		Model: svd.State{Dim: 2, Block: 10, Mass: 2, U: u, Sigma: []float64{sigma}},
		Costs: []agent.Cost{{Value: .5, SD: .1, Known: true}, {}},
	}
}

func request(l agent.Local) *spaziov1.PushRequest {
	return &spaziov1.PushRequest{Local: api.FromLocal(l)}
}

func push(t *testing.T, s spaziov1.ModelServiceServer, l agent.Local) *spaziov1.PushResponse {
	t.Helper()
	response, err := s.Push(t.Context(), request(l))
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func TestPushAnswersWithTheLatestModel(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := start(t, modelserver.Config{Tick: time.Millisecond, Now: func() time.Time { return noon }})
	if response := push(t, s, local("a", 0, 2)); response.GetGlobal() != nil && response.GetGlobal().GetNodes() != 1 {
		t.Errorf("first push: got %v", response)
	}
	push(t, s, local("b", 1, 1))
	until(t, s, func(stats modelserver.Stats) bool { return stats.Nodes == 2 })
	again := local("b", 1, 1)
	again.Sequence = 1
	fleet, err := api.ToFleet(push(t, s, again).GetGlobal())
	if err != nil {
		t.Fatal(err)
	}
	if fleet.Nodes != 2 || fleet.Schema != "cpu,memory" || !fleet.Costs[0].Known || fleet.Costs[1].Known {
		t.Errorf("got fleet %+v", fleet)
	}
	want := []float64{2, 0, 0, .5}
	for i, v := range fleet.Model.MomentsTo(nil) {
		if math.Abs(v-want[i]) > 1e-12 {
			t.Errorf("got moments %v, want %v", fleet.Model.MomentsTo(nil), want)
			break
		}
	}
	other := local("c", 0, 1)
	other.Schema = "something else"
	if response := push(t, s, other); response.GetGlobal() != nil {
		t.Errorf("another schema: got %v", response)
	}
}

func TestVersionGrowsWithChange(t *testing.T) {
	s := start(t, modelserver.Config{Tick: time.Millisecond})
	push(t, s, local("a", 0, 1))
	until(t, s, func(stats modelserver.Stats) bool { return stats.Version == 1 })
	push(t, s, local("a", 0, 2)) // not newer
	until(t, s, func(stats modelserver.Stats) bool { return stats.Stale == 1 })
	published := s.Stats().At
	until(t, s, func(stats modelserver.Stats) bool { return stats.At.After(published) })
	if v := s.Stats().Version; v != 1 {
		t.Errorf("after a stale push: got version %d, want 1", v)
	}
}

// published waits until everything known before the call is published.
func published(t *testing.T, s *modelserver.Server) modelserver.Stats {
	t.Helper()
	now := time.Now()
	until(t, s, func(stats modelserver.Stats) bool { return stats.At.After(now) })
	return s.Stats()
}

// TestVersionGrowsWithANewerModel of a known node, pushed or received from another replica.
func TestVersionGrowsWithANewerModel(t *testing.T) {
	one := start(t, modelserver.Config{Tick: time.Millisecond})
	other := start(t, modelserver.Config{Tick: time.Millisecond})
	peers, err := modelserver.NewPeers(other, modelserver.PeersConfig{Targets: []string{serve(t, one)}})
	if err != nil {
		t.Fatal(err)
	}
	defer peers.Close()
	for sequence := range uint64(3) {
		l := local("a", 0, 1)
		l.Sequence = sequence
		push(t, one, l)
		if v := published(t, one).Version; v != sequence+1 {
			t.Errorf("push %d: version %d", sequence, v)
		}
		if err := peers.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v := published(t, other).Version; v != sequence+1 {
			t.Errorf("push %d: got version %d at the other replica", sequence, v)
		}
	}
}

// TestInputKeepsLittle: messages with many costs, which the aggregator refused, leave almost no memory
// in use.
func TestInputKeepsLittle(t *testing.T) {
	const nodes, dim = 4000, 64
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	s, err := modelserver.New(modelserver.Config{Aggregate: aggregate.Options{MaxNodes: 1}})
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	for range 2 { // both alternating batches
		for n := range nodes {
			u := make([]float64, dim)
			u[0] = 1
			r := request(agent.Local{Node: fmt.Sprint(n), Schema: "wide",
				Model: svd.State{Dim: dim, Block: 10, Mass: 2, U: u, Sigma: []float64{1}}, Costs: make([]agent.Cost, dim)})
			if _, err := s.Push(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		s.Snapshot() // merges
	}
	each := int64(heap()-before) / nodes
	t.Logf("%d bytes per message", each)
	if each > dim*24 { // costs of one batch
		t.Errorf("got %d remaining bytes per message", each)
	}
	runtime.KeepAlive(s)
}

// TestMalformed uses the real service: every refusal names the field and leaves the state unchanged.
func TestMalformed(t *testing.T) {
	s := start(t, modelserver.Config{Tick: time.Millisecond})
	client := dial(t, s)
	push(t, s, local("a", 0, 1))
	until(t, s, func(stats modelserver.Stats) bool { return stats.Version == 1 })
	for field, spoil := range map[string]func(*spaziov1.PushRequest){
		"local":          func(r *spaziov1.PushRequest) { r.Local = nil },
		"node":           func(r *spaziov1.PushRequest) { r.Local.Node = "" },
		"schema":         func(r *spaziov1.PushRequest) { r.Local.Schema = strings.Repeat("s", 300) },
		"model":          func(r *spaziov1.PushRequest) { r.Local.Model = nil },
		"model.dim":      func(r *spaziov1.PushRequest) { r.Local.Model.Dim = 65 },
		"model.u[0]":     func(r *spaziov1.PushRequest) { r.Local.Model.U[0] = math.NaN() },
		"model.sigma[0]": func(r *spaziov1.PushRequest) { r.Local.Model.Sigma[0] = -1 },
		"model.sigma":    func(r *spaziov1.PushRequest) { r.Local.Model.Sigma[0] = 1e9 },
		"model.mass":     func(r *spaziov1.PushRequest) { r.Local.Model.Mass = math.Inf(1) },
		"costs[0].sd":    func(r *spaziov1.PushRequest) { r.Local.Costs[0].Sd = -1 },
	} {
		l := local("a", 0, 2)
		l.Sequence = 9
		r := request(l)
		spoil(r)
		_, err := client.Push(t.Context(), r)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(status.Convert(err).Message(), "api: "+field+" = ") {
			t.Errorf("a bad %s: %v", field, err)
		}
	}
	published := s.Stats().At
	until(t, s, func(stats modelserver.Stats) bool { return stats.At.After(published) })
	if stats := s.Stats(); stats.Version != 1 || stats.Pushes != 1 || stats.Refused != 10 {
		t.Errorf("got stats %+v", stats)
	}
}

func TestDescribe(t *testing.T) {
	var now atomic.Int64
	s := start(t, modelserver.Config{Tick: time.Millisecond, Now: func() time.Time { return noon.Add(time.Duration(now.Load())) }})
	push(t, s, local("a", 0, 2))
	now.Store(int64(4 * time.Second))
	push(t, s, local("b", 1, 1))
	other := local("c", 0, 1)
	other.Schema = "another"
	push(t, s, other)
	until(t, s, func(stats modelserver.Stats) bool {
		return stats.Nodes == 3 && stats.At.Equal(noon.Add(4*time.Second))
	})
	describe := func(query string) (got modelserver.Status) {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, modelserver.DebugPath+query, nil))
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%q: %d, %v", query, w.Code, err)
		}
		return got
	}
	all := describe("").Models
	if len(all) != 2 || all[0].Schema != "another" || all[1].Schema != "cpu,memory" {
		t.Fatalf("all: %v", all)
	}
	// Its format differs from a name per dimension.
	if names := []string{all[0].Channels[0].Name, all[0].Channels[1].Name}; names[0] != "channel 0" || names[1] != "channel 1" {
		t.Errorf("another schema: got channels %q", names)
	}
	got := describe("?schema=cpu%2Cmemory").Models
	if len(got) != 1 {
		t.Fatalf("one schema: got %v", got)
	}
	m := got[0]
	if m.Nodes != 2 || m.Version == 0 || m.Ages != (modelserver.AgeSummary{Median: 2, Max: 4}) {
		t.Errorf("got model %+v", m)
	}
	if c := m.Channels; len(c) != 2 || c[0].Name != "cpu" || c[0].Direction != 1 || c[0].Cost == nil || c[0].Cost.Value != .5 || c[1].Direction != 0 || c[1].Cost != nil {
		t.Errorf("got channels %+v", c)
	}
	if c := m.Components; len(c) != 2 || !(c[0].Energy > c[1].Energy) || math.Abs(c[0].Share+c[1].Share-1) > 1e-9 ||
		math.Abs(c[0].Energy-c[0].Sigma*c[0].Sigma) > 1e-12 || math.Abs(c[0].RMS-c[0].Sigma/math.Sqrt(float64(10))) > 1e-9 || math.Abs(c[1].Direction[1]) != 1 {
		t.Errorf("got components %+v", c)
	}
	if none := describe("?schema=none").Models; none == nil || len(none) != 0 {
		t.Errorf("unknown schema: got %v", none)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, modelserver.DebugPath, nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: got %d", w.Code)
	}
}

// TestFlood pushes more nodes than there is room for from many goroutines, twice as many as the input
// queue holds: the kept state is bounded, and every push is answered.
func TestFlood(t *testing.T) {
	const queue, most, workers, each = 64, 100, 8, 400
	var dropped atomic.Int64
	s := start(t, modelserver.Config{Queue: queue, Tick: time.Millisecond, Aggregate: aggregate.Options{MaxNodes: most},
		OnError: func(error) { dropped.Add(1) }})
	var flooding sync.WaitGroup
	for w := range workers {
		flooding.Add(1)
		go func() {
			defer flooding.Done()
			for i := range each {
				_, err := s.Push(t.Context(), request(local(fmt.Sprint(w, "-", i), i%2, 1)))
				if code := status.Code(err); code != codes.OK && code != codes.ResourceExhausted {
					t.Error(err)
				}
			}
		}()
	}
	flooding.Wait()
	// On a loaded machine most of the flood overflows: more pushes follow until it is full.
	pushed := uint64(workers * each)
	until(t, s, func(stats modelserver.Stats) bool {
		if stats.Nodes == most {
			return true
		}
		_, err := s.Push(t.Context(), request(local(fmt.Sprint("late-", pushed), 0, 1)))
		if code := status.Code(err); code != codes.OK && code != codes.ResourceExhausted {
			t.Error(err)
		}
		pushed++
		return false
	})
	if n := len(s.Snapshot().Entries); n != most {
		t.Errorf("got %d nodes, want %d", n, most)
	}
	if stats := s.Stats(); stats.Pushes+stats.Overflowed != pushed || stats.Dropped != uint64(dropped.Load()) || stats.Pushes-stats.Dropped != most {
		t.Errorf("got stats %+v, and %d calls of OnError", stats, dropped.Load())
	}
}

// TestMemoryOfANode checks the limit of 2 KiB at four channels, both halves of the input queue
// included.
func TestMemoryOfANode(t *testing.T) {
	const nodes, dim = 5000, 4
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	s, err := modelserver.New(modelserver.Config{Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	for sequence := range 3 {
		for n := range nodes {
			u, sigma, costs := make([]float64, dim*dim), make([]float64, dim), make([]agent.Cost, dim)
			for i := range dim {
				u[i*dim+i], sigma[i] = 1, float64(dim-i)/dim
				costs[i] = agent.Cost{Value: 1, SD: .1, Known: true}
			}
			r := request(agent.Local{Node: fmt.Sprintf("node-%04d.fleet.example", n), Sequence: uint64(sequence), Schema: "v1;load",
				Model: svd.State{Dim: dim, Block: 10, Mass: 2, U: u, Sigma: sigma}, Costs: costs})
			if _, err := s.Push(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if sequence < 2 { // the last round still waits
			s.Snapshot()
		}
	}
	each := (heap() - before) / nodes
	t.Logf("%d bytes per node", each)
	if each > 2<<10 {
		t.Errorf("got %d bytes per node, want at most 2 KiB", each)
	}
	runtime.KeepAlive(s)
}

// dial serves s on loopback.
func dial(t testing.TB, s spaziov1.ModelServiceServer) spaziov1.ModelServiceClient {
	t.Helper()
	client, _ := dialGuarded(t, s)
	return client
}

// dialGuarded is dial, and also returns the connection limiter.
func dialGuarded(t testing.TB, s spaziov1.ModelServiceServer) (spaziov1.ModelServiceClient, *transport.ConnLimiter) {
	t.Helper()
	guard, err := transport.NewConnLimiter(transport.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := guard.Listen(context.Background(), "127.0.0.1:0", transport.Config{})
	if err != nil {
		t.Fatal(err)
	}
	serverOptions, err := guard.ServerOptions(transport.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(serverOptions...)
	spaziov1.RegisterModelServiceServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	target := listener.Addr().String()
	options, err := transport.DialOptions(target, transport.Config{})
	if err != nil {
		t.Fatal(err)
	}
	connection, err := grpc.NewClient(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		connection.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return spaziov1.NewModelServiceClient(connection), guard
}

// TestPushAdmits: a caller whose model was accepted counts as authenticated, one that was refused does
// not.
func TestPushAdmits(t *testing.T) {
	client, guard := dialGuarded(t, start(t, modelserver.Config{Tick: time.Hour}))
	if _, err := client.Push(t.Context(), &spaziov1.PushRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Fatalf("empty push: got %v", err)
	}
	if s := guard.Stats(); s.Connections != 1 || s.Unauthenticated != 1 {
		t.Errorf("after an empty push: got %+v", s)
	}
	if _, err := client.Push(t.Context(), request(local("a", 0, 1))); err != nil {
		t.Fatal(err)
	}
	if s := guard.Stats(); s.Connections != 1 || s.Unauthenticated != 0 {
		t.Errorf("after a push: got %+v", s)
	}
}

// TestInputIsBounded pushes without merging.
func TestInputIsBounded(t *testing.T) {
	s, err := modelserver.New(modelserver.Config{Queue: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		push(t, s, local(fmt.Sprint(i), 0, 1))
	}
	if _, err := s.Push(t.Context(), request(local("one too many", 0, 1))); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("push to a full queue: got %v", err)
	}
	again := local("1", 0, 1)
	again.Sequence = 1
	push(t, s, again) // a node that is in it may still push
	stats := s.Stats()
	stats.At = time.Time{}
	if diff := cmp.Diff(modelserver.Stats{Pushes: 4, Superseded: 1, Overflowed: 1}, stats); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

// TestBurstIsMergedEarly: a burst does not wait for the tick.
func TestBurstIsMergedEarly(t *testing.T) {
	s := start(t, modelserver.Config{Queue: 10, Tick: time.Hour})
	for i := 0; i < 200; {
		_, err := s.Push(t.Context(), request(local(fmt.Sprint(i), 0, 1)))
		switch status.Code(err) {
		case codes.OK:
			i++
		case codes.ResourceExhausted:
			time.Sleep(time.Millisecond)
		default:
			t.Fatal(err)
		}
	}
}

func TestNodesBeyondTheBoundAreReported(t *testing.T) {
	refused := make(chan error, 1)
	s := start(t, modelserver.Config{
		Tick:      time.Millisecond,
		Aggregate: aggregate.Options{MaxNodes: 1},
		OnError:   func(err error) { refused <- err },
	})
	push(t, s, local("a", 0, 1))
	until(t, s, func(stats modelserver.Stats) bool { return stats.Nodes == 1 })
	push(t, s, local("b", 0, 1))
	if err := <-refused; !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("OnError: %v", err)
	}
	if stats := s.Stats(); stats.Dropped != 1 {
		t.Errorf("got stats %+v", stats)
	}
}

func TestNewest(t *testing.T) {
	s, err := modelserver.New(modelserver.Config{Tick: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for _, sequence := range []uint64{3, 7, 5} { // within one tick, out of order
		l := local("a", 0, float64(sequence)/10)
		l.Sequence = sequence
		push(t, s, l)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	until(t, s, func(stats modelserver.Stats) bool { return stats.Version == 1 })
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if sigma := s.Describe("").Models[0].Components[0].Sigma; math.Abs(sigma-.7) > 1e-12 {
		t.Errorf("got sigma %v, want that of sequence 7", sigma)
	}
}

// TestConcurrentPushes checks the count, and is run with the race detector.
func TestConcurrentPushes(t *testing.T) {
	s := start(t, modelserver.Config{Tick: time.Millisecond})
	client := dial(t, s)
	const nodes, pushes = 20, 30
	var running sync.WaitGroup
	for n := range nodes {
		running.Add(1)
		go func() {
			defer running.Done()
			rng := rand.New(rand.NewPCG(uint64(n), 1))
			for i := range pushes {
				l := local(fmt.Sprint(n), rng.IntN(2), rng.Float64())
				l.Sequence = uint64(i)
				if _, err := client.Push(t.Context(), request(l)); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	running.Wait()
	until(t, s, func(stats modelserver.Stats) bool { return stats.Nodes == nodes })
	if stats := s.Stats(); stats.Pushes != nodes*pushes {
		t.Errorf("got stats %+v", stats)
	}
}

func TestPushDoesNotAllocate(t *testing.T) {
	s, err := modelserver.New(modelserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r := request(local("a", 0, 1))
	push(t, s, local("a", 0, 1))
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		r.Local.Sequence++
		if _, err := s.Push(ctx, r); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Push: %v allocations", n)
	}
}

// FuzzPush sends raw bytes: a request is accepted, or a field is refused and the state stays byte for
// byte the same, as a snapshot shows.
func FuzzPush(f *testing.F) {
	good, err := proto.Marshal(request(local("a", 0, 1)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r spaziov1.PushRequest
		if proto.Unmarshal(raw, &r) != nil {
			return
		}
		s, err := modelserver.New(modelserver.Config{Queue: 1, Now: func() time.Time { return noon }, OnError: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		push(t, s, local("another", 0, 1))
		before := encode(t, s.Snapshot())
		_, err = s.Push(t.Context(), &r)
		after := s.Snapshot()
		if err == nil {
			if _, err := modelserver.ReadSnapshot(bytes.NewReader(encode(t, after))); err != nil {
				t.Fatalf("an accepted push makes an invalid snapshot: %v", err)
			}
			return
		}
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(status.Convert(err).Message(), "api: ") {
			t.Fatalf("Push: %v", err)
		}
		if !bytes.Equal(before, encode(t, after)) {
			t.Fatalf("a refused push changed the state")
		}
		push(t, s, local("one more", 0, 1)) // there is room for one
	})
}

func TestConfigErrors(t *testing.T) {
	for _, c := range []modelserver.Config{{Tick: -1}, {Queue: -1}, {Aggregate: aggregate.Options{HalfLife: -1}}} {
		if _, err := modelserver.New(c); err == nil {
			t.Errorf("New(%+v) succeeded", c)
		}
	}
}

// BenchmarkPush is one push among those of 5,000 nodes without the network, its share of merging and
// publishing included.
func BenchmarkPush(b *testing.B) {
	for _, dim := range []int{2, 4} {
		b.Run(fmt.Sprintf("d=%d/nodes=5000", dim), func(b *testing.B) {
			s, err := modelserver.New(modelserver.Config{})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx) }()
			requests := make([]*spaziov1.PushRequest, 5000)
			for i := range requests {
				u := make([]float64, dim*dim)
				sigma := make([]float64, dim)
				costs := make([]agent.Cost, dim)
				for j := range dim {
					u[j*dim+j], sigma[j] = 1, float64(dim-j)/float64(dim)
					costs[j] = agent.Cost{Value: 1, SD: .1, Known: true}
				}
				requests[i] = request(agent.Local{Node: fmt.Sprintf("node-%05d", i), Schema: "s",
					Model: svd.State{Dim: dim, Block: 10, Mass: 2, U: u, Sigma: sigma}, Costs: costs})
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				r := requests[i%len(requests)]
				r.Local.Sequence++
				if _, err := s.Push(ctx, r); err != nil {
					b.Fatal(err)
				}
				i++
			}
			cancel()
			<-ended
		})
	}
}

// BenchmarkLoopback is a push among those of 5,000 nodes over gRPC, client included; p99 is the latency
// at the node.
func BenchmarkLoopback(b *testing.B) {
	const nodes, connections, inFlight = 5000, 8, 4
	s, err := modelserver.New(modelserver.Config{})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	clients := make([]spaziov1.ModelServiceClient, connections)
	clients[0] = dial(b, s)
	for i := 1; i < connections; i++ {
		clients[i] = dial(b, s)
	}
	latencies := make([][]time.Duration, connections*inFlight)
	var next atomic.Int64
	var pushing sync.WaitGroup
	b.ResetTimer()
	for w := range latencies {
		pushing.Add(1)
		go func() {
			defer pushing.Done()
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				l := local(fmt.Sprintf("node-%05d", n%nodes), int(n%2), 1)
				l.Sequence = uint64(n)
				began := time.Now()
				if _, err := clients[w%connections].Push(ctx, request(l)); err != nil {
					b.Error(err)
					return
				}
				latencies[w] = append(latencies[w], time.Since(began))
			}
		}()
	}
	pushing.Wait()
	b.StopTimer()
	all := slices.Concat(latencies...)
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	cancel()
	<-ended
}
