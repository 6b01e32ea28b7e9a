package demo

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/simnode"
)

// tracker follows the pods of one batch. It is safe for concurrent use.
type tracker struct {
	mu      sync.Mutex
	records []Record
	index   map[types.NamespacedName]int
	waiting int // pods that neither run nor have ended
	open    int
	begun   chan struct{} // closed when no pod waits any more
	done    chan struct{}
}

func newTracker(namespace string, names []string, tasks []Task) *tracker {
	t := &tracker{
		records: make([]Record, len(tasks)),
		index:   make(map[types.NamespacedName]int, len(tasks)),
		waiting: len(tasks),
		open:    len(tasks),
		begun:   make(chan struct{}),
		done:    make(chan struct{}),
	}
	for i, task := range tasks {
		t.records[i] = Record{Task: task, Name: names[i]}
		t.index[types.NamespacedName{Namespace: namespace, Name: names[i]}] = i
	}
	return t
}

// created notes that pod i is about to be submitted and returns its record.
func (t *tracker) created(i int, at time.Time) Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records[i].Created = at
	return t.records[i]
}

// observe is a simnode.Observer; pods of others are ignored.
func (t *tracker) observe(pod types.NamespacedName, node string, tr simnode.Transition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, ok := t.index[pod]
	if !ok {
		return
	}
	r := &t.records[i]
	switch tr.Phase {
	case simnode.Bound:
		r.Node, r.Bound = node, tr.At
	case simnode.Running:
		t.begin(r)
		r.Running = tr.At
	case simnode.Succeeded:
		t.close(r, tr.At, false)
	case simnode.Failed, simnode.Killed:
		t.close(r, tr.At, true)
	}
}

// begin counts the pods that still wait. A pod that ends before it runs does not
// wait any more either.
func (t *tracker) begin(r *Record) {
	if !r.Running.IsZero() || !r.Done.IsZero() {
		return
	}
	if t.waiting--; t.waiting == 0 {
		close(t.begun)
	}
}

func (t *tracker) close(r *Record, at time.Time, failed bool) {
	if !r.Done.IsZero() {
		return
	}
	t.begin(r)
	r.Done, r.Failed = at, failed
	if t.open--; t.open == 0 {
		close(t.done)
	}
}

// snapshot copies the records.
func (t *tracker) snapshot() []Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Record(nil), t.records...)
}

// count fills the numbers of a frame.
func (t *tracker) count(f *Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.Total = len(t.records)
	for _, r := range t.records {
		switch {
		case r.Created.IsZero():
			continue
		case !r.Done.IsZero():
			f.Done++
		case !r.Running.IsZero():
			f.Running++
		case !r.Bound.IsZero():
			f.Bound++
		}
		f.Submitted++
	}
}
