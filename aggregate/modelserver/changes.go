package modelserver

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spazio-scheduler/spazio/aggregate"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
)

// maxReaders bounds the calls of Changes at one time: each holds a chunk.
const maxReaders = 64

// Changes implements spaziov1.PeerServiceServer. What changes while it answers
// is left for the next call.
func (s *Server) Changes(r *spaziov1.ChangesRequest, stream grpc.ServerStreamingServer[spaziov1.StateChunk]) error {
	if r.GetReplica() == s.config.Replica { // it has found itself
		return stream.Send(&spaziov1.StateChunk{Replica: s.config.Replica})
	}
	defer s.readers.Add(-1)
	if s.readers.Add(1) > maxReaders {
		return status.Errorf(codes.ResourceExhausted, "%d replicas are being answered", maxReaders)
	}
	var cursor, upto uint64
	if r.GetOf() == s.config.Replica {
		cursor = r.GetCursor()
	}
	s.locked(func() {
		s.merge()
		upto = s.aggregate.Cursor()
	})
	for {
		var entries []aggregate.Entry
		s.locked(func() {
			entries, cursor = s.aggregate.Changes(s.config.Now(), cursor, upto, r.GetReplica(), chunkSize)
		})
		chunk := &spaziov1.StateChunk{Replica: s.config.Replica, Cursor: cursor, States: make([]*spaziov1.NodeState, len(entries))}
		for i, e := range entries {
			chunk.States[i] = fromEntry(e)
		}
		if err := stream.Send(chunk); err != nil || cursor >= upto {
			return err
		}
	}
}

// mergeEntries merges what another replica has told; all of it was checked.
func (s *Server) mergeEntries(entries []aggregate.Entry, from uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.config.Now()
	for _, e := range entries {
		merged, err := s.aggregate.Merge(at, e, from)
		switch {
		case err != nil:
			s.counts.unfit.Add(1)
		case merged:
			s.counts.taken.Add(1)
			s.changed = true
		default:
			s.counts.known.Add(1)
		}
	}
}
