package energy

import (
	"cmp"
	"container/list"
	"math"
	"slices"
	"time"
)

const (
	// maxPods bounds the pods that a Book knows, of all workloads together.
	maxPods = 1 << 18
	// maxWorkloadName bounds a workload's name, in bytes.
	maxWorkloadName = 1024
)

// bookConfig is how a Book learns.
type bookConfig struct {
	// HalfLife is when what was observed counts half.
	HalfLife time.Duration
	// MinAge is for how long a pod does not teach after it was first observed, since
	// starting takes more than running.
	MinAge time.Duration
	// Absence is after which time without an observation a pod is no replica any more.
	Absence time.Duration
	// Workloads is how many workloads are remembered; the least recently observed go.
	Workloads int
}

var defaultBook = bookConfig{HalfLife: time.Minute, MinAge: 10 * time.Second, Absence: time.Minute, Workloads: 4096}

// Observation is what a pod has taken lately.
type Observation struct {
	// Pod distinguishes the replicas of a workload: any number that stays the pod's, such as
	// a hash of its UID.
	Pod uint64
	// At is the end of the time observed, Span how long that was, 0 if it is not known.
	At   time.Time
	Span time.Duration
	// Cores is how many it kept busy, and Watts what it was charged for that
	// ([Split.AttributeTo]), where Metered: means of the time observed.
	Cores, Watts float64
	Metered      bool
}

// Estimate is what a pod of a workload takes. The debug API of package plugin answers it as
// this JSON, within a [WorkloadEstimate].
type Estimate struct {
	// Cores is how many it keeps busy.
	Cores float64 `json:"cores"`
	// Watts is 0 where no observation was metered.
	Watts float64 `json:"watts"`
	// SD is the standard deviation of an observation's watts about Watts.
	SD float64 `json:"sd"`
	// Pods is how many replicas were observed lately.
	Pods int `json:"pods"`
	// Known reports that it is the workload's own; otherwise it is the mean of all workloads,
	// and of none one core.
	Known bool `json:"known"`
	// Joules is what the workload's pods took in the metered spans observed: in a scheduler,
	// since it started.
	Joules float64 `json:"joules"`
}

// Book remembers what pods of each workload take. It is for one goroutine.
type Book struct {
	config    bookConfig
	workloads map[string]*list.Element // of *entry
	recent    *list.List               // the most recently observed in front
	pods      int
}

type entry struct {
	name string
	pods map[uint64]replica
	// started reports that cores is known, metered that watts is.
	started, metered       bool
	cores, watts, variance float64
	joules                 float64
	swept, last            time.Time
}

// replica is when a pod was first and last observed.
type replica struct{ first, last time.Time }

// NewBook returns an empty book, which remembers 4,096 workloads.
func NewBook() *Book { return newBook(defaultBook) }

func newBook(c bookConfig) *Book {
	return &Book{config: c, workloads: map[string]*list.Element{}, recent: list.New()}
}

// Observe takes what a pod of a workload has taken. What is no amount, and a time
// before the pod's last, is a *field.Error and changes nothing.
func (b *Book) Observe(workload string, o Observation) error {
	if err := checkObservation(workload, &o); err != nil {
		return err
	}
	if at, ok := b.workloads[workload]; ok {
		if p, ok := at.Value.(*entry).pods[o.Pod]; ok && o.At.Before(p.last) {
			return refuse("At", o.At, "no earlier than the pod's last observation")
		}
	}
	e := b.entry(workload)
	e.last = o.At
	if o.Metered {
		e.joules += o.Watts * max(o.Span, 0).Seconds()
	}
	b.sweep(e, o.At)
	p, known := e.pods[o.Pod]
	if !known {
		e.pods[o.Pod] = replica{o.At, o.At}
		b.pods++
		b.evict()
		return nil
	}
	since := o.At.Sub(p.last)
	p.last = o.At
	e.pods[o.Pod] = p
	if o.At.Sub(p.first) < b.config.MinAge {
		return nil
	}
	e.learn(&o, b.gain(since, len(e.pods)))
	return nil
}

func checkObservation(workload string, o *Observation) error {
	if len(workload) == 0 || len(workload) > maxWorkloadName {
		return refuse("workload", workload, "of 1 to 1024 bytes")
	}
	if err := amount("Cores", o.Cores, MaxCores); err != nil {
		return err
	}
	return amount("Watts", o.Watts, MaxWatts)
}

// entry returns the workload's, made if it is new, as the most recent.
func (b *Book) entry(workload string) *entry {
	if at, ok := b.workloads[workload]; ok {
		b.recent.MoveToFront(at)
		return at.Value.(*entry)
	}
	e := &entry{name: workload, pods: map[uint64]replica{}}
	b.workloads[workload] = b.recent.PushFront(e)
	return e
}

// evict forgets the workloads that were observed least recently, as long as there are
// too many or too many pods of them.
func (b *Book) evict() {
	for b.recent.Len() > 1 && (b.recent.Len() > b.config.Workloads || b.pods > maxPods) {
		last := b.recent.Back()
		e := b.recent.Remove(last).(*entry)
		delete(b.workloads, e.name)
		b.pods -= len(e.pods)
	}
	if b.pods > maxPods { // all of the one workload that is left
		clear(b.recent.Front().Value.(*entry).pods)
		b.pods = 0
	}
}

// sweep forgets replicas that are gone, now and then.
func (b *Book) sweep(e *entry, now time.Time) {
	if now.Sub(e.swept) < b.config.Absence/4 {
		return
	}
	e.swept = now
	for pod, p := range e.pods {
		if now.Sub(p.last) > b.config.Absence {
			delete(e.pods, pod)
			b.pods--
		}
	}
}

// gain is what one of so many replicas counts after a time: a round over all of them
// counts what one alone would.
func (b *Book) gain(since time.Duration, replicas int) float64 {
	return 1 - math.Exp2(-float64(since)/float64(b.config.HalfLife)/float64(replicas))
}

func (e *entry) learn(o *Observation, gain float64) {
	if !e.started {
		e.cores, e.started = o.Cores, true
	} else {
		e.cores += gain * (o.Cores - e.cores)
	}
	switch {
	case !o.Metered:
	case !e.metered:
		e.watts, e.metered = o.Watts, true
	default:
		miss := o.Watts - e.watts
		e.watts += gain * miss
		e.variance = (1 - gain) * (e.variance + gain*miss*miss)
	}
}

// Estimate returns what a pod of the workload will take. It teaches nothing.
func (b *Book) Estimate(workload string) Estimate {
	at, ok := b.workloads[workload]
	if !ok {
		return b.unknown()
	}
	e := at.Value.(*entry)
	if !e.started {
		mean := b.unknown()
		mean.Pods, mean.Joules = len(e.pods), e.joules
		return mean
	}
	return e.estimate()
}

func (e *entry) estimate() Estimate {
	return Estimate{Cores: e.cores, Watts: e.watts, SD: math.Sqrt(e.variance), Pods: len(e.pods), Known: true, Joules: e.joules}
}

// unknown is the mean of all workloads, each counting once.
func (b *Book) unknown() Estimate {
	var started, metered int
	var cores, watts, squares float64
	for at := b.recent.Front(); at != nil; at = at.Next() {
		e := at.Value.(*entry)
		if e.started {
			started++
			cores += e.cores
		}
		if e.metered {
			metered++
			watts += e.watts
			squares += e.variance + e.watts*e.watts
		}
	}
	if started == 0 {
		return Estimate{Cores: 1}
	}
	mean := Estimate{Cores: cores / float64(started), Watts: share(watts, float64(metered))}
	mean.SD = math.Sqrt(max(share(squares, float64(metered))-mean.Watts*mean.Watts, 0))
	return mean
}

// WorkloadEstimate is a workload's name and what a pod of it takes.
type WorkloadEstimate struct {
	// Workload is the name given to Observe; a scheduler's are namespace/kind/name.
	Workload string `json:"workload"`
	Estimate
}

// LargestTo puts the n known workloads into dst whose pods take most watts, the
// largest first and equals by name, of those of which a pod was observed within a
// minute of now; dst grows as append does and is returned.
func (b *Book) LargestTo(dst []WorkloadEstimate, n int, now time.Time) []WorkloadEstimate {
	dst = dst[:0]
	for at := b.recent.Front(); at != nil; at = at.Next() {
		if e := at.Value.(*entry); e.metered && now.Sub(e.last) <= b.config.Absence {
			dst = append(dst, WorkloadEstimate{e.name, e.estimate()})
		}
	}
	slices.SortFunc(dst, func(x, y WorkloadEstimate) int {
		return cmp.Or(cmp.Compare(y.Watts, x.Watts), cmp.Compare(x.Workload, y.Workload))
	})
	return dst[:min(max(n, 0), len(dst))]
}
