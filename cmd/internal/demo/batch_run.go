package demo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// namespace is where the pods and objects of a demo are.
const namespace = metav1.NamespaceDefault

// podRecord is the history of one pod. Times are virtual; the zero time means that the event
// has not happened.
type podRecord struct {
	batchTask
	Name string
	Node string
	// Created is the moment from which the first pod could be scheduled, when all were there. Bound when its binding was seen,
	// Running and Done what its node says.
	Created time.Time
	Bound   time.Time
	Running time.Time
	Done    time.Time
	// Failed: it ended without having done its work.
	Failed bool
	// Kills is how often it was killed and created anew. Name, Node, Bound and Running are those of
	// its last life, Past are its former ones.
	Kills int
	Past  []podLife
}

// podLife is when and where a pod was bound that was killed at a time.
type podLife struct {
	Node          string
	Bound, Killed time.Time
}

// batchRun is a batch under one scheduler, from its plan to its end. It is safe for
// concurrent use.
type batchRun struct {
	scheduler string

	mu      sync.Mutex
	records []podRecord
	index   map[types.NamespacedName]int
	open    int // pods that have not ended
	late    time.Duration
	done    chan struct{} // closed when every pod has ended
	killed  chan int      // pods to be created anew
}

// newBatchRun returns a run of the tasks under a scheduler. Its pods are called by the run's name and a
// number, in order of submission; a second run of one name needs the pods of the first deleted.
func newBatchRun(name, scheduler string, tasks []batchTask) *batchRun {
	r := &batchRun{
		scheduler: scheduler,
		records:   make([]podRecord, len(tasks)),
		index:     make(map[types.NamespacedName]int, len(tasks)),
		open:      len(tasks),
		done:      make(chan struct{}),
		killed:    make(chan int, len(tasks)), // each waits there once at most
	}
	width := len(strconv.Itoa(len(tasks)))
	for i, task := range tasks {
		r.records[i] = podRecord{batchTask: task, Name: fmt.Sprintf("%s-%0*d", name, width, i+1)}
		r.index[r.records[i].key()] = i
	}
	if len(tasks) == 0 {
		close(r.done)
	}
	return r
}

func (p *podRecord) key() types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: p.Name}
}

// created notes when pod i was submitted.
func (r *batchRun) created(i int, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[i].Created = at
}

// delayed notes how much later than planned a pod could be scheduled.
func (r *batchRun) delayed(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late = max(r.late, by)
}

// lateness returns how much later than planned the latest pod could be scheduled. It compares
// with the batch's makespan: two batches are comparable only if both are small.
func (r *batchRun) lateness() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.late
}

// observe is for [simnode.Config]'s Observer; pods of others are ignored.
func (r *batchRun) observe(e simnode.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, ok := r.index[e.Pod]
	if !ok {
		return
	}
	p := &r.records[i]
	switch e.Phase {
	case simnode.Bound:
		p.Node, p.Bound = e.Node, e.At
	case simnode.Running:
		p.Running = e.At
	case simnode.Succeeded:
		r.end(p, e.At, false)
	case simnode.Failed:
		if p.Owner == "" {
			r.end(p, e.At, true)
			return
		}
		delete(r.index, e.Pod)
		p.Kills++
		p.Past = append(p.Past, podLife{p.Node, p.Bound, e.At})
		p.Node, p.Bound, p.Running = "", time.Time{}, time.Time{}
		r.killed <- i
	case simnode.Killed:
		r.end(p, e.At, true)
	}
}

// again names the next life of pod i, which was killed, and returns how long its controller waits
// before it creates that: the controller of Jobs waits for 10 s, twice as long each time, and for 6
// minutes at most.
func (r *batchRun) again(i int) (pod *corev1.Pod, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.records[i]
	name, _, _ := strings.Cut(p.Name, ".")
	p.Name = fmt.Sprintf("%s.%d", name, p.Kills)
	r.index[p.key()] = i
	return r.pod(p.Name, p.batchTask), min(firstBackoff<<min(p.Kills-1, 10), longestBackoff)
}

// Bounds of the time after which a Job's controller creates a killed pod anew.
const firstBackoff, longestBackoff = 10 * time.Second, 6 * time.Minute

func (r *batchRun) end(p *podRecord, at time.Time, failed bool) {
	if !p.Done.IsZero() {
		return
	}
	p.Done, p.Failed = at, failed
	if r.open--; r.open == 0 {
		close(r.done)
	}
}

// snapshot returns what became of the pods so far, in order of submission.
func (r *batchRun) snapshot() []podRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.records)
}

// podCounts are numbers of pods. Bound (and not yet running), Running and Done are
// disjoint parts of Submitted; the rest of those waits for a node.
type podCounts struct {
	Total, Submitted, Bound, Running, Done int
}

// counts returns the numbers of pods as they are now.
func (r *batchRun) counts() podCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := podCounts{Total: len(r.records)}
	for _, p := range r.records {
		switch {
		case p.Created.IsZero():
			continue
		case !p.Done.IsZero():
			c.Done++
		case !p.Running.IsZero():
			c.Running++
		case !p.Bound.IsZero():
			c.Bound++
		}
		c.Submitted++
	}
	return c
}
