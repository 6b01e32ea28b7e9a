package telemetry

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// usagePod is a pod that is followed. What each reading asks of all pods is together.
type usagePod struct {
	next time.Time
	// along is from when on it is read along with a pod that is due; never before next
	// where the age of a reading matters.
	along time.Time
	// changed: containers may have come or gone since they were listed.
	changed bool
	// started: its first container has started, which the next reading is soon enough
	// to look for.
	started bool
	// gone: its cgroup has gone. there: it was when the tree was read last.
	gone, there bool

	uid   string
	group usageGroup
	since time.Time
	older bool
	// period is from one reading to the next once the pod is not young.
	period time.Duration
	// told is what the pod source said last, toldGone that it no longer knows the pod.
	told     Pod
	toldGone bool
	// listed: containers are those that there were at some time since the pod began.
	listed     bool
	containers []*usageContainer // by name
	// rests: its one container had gone when it was read last, and none has come since.
	rests bool
	// ended: the last container has gone. endTold: a reading has said so.
	ended, endTold bool
	// last is its last reading, if seen.
	seen bool
	last PodReading

	// Of the reading that is under way.
	first, readings int
	failed          error
}

// usageContainer is a container's cgroup of a pod.
type usageContainer struct {
	name  string
	group usageGroup
	kind  usageKind
	// measured: the containers of its pod are read, and it is none of the runtime's.
	measured bool
	// id is that of name.
	id string
}

// usageKind is what a container's processes say it is.
type usageKind int

const (
	unknownKind usageKind = iota // no process yet
	sandboxKind
	workKind
	hiddenKind // processes without a readable name
)

func newUsagePod(uid, rel string, since time.Time, older bool) *usagePod {
	p := &usagePod{
		uid: uid, group: usageGroup{rel: rel}, since: since, older: older, changed: true, there: true,
		period: time.Duration((1 + usageJitter*phaseOf(uid)) * float64(usagePeriod)),
	}
	if p.next = since; !older {
		p.next = since.Add(usageAges[0])
	}
	p.along = p.next
	return p
}

func (p *usagePod) close() {
	p.group.close()
	for _, c := range p.containers {
		c.group.close()
	}
}

// schedule says when the pod is due after a reading.
func (p *usagePod) schedule(at time.Time) {
	p.next = at.Add(p.period)
	p.along = p.next.Add(-usageEarly)
	if p.ended {
		p.close()
		p.next = at.Add(usageNever)
		p.along = p.next
	}
	if p.older || p.ended {
		return
	}
	for _, age := range usageAges {
		if due := p.since.Add(age); due.After(at) {
			p.next, p.along = due, due
			return
		}
	}
}

// appendReadings adds a reading of the pod and one of each container that is read.
func (p *usagePod) appendReadings(dst []PodReading, at time.Time) []PodReading {
	p.readings = 1
	if p.isToldAgain() {
		return append(dst, p.lastAgain(at))
	}
	r := PodReading{UID: p.uid, Age: max(0, at.Sub(p.since)), Older: p.older, Ended: p.ended}
	dst = append(dst, r)
	for _, c := range p.containers {
		if c.measured {
			r.Container = c.id
			dst = append(dst, r)
			p.readings++
		}
	}
	return dst
}

// isToldAgain says that the pod's last reading needs no file: it tells what the one before did.
func (p *usagePod) isToldAgain() bool { return p.ended && p.rests }

// lastAgain is the pod's last reading once more, as that at its end.
func (p *usagePod) lastAgain(at time.Time) PodReading {
	r := p.last
	r.Age, r.Ended = max(0, at.Sub(p.since)), true
	return r
}

// look lists the containers of a pod that changed, unless its first has started and tells
// enough.
func (u *PodUsage) look(p *usagePod, at time.Time) {
	if !p.changed && !p.listed && !u.lists(p.told) {
		p.started = false
		return
	}
	u.listContainers(p, at)
}

// listContainers looks which containers a pod has. One that went makes a reading due,
// and the last one the last: but CRI-O's pods have no sandbox, so that between two
// containers there is none.
func (u *PodUsage) listContainers(p *usagePod, at time.Time) {
	names, err := directoriesIn(u.buffer.layout.top + "/" + p.group.rel)
	if err != nil {
		p.changed, p.started, p.listed = false, false, true
		p.gone, p.next = true, at
		return
	}
	u.setContainers(p, names, at)
}

// setContainers hears which containers a pod has.
func (u *PodUsage) setContainers(p *usagePod, names []string, at time.Time) {
	p.changed, p.started, p.listed = false, false, true
	before, crio := len(p.containers), false
	p.containers = slices.DeleteFunc(p.containers, func(c *usageContainer) bool {
		crio = crio || isCRIO(c.name)
		there := slices.Contains(names, c.name)
		if !there {
			c.group.close()
		}
		return !there
	})
	if len(p.containers) < before {
		p.next, p.group.memoryAt = at, 0
		p.ended = len(p.containers) == 0 && !crio
	}
	if !p.ended && p.toldGone && len(p.containers) == 0 {
		p.next, p.ended = at, true
	}
	for _, name := range names {
		if isContainer(name) {
			u.sandboxes = !isCRIO(name)
		}
		known := slices.ContainsFunc(p.containers, func(c *usageContainer) bool { return c.name == name })
		if isContainer(name) && !known {
			p.containers = append(p.containers, &usageContainer{
				name: name, id: containerID(name), group: usageGroup{rel: filepath.Join(p.group.rel, name)},
			})
			if p.ended { // a new sandbox: what was taken so far has been told
				p.ended, p.older, p.next = false, true, at
			}
		}
	}
	u.choose(p)
}

// choose says which containers are read: all but the sandbox where there are two or
// more.
func (u *PodUsage) choose(p *usagePod) {
	if u.hasOne(p) {
		for _, c := range p.containers {
			c.measured = false
		}
		return
	}
	work := 0
	for _, c := range p.containers {
		if c.kind == unknownKind {
			c.kind = u.kindOf(c)
		}
		if c.kind == workKind {
			work++
		}
	}
	for _, c := range p.containers {
		c.measured = c.kind == workKind && work > 1
	}
}

// hasOne says whether it is known without a look at processes that one container works
// at most: of two that a runtime with sandboxes made, where one has started. What becomes
// of it is told.
func (u *PodUsage) hasOne(p *usagePod) bool {
	if !p.listed {
		return p.told.Starts == 1 && u.sandboxes
	}
	return p.told.Starts == 1 && len(p.containers) <= 2 &&
		!slices.ContainsFunc(p.containers, func(c *usageContainer) bool { return isCRIO(c.name) })
}

// hasStopped says that the one container of a pod has come and gone.
func (u *PodUsage) hasStopped(p *usagePod) bool {
	return p.told.State == PodStopped && u.hasOne(p)
}

// kindOf looks at the first process of a container.
func (u *PodUsage) kindOf(c *usageContainer) usageKind {
	pid := u.firstIn(filepath.Join(u.buffer.layout.top, c.group.rel), maxNested)
	if pid == "" {
		return unknownKind
	}
	comm, err := u.buffer.first(filepath.Join(u.config.ProcRoot, pid, "comm"))
	switch name := string(bytes.TrimSpace(comm)); {
	case os.IsPermission(err) || pid == "0":
		return hiddenKind
	case err != nil || isRuntime(name):
		return unknownKind // it ended, or is to become the container's
	case isPause(name, c.name):
		return sandboxKind
	}
	return workKind
}

// firstIn returns the first process of a cgroup or, if it has none, of those below it.
func (u *PodUsage) firstIn(dir string, depth int) string {
	text, err := u.buffer.first(filepath.Join(dir, "cgroup.procs"))
	if line, _, ok := bytes.Cut(text, []byte("\n")); err == nil && ok {
		return string(line)
	}
	if depth > 0 {
		for _, name := range directories(dir) {
			if pid := u.firstIn(filepath.Join(dir, name), depth-1); pid != "" {
				return pid
			}
		}
	}
	return ""
}
