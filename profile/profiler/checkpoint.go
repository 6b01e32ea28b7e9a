package profiler

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

// Checkpoint is what the next process begins with for a workload. It is a plain value, safe for
// concurrent reading.
type Checkpoint struct {
	Workload profile.Workload
	Template uint64
	Pods     int64
	// State is a profile's, of profile.StateVersion.
	State []byte
	// Calls are the workload's calls, a connection.Graph's State; nil where none are known.
	Calls []byte
}

// shardCount is how many parts a Store's checkpoints have.
const shardCount = 512

// Shard is a part of a Store's checkpoints: one write saves some twenty of 10,000
// workloads. The shard of a workload follows from its name alone, so that every replica
// puts it into the same. It is a plain value, safe for concurrent reading.
type Shard struct {
	Number      int // from 0 to shardCount−1
	Checkpoints []Checkpoint
	// Left are workloads for which there was no room.
	Left int
}

// mostShard bounds the states of a shard in bytes: in base64 they stay below the
// 1.5 MB of an object in etcd. With four slots a workload of two containers takes less
// than 24 KiB.
const mostShard = 900 << 10

// shard is a part of the workloads. They are few.
type shard struct {
	of  []*workload
	due time.Time // zero: nothing is unsaved
}

// shardOf is the number of the shard that a workload is in.
func shardOf(w profile.Workload) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(w.String()))
	return int(h.Sum32() % shardCount)
}

// unsaved notes that something about a workload is in no checkpoint yet.
func (s *Store) unsaved(at time.Time, w *workload) {
	if of := &s.shards[w.shard]; of.due.IsZero() {
		of.due = at.Add(s.config.Refresh)
	}
}

// Checkpoints returns at most so many shards, of which something has not been saved
// for Config.Refresh; the one that has waited longest first. Each is whole: what is
// not in it is to be forgotten.
func (s *Store) Checkpoints(at time.Time, most int) []Shard {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Shard
	for len(all) < most {
		oldest := -1
		for i := range s.shards {
			due := s.shards[i].due
			if !due.IsZero() && !due.After(at) && (oldest < 0 || due.Before(s.shards[oldest].due)) {
				oldest = i
			}
		}
		if oldest < 0 {
			break
		}
		all = append(all, s.save(oldest))
	}
	return all
}

// save returns the shard as it is, the smallest states first: where there is no room for
// all, the largest are left out. Calls get the room that profiles leave.
func (s *Store) save(number int) Shard {
	of := &s.shards[number]
	of.due = time.Time{}
	saved, size := Shard{Number: number}, 0
	for _, w := range of.of {
		if w.pods > 0 {
			saved.Checkpoints = append(saved.Checkpoints, Checkpoint{Workload: w.of, Template: w.template, Pods: w.pods, State: w.profile.State()})
		}
	}
	all := saved.Checkpoints
	slices.SortFunc(all, func(a, b Checkpoint) int {
		return cmp.Or(cmp.Compare(len(a.State), len(b.State)), cmp.Compare(a.Workload.String(), b.Workload.String()))
	})
	for i := range all {
		if size += len(all[i].State); size > mostShard {
			saved.Checkpoints, saved.Left = all[:i], len(all)-i
			return saved
		}
	}
	if s.graph != nil {
		s.saveCalls(all, mostShard-size)
	}
	return saved
}

// saveCalls adds to checkpoints the calls of their workloads, as far as there is room for
// all of a workload's.
func (s *Store) saveCalls(all []Checkpoint, room int) {
	for i := range all {
		if calls := s.graph.State(all[i].Workload); len(calls) <= room {
			all[i].Calls = calls
			room -= len(calls)
		}
	}
}

// Unsaved notes that a shard was not kept; it is due again at once.
func (s *Store) Unsaved(at time.Time, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number >= 0 && number < shardCount {
		s.shards[number].due = at
	}
}

// Restore begins with a checkpoint, unless the workload's pods have been measured
// already. Errors are package profile's, and wrap profile.ErrVersion where the state
// is of another version.
func (s *Store) Restore(at time.Time, c Checkpoint) error {
	if !nameable(c.Workload, "") {
		return refuse("Workload", c.Workload, "one that an object can name")
	}
	if c.Pods < 0 {
		return refuse("Pods", c.Pods, "not negative")
	}
	p, err := profile.Restore(s.config.profile, c.State)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workloads[c.Workload]
	switch {
	case w == nil:
		w = s.add(at, &workload{of: c.Workload, template: c.Template, profile: p})
	case !w.measured.IsZero():
		return nil
	default:
		s.leave(w)
		w.profile, w.template = p, c.Template
		s.join(w)
	}
	w.pods = c.Pods
	s.mark(at, w)
	return nil
}

// RestoreCalls begins with the calls of a checkpoint, unless some of the workload's have
// been observed already. Errors are as those of connection.Graph's Restore.
func (s *Store) RestoreCalls(at time.Time, c Checkpoint) error {
	if s.graph == nil || len(c.Calls) == 0 {
		return nil
	}
	return s.graph.Restore(at, c.Workload, c.Calls)
}
