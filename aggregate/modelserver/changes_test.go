package modelserver_test

import (
	"bytes"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// collector receives the stream of one call of Changes.
type collector struct {
	grpc.ServerStream
	chunks []*spaziov1.StateChunk
}

func (c *collector) Send(m *spaziov1.StateChunk) error {
	c.chunks = append(c.chunks, m)
	return nil
}

// changes returns the changed nodes and the cursor.
func changes(t *testing.T, s *modelserver.Server, r *spaziov1.ChangesRequest) (nodes []string, cursor uint64) {
	t.Helper()
	var c collector
	if err := s.Changes(r, &c); err != nil {
		t.Fatal(err)
	}
	for _, chunk := range c.chunks {
		for _, state := range chunk.GetStates() {
			nodes = append(nodes, state.GetNode())
		}
		cursor = chunk.GetCursor()
	}
	return nodes, cursor
}

func TestChangesSinceACursor(t *testing.T) {
	s := populated(t, 3)
	all, cursor := changes(t, s, &spaziov1.ChangesRequest{Replica: 1})
	if len(all) != 3 {
		t.Errorf("all: %v", all)
	}
	later := local("node-0001", 0, 1)
	later.Sequence = 1
	push(t, s, later)
	if since, _ := changes(t, s, &spaziov1.ChangesRequest{Replica: 1, Of: s.Replica(), Cursor: cursor}); len(since) != 1 || since[0] != "node-0001" {
		t.Errorf("since: %v", since)
	}
	if beyond, _ := changes(t, s, &spaziov1.ChangesRequest{Replica: 1, Of: s.Replica(), Cursor: 1 << 63}); len(beyond) != 0 {
		t.Errorf("beyond: %v", beyond)
	}
	if again, _ := changes(t, s, &spaziov1.ChangesRequest{Replica: 1, Of: s.Replica() + 1, Cursor: cursor}); len(again) != 3 {
		t.Errorf("another process: got %v", again)
	}
	if self, _ := changes(t, s, &spaziov1.ChangesRequest{Replica: s.Replica()}); len(self) != 0 {
		t.Errorf("itself: got %v", self)
	}
}

// FuzzChanges sends raw requests, and raw chunks as another replica's answer: a chunk is merged, or the
// state stays byte for byte the same.
func FuzzChanges(f *testing.F) {
	request, err := proto.Marshal(&spaziov1.ChangesRequest{Replica: 1, Of: 2, Cursor: 3})
	if err != nil {
		f.Fatal(err)
	}
	chunk, err := proto.Marshal(&spaziov1.StateChunk{Replica: 3, Cursor: 1, States: []*spaziov1.NodeState{{
		Node: "n", Sequence: 1, Schema: "s", Dim: 2, AgeNanos: 5, Weight: 20, Moments: []float64{.5, .1, .2},
		Costs: []*spaziov1.Cost{{Value: 1, Sd: .1, Known: true}, {}},
	}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(request, chunk)
	f.Add(request[:1], chunk[:len(chunk)/2])
	s := populated(f, 2)
	var answer spaziov1.StateChunk
	hearing, err := modelserver.New(modelserver.Config{Now: func() time.Time { return noon }, Aggregate: aggregate.Options{MaxNodes: 20}})
	if err != nil {
		f.Fatal(err)
	}
	peers, err := modelserver.NewPeers(hearing, modelserver.PeersConfig{Targets: []string{serve(f, badPeer{chunk: &answer})}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(peers.Close)
	f.Fuzz(func(t *testing.T, requested, answered []byte) {
		var r spaziov1.ChangesRequest
		if proto.Unmarshal(requested, &r) == nil {
			changes(t, s, &r)
		}
		if proto.Unmarshal(answered, &answer) != nil {
			return
		}
		before := encode(t, hearing.Snapshot())
		err := peers.Round(t.Context())
		after := encode(t, hearing.Snapshot())
		if err != nil && !bytes.Equal(before, after) {
			t.Fatalf("a refused chunk changed the state: %v", err)
		}
		if _, err := modelserver.ReadSnapshot(bytes.NewReader(after)); err != nil {
			t.Fatalf("a merged chunk makes an invalid snapshot: %v", err)
		}
	})
}
