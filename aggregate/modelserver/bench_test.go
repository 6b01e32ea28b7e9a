package modelserver_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/svd"
)

// pushAll pushes one model of each of 5,000 nodes of four channels.
func pushAll(b *testing.B, s *modelserver.Server, sequence uint64) {
	b.Helper()
	const dim = 4
	for n := range 5000 {
		u, sigma, costs := make([]float64, dim*dim), make([]float64, dim), make([]agent.Cost, dim)
		for j := range dim {
			u[j*dim+j], sigma[j] = 1, float64(dim-j)/dim
			costs[j] = agent.Cost{Value: 1, SD: .1, Known: true}
		}
		if _, err := s.Push(b.Context(), request(agent.Local{Node: fmt.Sprintf("node-%05d.fleet.example", n), Incarnation: 1 << 60, Sequence: sequence, Schema: "v1;load",
			Model: svd.State{Dim: dim, Block: 10, Mass: 2, U: u, Sigma: sigma}, Costs: costs})); err != nil {
			b.Fatal(err)
		}
	}
}

func newServer(b *testing.B) *modelserver.Server {
	b.Helper()
	s, err := modelserver.New(modelserver.Config{Now: func() time.Time { return noon }})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkRound is one exchange over loopback after a push of each of 5,000 nodes, both ends included.
func BenchmarkRound(b *testing.B) {
	one, other := newServer(b), newServer(b)
	peers, err := modelserver.NewPeers(other, modelserver.PeersConfig{Targets: []string{serve(b, one)}, Timeout: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	defer peers.Close()
	b.ReportAllocs()
	for sequence := uint64(1); b.Loop(); sequence++ {
		b.StopTimer()
		pushAll(b, one, sequence)
		one.Snapshot() // merges
		b.StartTimer()
		if err := peers.Round(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	if n := len(other.Snapshot().Entries); n != 5000 {
		b.Fatalf("got %d merged states", n)
	}
}

// BenchmarkSnapshot of 5,000 nodes: only collecting the entries blocks merging.
func BenchmarkSnapshot(b *testing.B) {
	s := newServer(b)
	pushAll(b, s, 1)
	snapshot := s.Snapshot()
	var raw bytes.Buffer
	if err := modelserver.WriteSnapshot(&raw, snapshot); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "state")
	for name, f := range map[string]func() error{
		"take": func() error { s.Snapshot(); return nil },
		"save": func() error { return modelserver.SaveSnapshot(path, snapshot) },
		"read": func() error { _, err := modelserver.ReadSnapshot(bytes.NewReader(raw.Bytes())); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(raw.Len()), "file-bytes")
		})
	}
}
