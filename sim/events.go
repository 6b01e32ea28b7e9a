package sim

import (
	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/reserve"
)

// event is something that happens at a time.
type event struct {
	at   float64
	seq  uint64 // orders what happens at once
	kind eventKind
	node int32
	pod  int32
	// report is that of kind reported, rejects what there is of it under Pronto.
	report  *report
	rejects bool
}

type eventKind uint8

const (
	changed     eventKind = iota // a pod may change its phase on the node
	decided                      // the scheduler's attempt at the pod ends
	announced                    // the API has the bind of the pod to the node
	ended                        // the API shows that the pod is done
	failed                       // the API shows that the pod was killed or evicted
	resubmitted                  // such a pod is created anew
	flushed                      // pods that no event woke for long are tried again
	reported                     // the node's report arrives
	loaded                       // the node's background changes
	measured                     // a peer's telemetry is due at the node
	published                    // a peer's telemetry is seen by its scheduler
	shown                        // the API shows that the pod runs
	timed                        // what Every was asked for is due
	overdue                      // the pod may have waited for room for too long
	readout                      // an agent reads the pod
	uploaded                     // the node's windows may be on their way
	estimated                    // what is known of a workload is published
	opened                       // the workload begins
	metered                      // an agent reads its node's energy
	stepped                      // a service's load changes
	shared                       // a service's requests are shared anew
	scaled                       // a service's autoscaler decides
	deleted                      // the kubelet sees that a service's pod is deleted
	admitted                     // a queue in front lets the pod in
	tainted                      // the scheduler sees a node's MemoryPressure, or its end
)

// report is what a scheduler keeps of an agent.Report.
type report struct {
	signal         reserve.Signal
	listed         []reserve.PodKey
	mispredictions []agent.Misprediction
	power          energy.Power
	cores          []float32 // of listed, if any
	tasksWait      bool      // for a core
}

// agenda is what is going to happen.
type agenda struct {
	heap heap[event]
	seq  uint64
}

func (a *agenda) add(e event) {
	a.seq++
	e.seq = a.seq
	a.heap.push(e)
}

func (e event) before(f event) bool {
	return e.at < f.at || e.at == f.at && e.seq < f.seq
}

// pop returns the earliest event; there must be one.
func (a *agenda) pop() event { return a.heap.pop() }
