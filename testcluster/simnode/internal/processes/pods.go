// Package processes is what machines share that run each pod as a process of its own.
package processes

import (
	"context"
	"fmt"
	"sync"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// Pods are those of a machine, from Bind to End. It is safe for concurrent use; Run is
// called once.
type Pods struct {
	starts chan simnode.Pod

	mu      sync.Mutex
	stopped bool
	pods    map[string]*pod
}

// pod is one that waits or runs.
type pod struct {
	kill   func() // nil until its process is started
	killed bool
}

// New returns no pods.
func New() *Pods {
	return &Pods{starts: make(chan simnode.Pod, simnode.MaxPods), pods: map[string]*pod{}}
}

// Bind has a pod wait for its start. The errors are those of simnode.
func (p *Pods) Bind(next simnode.Pod) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.stopped:
		return simnode.ErrStopped
	case p.pods[next.UID] != nil:
		return fmt.Errorf("%w: %s", simnode.ErrDuplicatePod, next.UID)
	}
	select {
	case p.starts <- next:
	default:
		return fmt.Errorf("%w: %d wait to be started", simnode.ErrBadPod, simnode.MaxPods)
	}
	p.pods[next.UID] = &pod{}
	return nil
}

// Kill ends a pod's process, if it is there; of one that waits none is started.
func (p *Pods) Kill(uid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.pods[uid]; one != nil {
		one.end()
	}
}

func (p *pod) end() {
	p.killed = true
	if p.kill != nil {
		p.kill()
	}
}

// Len is how many pods there are.
func (p *Pods) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pods)
}

// Run calls start for one pod after the other, on the caller's thread, until ctx ends; then
// it kills them all, and takes no more.
func (p *Pods) Run(ctx context.Context, start func(simnode.Pod)) {
	defer p.stop()
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-p.starts:
			start(next)
		}
	}
}

func (p *Pods) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	for _, one := range p.pods {
		one.end()
	}
}

// Start has process start a pod's, unless the pod has been killed, and says whether it did.
// What process returns kills what it has started, which may have ended by then.
func (p *Pods) Start(uid string, process func() (kill func(), err error)) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.pods[uid]
	if one.killed {
		return false, nil
	}
	kill, err := process()
	if err != nil {
		return false, err
	}
	one.kill = kill
	return true, nil
}

// End forgets a pod and says how it ended: by Kill, with the error of its process or of its
// start, or as it should.
func (p *Pods) End(uid string, err error) simnode.Phase {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.pods[uid]
	delete(p.pods, uid)
	switch {
	case one.killed:
		return simnode.Killed
	case err != nil:
		return simnode.Failed
	}
	return simnode.Succeeded
}
