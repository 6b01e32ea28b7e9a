package telemetry

import "time"

// probeUntil is the age from which on a pod without a process is one whose processes are
// not seen, and only a rescan looks.
const probeUntil = 30 * time.Second

// stage is how far a container's cgroup has come.
type stage int

const (
	starting stage = iota // no process yet, or only the runtime's
	paused                // every process is named pause
	opaque                // live, but process names cannot be read
	running               // a process of the workload
)

// container is one container's cgroup of a pod.
type container struct {
	stage stage
	// counted: it is among the pod's started.
	counted bool
	// since is when it was first seen.
	since time.Time
	// probeAt is when to look at it next while it is starting, period how long
	// after that again.
	probeAt time.Time
	period  time.Duration
}

// pod is one pod's cgroup.
type pod struct {
	uid, dir string
	// since is when its cgroup was first seen.
	since      time.Time
	containers map[string]*container // by directory
	// started is how many containers have been live, the sandbox among them if
	// sandboxed; unsure, that there may have been more.
	started           int
	sandboxed, unsure bool
	// ended: the sandbox went, and nothing came after it. The kubelet removes the
	// cgroup seconds later.
	ended bool
	// state is as concluded last; it means nothing for a pod that is not present.
	state   Pod
	present bool
}

// conclude derives from the containers what state the pod is in, and reports whether
// that is news.
func (p *pod) conclude() (changed bool) {
	live, sandbox := 0, 0
	for name, c := range p.containers {
		if c.stage == starting {
			continue
		}
		live++
		p.count(c)
		if c.stage == paused || c.stage == opaque && !isCRIO(name) {
			sandbox = 1
		}
	}
	p.sandboxed = p.sandboxed || sandbox > 0
	if live == 0 && p.sandboxed {
		p.ended = true
		p.started, p.sandboxed, p.unsure = 0, false, false
	}
	p.ended = p.ended && len(p.containers) == 0

	before, wasPresent := p.state, p.present
	p.present = !p.ended
	p.state = Pod{UID: p.uid, Starts: p.started}
	if p.sandboxed {
		p.state.Starts--
	}
	switch {
	case live > sandbox:
		p.state.State = PodRunning
	case p.state.Starts > 0:
		p.state.State = PodStopped
	}
	if p.unsure {
		p.state.Starts = StartsUnknown
	}
	return p.present != wasPresent || p.present && p.state != before
}

func (p *pod) count(c *container) {
	if !c.counted {
		c.counted = true
		p.started++
	}
}

// drop forgets a container whose cgroup is gone.
func (p *pod) drop(name string) {
	c := p.containers[name]
	delete(p.containers, name)
	if !c.counted {
		p.missed(name)
	}
}

// missed counts a container that came and went between two looks. It was no
// sandbox if there is another container, for the sandbox comes first and stays.
func (p *pod) missed(name string) {
	if p.sandboxed || len(p.containers) > 0 || isCRIO(name) {
		p.started++
	}
}
