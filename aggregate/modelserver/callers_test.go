package modelserver_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/svd"
)

// from returns a call's context with a peer address.
func from(ctx context.Context, address string) context.Context {
	return peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.ParseIP(address), Port: 1}})
}

// wide returns a push of a full model of many channels, which shares no memory.
func wide(node, schema string, dim int) *spaziov1.PushRequest {
	state := svd.State{Dim: dim, Block: 10, Mass: 2, U: make([]float64, dim*dim), Sigma: make([]float64, dim)}
	for i := range dim {
		state.U[i*dim+i] = 1
		state.Sigma[i] = .5
	}
	return request(agent.Local{Node: node, Sequence: 1, Schema: schema, Model: state, Costs: make([]agent.Cost, dim)})
}

// TestCallersShareTheInput: no caller fills the queue alone, and a node in it is not turned away.
func TestCallersShareTheInput(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config modelserver.Config
	}{
		{"nodes", modelserver.Config{Queue: 8}},
		{"bytes", modelserver.Config{}.WithQueueBytes(8 * 40_000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := modelserver.New(tt.config)
			if err != nil {
				t.Fatal(err)
			}
			for i, step := range []struct {
				caller, node string
				sequence     uint64
				want         codes.Code
			}{
				{"10.0.0.1", "a", 1, codes.OK},
				{"10.0.0.1", "b", 1, codes.OK},
				{"10.0.0.1", "c", 1, codes.ResourceExhausted},
				{"10.0.0.1", "a", 2, codes.OK},
				{"2001:db8::1", "d", 1, codes.OK},
				{"2001:db8::2", "e", 1, codes.OK}, // the same network
				{"2001:db8::3", "f", 1, codes.ResourceExhausted},
				{"2001:db8:0:1::1", "f", 1, codes.OK},
				{"2001:db8:0:1::1", "a", 3, codes.OK}, // replaces a
				{"10.0.0.1", "c", 2, codes.OK},
				{"10.0.0.1", "g", 1, codes.ResourceExhausted},
				{"2001:db8:0:1::1", "g", 1, codes.ResourceExhausted},
				{"10.0.0.3", "h", 1, codes.OK},
				{"10.0.0.4", "i", 1, codes.OK},
				{"10.0.0.5", "j", 1, codes.ResourceExhausted}, // all are eight
			} {
				r := wide(step.node, "s", 64)
				r.Local.Sequence = step.sequence
				if _, err := s.Push(from(t.Context(), step.caller), r); status.Code(err) != step.want {
					t.Errorf("step %d, %+v: %v", i, step, err)
				}
			}
		})
	}
}

// TestInventedNodesTakeLittle: one address that invents nodes with many channels and schemas gets its
// share of the memory, and displaces no other caller.
func TestInventedNodesTakeLittle(t *testing.T) {
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	s := start(t, modelserver.Config{Tick: time.Millisecond, OnError: func(err error) {
		if !errors.Is(err, aggregate.ErrFull) {
			t.Error(err)
		}
	}})
	before, most := heap(), 0.
	pushes := 5000
	if testing.Short() {
		pushes = 1000
	}
	for i := range pushes {
		_, err := s.Push(from(t.Context(), "10.0.0.1"), wide(fmt.Sprint("invented-", i), fmt.Sprint("schema-", i%1000), 64))
		if code := status.Code(err); code != codes.OK && code != codes.ResourceExhausted {
			t.Fatal(err)
		}
		if i%500 == 499 {
			most = max(most, heap()-before)
		}
	}
	if most > 48<<20 {
		t.Errorf("one address uses %.0f MiB", most/(1<<20))
	}
	for schema := range 10 { // one node each, from different addresses
		r := wide(fmt.Sprint("honest-", schema), fmt.Sprint("honest-", schema), 4)
		if _, err := s.Push(from(t.Context(), fmt.Sprint("10.1.0.", schema)), r); err != nil {
			t.Errorf("schema %d: %v", schema, err)
		}
	}
	until(t, s, func(modelserver.Stats) bool {
		honest := 0
		for _, m := range s.Describe("").Models {
			if len(m.Channels) == 4 {
				honest++
			}
		}
		return honest == 10
	})
	t.Logf("%d nodes in %d groups, %.1f MiB at most", s.Stats().Nodes, s.Stats().Groups, most/(1<<20))
}
