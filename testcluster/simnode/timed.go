package simnode

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Timed is a Machine on which nothing is scarce: a pod starts after its start-up time
// and ends after the time that its work takes alone, whatever else runs. It is for tests
// that prescribe how long pods take. It uses the wall clock and is safe for concurrent use.
type Timed struct {
	spec     NodeSpec
	changed  func(running []string)
	happened chan Transition
	ended    chan struct{} // closed when Run ends

	mu   sync.Mutex
	pods map[string]*timedPod // by UID, from the bind on
	most int
}

// timedPod is a pod on a Timed.
type timedPod struct {
	Pod
	running bool
	next    *time.Timer
}

// NewTimed returns a machine without pods. Whenever a pod starts, ends or is killed
// while it runs, changed, if not nil, is called with the sorted UIDs of the running pods,
// before the kubelet is notified: one call at a time, in the order of the changes. It must
// not call the machine's methods.
func NewTimed(spec NodeSpec, changed func(running []string)) *Timed {
	if changed == nil {
		changed = func([]string) {}
	}
	return &Timed{
		spec: spec, changed: changed, pods: map[string]*timedPod{},
		happened: make(chan Transition), ended: make(chan struct{}),
	}
}

// Spec implements Machine.
func (m *Timed) Spec() NodeSpec { return m.spec }

// MostHeld returns the most pods that were on the node at once, whether running or
// not.
func (m *Timed) MostHeld() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}

// Bind implements Machine. Errors are a *field.Error and ErrDuplicatePod, wrapped.
func (m *Timed) Bind(p Pod) error {
	if err := p.validate(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pods[p.UID] != nil {
		return fmt.Errorf("%w: %s", ErrDuplicatePod, p.UID)
	}
	pod := &timedPod{Pod: p}
	pod.next = time.AfterFunc(p.Startup, func() { m.start(p.UID, pod) })
	m.pods[p.UID] = pod
	m.most = max(m.most, len(m.pods))
	return nil
}

// start is called when the pod's start-up is over. Its work begins when the kubelet
// has been notified.
func (m *Timed) start(uid string, pod *timedPod) {
	m.mu.Lock()
	if m.pods[uid] != pod { // killed meanwhile
		m.mu.Unlock()
		return
	}
	pod.running = true
	m.report()
	m.mu.Unlock()
	m.emit(uid, Running)
	m.mu.Lock()
	defer m.mu.Unlock()
	if work, ends := pod.alone(); ends && m.pods[uid] == pod {
		pod.next = time.AfterFunc(work, func() {
			if m.remove(uid, pod) {
				m.emit(uid, Succeeded)
			}
		})
	}
}

// Kill implements Machine.
func (m *Timed) Kill(uid string) {
	m.mu.Lock()
	pod := m.pods[uid]
	m.mu.Unlock()
	m.remove(uid, pod)
}

// remove reports whether the pod was there.
func (m *Timed) remove(uid string, pod *timedPod) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pod == nil || m.pods[uid] != pod {
		return false
	}
	pod.next.Stop()
	delete(m.pods, uid)
	if pod.running {
		m.report()
	}
	return true
}

// report is called with m.mu held.
func (m *Timed) report() {
	running := make([]string, 0, len(m.pods))
	for _, uid := range slices.Sorted(maps.Keys(m.pods)) {
		if m.pods[uid].running {
			running = append(running, uid)
		}
	}
	m.changed(running)
}

func (m *Timed) emit(uid string, phase Phase) {
	select {
	case m.happened <- Transition{At: time.Now(), UID: uid, Phase: phase}:
	case <-m.ended:
	}
}

// Run implements Machine.
func (m *Timed) Run(ctx context.Context, emit func(Transition)) error {
	defer m.clear()
	for {
		select {
		case <-ctx.Done():
			return nil
		case t := <-m.happened:
			emit(t)
		}
	}
}

// clear ends every pod, and the goroutines that wait in emit.
func (m *Timed) clear() {
	close(m.ended)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, pod := range m.pods {
		pod.next.Stop()
	}
	clear(m.pods)
}
