package profiler_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
	"github.com/spazio-scheduler/spazio/reserve"
)

const servedUID = "3f1c0e52-9a7b-4c00-8000-000000000001"

// serve runs a server of a store that knows one pod, on node a.
func serve(t testing.TB, c profiler.ServerConfig) (*profiler.Store, *profiler.Server, spaziov1.UsageServiceClient) {
	t.Helper()
	store, err := profiler.New(profiler.Config{})
	if err != nil {
		t.Fatal(err)
	}
	store.Pod(time.Now(), profiler.Pod{UID: servedUID, Node: "a", Workload: profile.Workload{Namespace: "default", Kind: "Deployment", Name: "web"}})
	server := profiler.NewServer(store, c)
	listener, rpc := bufconn.Listen(1<<20), grpc.NewServer()
	spaziov1.RegisterUsageServiceServer(rpc, server)
	served := make(chan error, 1)
	go func() { served <- rpc.Serve(listener) }()
	connection, err := grpc.NewClient("passthrough:///a", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		connection.Close()
		rpc.Stop()
		<-served
	})
	return store, server, spaziov1.NewUsageServiceClient(connection)
}

// counted returns the numbers of accepted, refused and foreign batches from the metrics.
func counted(t testing.TB, server *profiler.Server) (n [3]float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(profiler.Collector(server))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "spazio_profiler_batches_total" {
				n[slices.Index([]string{"accepted", "refused", "foreign"}, m.GetLabel()[0].GetValue())] = m.GetCounter().GetValue()
			}
		}
	}
	return n
}

func batch(node string, sequence uint64) *spaziov1.UsageBatch {
	return api.FromUsage(agent.UsageBatch{Node: node, Incarnation: 1, Sequence: sequence, Windows: []agent.Window{
		{Pod: reserve.KeyOf(servedUID), Usage: profile.Usage{Age: time.Minute, Span: time.Minute, CPU: 30, Pressure: true, Memory: 1e9, MemoryPeak: 1e9}},
	}})
}

// exchange sends a batch and returns the stream's status, OK if it was acknowledged.
func exchange(t testing.TB, stream grpc.BidiStreamingClient[spaziov1.UsageBatch, spaziov1.UsageAck], b *spaziov1.UsageBatch) codes.Code {
	t.Helper()
	_ = stream.Send(b) // Recv says why it failed
	ack, err := stream.Recv()
	if err == nil && (ack.GetIncarnation() != b.GetIncarnation() || ack.GetSequence() != b.GetSequence()) {
		t.Errorf("acknowledged %v", ack)
	}
	return status.Code(err)
}

func open(t testing.TB, client spaziov1.UsageServiceClient) grpc.BidiStreamingClient[spaziov1.UsageBatch, spaziov1.UsageAck] {
	t.Helper()
	stream, err := client.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestBatchesReachTheStore(t *testing.T) {
	store, server, client := serve(t, profiler.ServerConfig{})
	stream := open(t, client)
	for sequence := uint64(1); sequence <= 3; sequence++ {
		if code := exchange(t, stream, batch("a", sequence)); code != codes.OK {
			t.Fatal(code)
		}
	}
	<-server.Received()
	// The unacknowledged batch begins the next stream.
	if code := exchange(t, open(t, client), batch("a", 3)); code != codes.OK {
		t.Fatal(code)
	}
	got := store.Stats()
	if got.Windows[profiler.Accepted] != 3 || got.Windows[profiler.Duplicate] != 1 || counted(t, server) != [3]float64{4} {
		t.Errorf("%+v, %v", got, counted(t, server))
	}
	if updates := store.Changed(time.Now(), 10); len(updates) != 1 || updates[0].Demand.CPU.Amount < .5 {
		t.Errorf("updates %+v", updates)
	}
}

// A malformed batch changes nothing and ends the stream, whichever field is wrong.
func TestMalformedBatches(t *testing.T) {
	store, server, client := serve(t, profiler.ServerConfig{})
	spoil := []func(*spaziov1.UsageBatch){
		func(b *spaziov1.UsageBatch) { b.Node = "" },
		func(b *spaziov1.UsageBatch) { b.Node = string(make([]byte, 300)) },
		func(b *spaziov1.UsageBatch) {
			for range 600 {
				b.Windows = append(b.Windows, b.Windows[0])
			}
		},
	}
	for i, spoil := range spoil {
		b := batch("a", uint64(i+1))
		spoil(b)
		if code := exchange(t, open(t, client), b); code != codes.InvalidArgument {
			t.Errorf("case %d: %v", i, code)
		}
	}
	if got := store.Stats(); slices.Max(got.Windows[:]) != 0 || counted(t, server)[1] != float64(len(spoil)) {
		t.Errorf("%+v, %v", got, counted(t, server))
	}
}

// A window out of range, in any field, is left out, counted, logged once and named to the sender;
// its neighbours reach the store.
func TestWindowsOutOfRange(t *testing.T) {
	var log bytes.Buffer
	store, server, client := serve(t, profiler.ServerConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	stream := open(t, client)
	spoil := []func(*spaziov1.PodWindow){
		func(w *spaziov1.PodWindow) { w.SpanNanos = -1 },
		func(w *spaziov1.PodWindow) { w.CpuSeconds = 1e9 },
		func(w *spaziov1.PodWindow) { w.StalledSeconds = proto.Float64(-1) },
		func(w *spaziov1.PodWindow) { w.MemoryBytes = 1 << 60 },
		func(w *spaziov1.PodWindow) { w.Buckets = []uint32{1, 1} },
	}
	for i, spoil := range spoil {
		b := batch("a", uint64(i+1))
		bad := proto.CloneOf(b.Windows[0])
		spoil(bad)
		b.Windows = []*spaziov1.PodWindow{bad, b.Windows[0]}
		if err := stream.Send(b); err != nil {
			t.Fatal(err)
		}
		ack, err := stream.Recv()
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		if got := ack.GetRefused(); !slices.Equal(got, []uint32{0}) || ack.GetSequence() != b.Sequence || ack.GetRefusal() == "" {
			t.Errorf("case %d: acknowledged %v", i, ack)
		}
	}
	n := uint64(len(spoil))
	if got, want := counted(t, server), [3]float64{float64(n)}; got != want {
		t.Errorf("%v batches, want %v", got, want)
	}
	if got := store.Stats().Windows; got[profiler.Accepted] != n || got[profiler.Refused] != n {
		t.Errorf("%v windows, want %d accepted and %d refused", got, n, n)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "windows[0].span_nanos = -1: out of range: 0 to 3.6e+12") {
		t.Errorf("logged\n%s", got)
	}
}

// An agent may report its own node only, and a stream one node only.
func TestCallersSpeakOfTheirNode(t *testing.T) {
	refused := status.Error(codes.Unauthenticated, "no token")
	caller := make(chan string, 1)
	_, server, client := serve(t, profiler.ServerConfig{Identify: func(context.Context) (string, error) {
		c := <-caller
		if c == "nobody" {
			return c, refused
		}
		return c, nil
	}})
	for _, test := range []struct {
		caller, node string
		want         codes.Code
	}{{"a", "a", codes.OK}, {"b", "a", codes.PermissionDenied}, {"", "a", codes.OK}, {"nobody", "a", codes.Unauthenticated}} {
		caller <- test.caller
		if code := exchange(t, open(t, client), batch(test.node, 1)); code != test.want {
			t.Errorf("%+v: %v", test, code)
		}
	}
	caller <- ""
	stream := open(t, client)
	if code := exchange(t, stream, batch("a", 2)); code != codes.OK {
		t.Error(code)
	}
	if code := exchange(t, stream, batch("b", 1)); code != codes.PermissionDenied {
		t.Errorf("a second node on a stream: %v", code)
	}
	if counted(t, server)[2] != 2 {
		t.Errorf("%v", counted(t, server))
	}
}

func TestStreamsOfANodeAreBounded(t *testing.T) {
	_, _, client := serve(t, profiler.ServerConfig{})
	for i := range 4 {
		if code := exchange(t, open(t, client), batch("a", uint64(i+1))); code != codes.OK {
			t.Fatal(code)
		}
	}
	if code := exchange(t, open(t, client), batch("a", 5)); code != codes.ResourceExhausted {
		t.Errorf("a fifth stream: %v", code)
	}
	if code := exchange(t, open(t, client), batch("b", 1)); code != codes.OK {
		t.Errorf("another node: %v", code)
	}
}

// For any bytes, the stream is answered or ended, and the store stays within its bounds.
func FuzzReport(f *testing.F) {
	good, err := proto.Marshal(batch("a", 1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{})
	f.Add([]byte{0x0a, 0x01, 'a', 0x22, 0x00})
	store, err := profiler.New(profiler.Config{}.WithBounds(0, 100))
	if err != nil {
		f.Fatal(err)
	}
	store.Pod(time.Now(), profiler.Pod{UID: servedUID, Node: "a", Workload: profile.Workload{Namespace: "default", Kind: "Deployment", Name: "web"}})
	server := profiler.NewServer(store, profiler.ServerConfig{})
	f.Fuzz(func(t *testing.T, text []byte) {
		b := &spaziov1.UsageBatch{}
		if proto.Unmarshal(text, b) != nil {
			return
		}
		s := &oneBatch{ctx: t.Context(), batch: b}
		err := server.Report(s)
		if code := status.Code(err); err != nil && code != codes.InvalidArgument && code != codes.ResourceExhausted {
			t.Errorf("%v: %v", b, err)
		}
		if st := store.Stats(); st.WaitingWindows > 100 || st.Workloads > 1 {
			t.Errorf("stats %+v", st)
		}
		for _, w := range store.State(time.Now()).Workloads {
			if err := w.Demand.Validate(); err != nil {
				t.Errorf("%v: %v", b, err)
			}
		}
	})
}

// oneBatch is a stream of one batch.
type oneBatch struct {
	grpc.ServerStream
	ctx   context.Context
	batch *spaziov1.UsageBatch
}

func (s *oneBatch) Context() context.Context { return s.ctx }

func (s *oneBatch) Recv() (*spaziov1.UsageBatch, error) {
	if b := s.batch; b != nil {
		s.batch = nil
		return b, nil
	}
	return nil, io.EOF
}

func (*oneBatch) Send(*spaziov1.UsageAck) error { return nil }
