package sim

import "github.com/spazio-scheduler/spazio/reserve"

// event is something that happens at a time.
type event struct {
	at   float64
	seq  uint64 // orders what happens at once
	kind eventKind
	node int32
	pod  int32
	// report is that of kind reported.
	report *report
}

type eventKind uint8

const (
	changed     eventKind = iota // a pod may change its phase on the node
	decided                      // the scheduler's attempt at the pod ends
	announced                    // the API has the bind of the pod to the node
	ended                        // the API shows that the pod is done
	failed                       // the API shows that the pod was killed
	resubmitted                  // a killed pod is created anew
	backedOff                    // a refused pod may be tried again
	flushed                      // pods that no event woke for long are tried again
	reported                     // the node's report arrives
	loaded                       // the node's background changes
	measured                     // a peer's telemetry is due at the node
	published                    // a peer's telemetry is seen by its scheduler
	shown                        // the API shows that the pod runs
)

// report is what a scheduler keeps of an agent.Report.
type report struct {
	signal   reserve.Signal
	absorbed []reserve.PodKey
	rejects  bool // of Pronto's
}

// agenda is a heap of events, the earliest first.
type agenda struct {
	heap []event
	seq  uint64
}

func (a *agenda) add(e event) {
	a.seq++
	e.seq = a.seq
	a.heap = append(a.heap, e)
	i := len(a.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&a.heap[parent]) {
			break
		}
		a.heap[i] = a.heap[parent]
		i = parent
	}
	a.heap[i] = e
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.seq < f.seq
}

// pop returns the earliest event; there must be one.
func (a *agenda) pop() event {
	first := a.heap[0]
	n := len(a.heap) - 1
	e := a.heap[n]
	a.heap[n] = event{}
	a.heap = a.heap[:n]
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && a.heap[child+1].before(&a.heap[child]) {
			child++
		}
		if !a.heap[child].before(&e) {
			break
		}
		a.heap[i] = a.heap[child]
		i = child
	}
	if n > 0 {
		a.heap[i] = e
	}
	return first
}
