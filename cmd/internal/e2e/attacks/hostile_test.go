package attacks

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/plugintest"
)

// publishOnce sends reports over a stream of their own and returns the code that the scheduler ends it
// with: OK if it accepted or ignored them.
func publishOnce(ctx context.Context, connection *grpc.ClientConn, reports ...*spaziov1.Report) (codes.Code, error) {
	stream, err := spaziov1.NewSignalServiceClient(connection).Publish(ctx)
	if err != nil {
		return status.Code(err), err
	}
	for _, r := range reports {
		if stream.Send(r) != nil {
			break // Recv returns the reason
		}
	}
	if err := stream.CloseSend(); err != nil {
		return status.Code(err), err
	}
	for {
		if _, err = stream.Recv(); errors.Is(err, io.EOF) {
			return codes.OK, nil
		} else if err != nil {
			return status.Code(err), err
		}
	}
}

func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	options, err := transport.DialOptions(address, transport.Config{})
	if err != nil {
		t.Fatal(err)
	}
	connection, err := grpc.NewClient(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

// falsehood turns an honest report into one that should change nothing.
type falsehood struct {
	name    string
	falsify func(honest agent.Report) *spaziov1.Report
	code    codes.Code
}

func falsehoods() []falsehood {
	change := func(f func(m *spaziov1.Report)) func(agent.Report) *spaziov1.Report {
		return func(honest agent.Report) *spaziov1.Report {
			m := api.FromReport(honest)
			f(m)
			return m
		}
	}
	// A scheduler that accepted it would overload the node.
	plenty := func(m *spaziov1.Report) { m.Avail, m.Allowance, m.Saturated = 1000, 1000, false }
	return []falsehood{
		{name: "duplicated", falsify: change(func(*spaziov1.Report) {})},
		{name: "from the future", falsify: change(func(m *spaziov1.Report) {
			m.SampledAtUnixNanos = time.Now().Add(24 * 365 * time.Hour).UnixNano()
		})},
		{name: "reordered", falsify: change(func(m *spaziov1.Report) { plenty(m); m.Sequence = 1 })},
		{name: "of an earlier agent", falsify: change(func(m *spaziov1.Report) {
			plenty(m)
			m.Incarnation, m.Sequence = m.Incarnation-1, math.MaxUint64
		})},
		{name: "from an unknown node", code: codes.InvalidArgument, falsify: change(func(m *spaziov1.Report) { plenty(m); m.Node = "foreign" })},
		{name: "from no node", code: codes.InvalidArgument, falsify: change(func(m *spaziov1.Report) { plenty(m); m.Node = "" })},
		{name: "avail is no number", code: codes.InvalidArgument, falsify: change(func(m *spaziov1.Report) { plenty(m); m.Avail = math.NaN(); m.Sequence = math.MaxUint64 })},
		{name: "avail is infinite", code: codes.InvalidArgument, falsify: change(func(m *spaziov1.Report) { plenty(m); m.Avail = math.Inf(1); m.Sequence = math.MaxUint64 })},
		{name: "allowance is no number", code: codes.InvalidArgument, falsify: change(func(m *spaziov1.Report) { plenty(m); m.Allowance = math.NaN(); m.Sequence = math.MaxUint64 })},
		{name: "allowance is negative", code: codes.InvalidArgument, falsify: change(func(m *spaziov1.Report) { plenty(m); m.Allowance = -1; m.Sequence = math.MaxUint64 })},
		{name: "k is negative", code: codes.InvalidArgument, falsify: change(func(m *spaziov1.Report) { plenty(m); m.K = -1; m.Sequence = math.MaxUint64 })},
	}
}

// While a batch runs, false reports of the nodes are sent repeatedly. A negative avail is no falsehood:
// it means no room.
func TestFalseReportsChangeNothing(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	var seen plugintest.Reservations
	hub, _ := cluster.StartScheduler(t, kubeconfig, plugin.SpazioArgs{}, plugin.HubOptions{OnReserve: seen.Observe})
	address := hub.Addr().String()
	nodes := cluster.NewPlaceNodes(t, client, 5, cluster.Places, address)
	overloaded := nodes[4]
	overloaded.Set(-3, false)
	cluster.WaitSignals(t, hub, "fresh", len(nodes))
	cluster.Eventually(t, "the node below nothing is known", func() (bool, any) {
		s := hub.Snapshot()[4]
		return s.Avail == -3, s
	})

	connection := dial(t, address)
	ctx, cancel := context.WithCancel(t.Context())
	var telling sync.WaitGroup
	defer telling.Wait()
	defer cancel()
	for i, f := range falsehoods() {
		telling.Go(func() {
			for sent := 0; ctx.Err() == nil; sent++ {
				message := f.falsify(nodes[(i+sent)%4].LastReport())
				code, err := publishOnce(ctx, connection, message)
				if code != f.code && ctx.Err() == nil {
					t.Errorf("report %s: %v (%v), want %v", f.name, code, err, f.code)
					return
				}
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	const pods = 100
	log := cluster.Watch(t, client)
	cluster.Submit(t, client, cluster.Batch{Prefix: "batch", Pods: pods, Startup: 50 * time.Millisecond, Work: 300 * time.Millisecond})
	log.WaitSucceeded(t, pods)
	cancel()
	telling.Wait()

	seen.Check(t, pods)
	cluster.CheckHeld(t, nodes[:4])
	if most := overloaded.MostHeld(); most > 0 {
		t.Errorf("a node three pods over its capacity got %d pods", most)
	}
	if known := len(hub.Snapshot()); known != len(nodes) {
		t.Errorf("got %d nodes at the scheduler, want %d", known, len(nodes))
	}
	cluster.CheckNothingLeft(t, client, hub)
}

// A report of an agent that claims to have started in the future blocks the node's own agent no longer
// than a report counts.
func TestFutureAgentIsOutlived(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	var seen plugintest.Reservations
	args := plugin.SpazioArgs{MaxAge: metav1.Duration{Duration: 2 * time.Second}, StalePolicy: "Reject"}
	hub, _ := cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{OnReserve: seen.Observe})
	address := hub.Addr().String()
	node := cluster.NewPlaceNodes(t, client, 1, cluster.Places, address)[0]
	cluster.WaitSignals(t, hub, "fresh", 1)

	m := api.FromReport(node.LastReport())
	m.Incarnation, m.Sequence, m.Avail, m.Saturated = math.MaxUint64, math.MaxUint64, -1000, true
	connection := dial(t, address)
	cluster.Eventually(t, "the report is taken", func() (bool, any) {
		if code, err := publishOnce(t.Context(), connection, m); code != codes.OK {
			t.Fatal(err)
		}
		s := hub.Snapshot()[0]
		return s.Avail == -1000, s
	})
	log := cluster.Watch(t, client)
	cluster.Submit(t, client, cluster.Batch{Prefix: "batch", Pods: 2 * cluster.Places, Work: 100 * time.Millisecond})
	log.WaitSucceeded(t, 2*cluster.Places)
	seen.Check(t, 0)
	cluster.CheckHeld(t, []*cluster.PlaceNode{node})
	cluster.CheckNothingLeft(t, client, hub)
}
