package telemetry

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

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

// prober reads how far containers have come. It keeps its buffers, and goes past
// package os, which costs twice as much for a file of a few bytes: a node that
// starts pods all the time is probed all the time.
type prober struct {
	procRoot string
	// hierarchy is the root of the hierarchy that the containers are found in, pids
	// that of cgroup v1's pids controller.
	hierarchy, pids string
	procs, comm     []byte
}

func newProber(procRoot string) *prober {
	return &prober{procRoot: procRoot, procs: make([]byte, 4<<10), comm: make([]byte, 64)}
}

// in sets where the containers' cgroups are: in a hierarchy below root.
func (p *prober) in(root, hierarchy string) {
	p.hierarchy, p.pids = filepath.Join(root, hierarchy), filepath.Join(root, "pids")
}

// stageOf reads how far the container with the cgroup at dir has come. Once it
// has aged past the runtime's start-up, a process named like the runtime is taken
// for the workload's, and one without a readable name for one of another PID
// namespace.
func (p *prober) stageOf(dir string, aged bool) stage {
	found, populated := p.stageBelow(dir, filepath.Base(dir), aged, maxNested)
	if !populated && p.counts(dir) {
		return opaque
	}
	return found
}

// stageBelow looks at the processes of a cgroup and, if it has none, of those
// below it; container is the name of the container's cgroup.
func (p *prober) stageBelow(dir, container string, aged bool, depth int) (found stage, populated bool) {
	// A group whose processes cannot be read may have others below it.
	if text, err := readInto(&p.procs, dir+"/cgroup.procs"); err == nil && len(text) > 0 {
		return p.stageOfProcesses(text, container, aged), true
	}
	if depth == 0 {
		return starting, false
	}
	for _, name := range subdirectories(dir) {
		below, any := p.stageBelow(dir+"/"+name, container, aged, depth-1)
		if found, populated = max(found, below), populated || any; found == running {
			break
		}
	}
	return found, populated
}

// stageOfProcesses looks at the processes of one cgroup, in the text of its
// cgroup.procs. On cgroup v2 those of another PID namespace are listed as 0.
func (p *prober) stageOfProcesses(text []byte, container string, aged bool) stage {
	found := starting
	for line := range bytes.Lines(text) {
		pid := string(bytes.TrimSpace(line))
		if pid == "0" {
			return opaque
		}
		comm, err := readInto(&p.comm, p.procRoot+"/"+pid+"/comm")
		switch name := string(bytes.TrimSpace(comm)); {
		case os.IsPermission(err):
			return opaque
		case err != nil: // most likely it ended meanwhile
		case isPause(name, container):
			found = max(found, paused)
		case aged || !isRuntime(name):
			return running
		}
	}
	if found == starting && aged {
		return opaque
	}
	return found
}

// counts reports whether the pids controller counts processes in the cgroup at dir:
// cgroup v1 leaves those of another PID namespace out of cgroup.procs.
func (p *prober) counts(dir string) bool {
	below, ok := strings.CutPrefix(dir, p.hierarchy)
	if !ok || p.pids == "" {
		return false
	}
	text, err := readInto(&p.comm, p.pids+below+"/pids.current")
	if err != nil {
		return false
	}
	n, err := ParseCounter(text)
	return err == nil && n > 0
}

// podListing is the list of pods that an event carries, kept up to date pod by
// pod: it is as long as the node has pods, and changes with one at a time.
type podListing struct {
	// byUID holds the cgroups of a UID: more than one while one lingers that the
	// kubelet no longer uses.
	byUID map[string][]*pod
	pods  []Pod // sorted
	// stale: pods may differ from reported, which the last event carried.
	stale    bool
	reported []Pod
}

func newPodListing() podListing { return podListing{byUID: map[string][]*pod{}} }

func (l *podListing) add(p *pod) { l.byUID[p.uid] = append(l.byUID[p.uid], p) }

func (l *podListing) remove(p *pod) {
	p.present = false
	rest := slices.DeleteFunc(l.byUID[p.uid], func(q *pod) bool { return q == p })
	l.byUID[p.uid] = rest
	if len(rest) == 0 {
		delete(l.byUID, p.uid)
	}
	l.update(p)
}

// update lists the UID of p as its cgroups are now: as the one that has come
// farthest, running above all.
func (l *podListing) update(p *pod) {
	best, present := Pod{UID: p.uid}, false
	for _, q := range l.byUID[p.uid] {
		if q.present && (!present || isAhead(q.state, best)) {
			best, present = q.state, true
		}
	}
	at, listed := slices.BinarySearchFunc(l.pods, best, Pod.compare)
	switch {
	case present && listed:
		l.pods[at] = best
	case present:
		l.pods = slices.Insert(l.pods, at, best)
	case listed:
		l.pods = slices.Delete(l.pods, at, at+1)
	}
	l.stale = true
}

func isAhead(p, q Pod) bool {
	if running := p.State == PodRunning; running != (q.State == PodRunning) {
		return running
	}
	return p.Starts > q.Starts
}

// changed returns the pods, for the caller to keep, if they differ from those that
// it returned last.
func (l *podListing) changed() (pods []Pod, ok bool) {
	if !l.stale {
		return nil, false
	}
	l.stale = false
	if slices.Equal(l.pods, l.reported) {
		return nil, false
	}
	l.reported = append(l.reported[:0], l.pods...)
	return slices.Clone(l.pods), true
}
