package telemetry

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"time"
)

// usageState is the state of a pod that PodUsage knows. An event is followed by a
// transition at once; what it emits is in the readings of the next ReadTo. The events are:
//
//   - reported: Observe lists the pod, or lists it with another state or number of starts;
//     dropped: Observe lists it no longer;
//   - found: its cgroup is there, by a scan of the tree or where it was sought;
//   - container gone, new container: by listing its cgroup's directories;
//   - due: its time has come in a ReadTo;
//   - vanished: a file or a listing fails because the cgroup was removed.
//
// The transitions, each state's in the order in which they are tried:
//
//	state    event                           next state  emitted
//	none     reported, after the first scan  awaited
//	none     found by a scan                 live        a reading at once, AgeUnknown
//	awaited  due and found                   live        a reading at an age of 1 s; at once of
//	                                                     a pod that is reported as stopped
//	awaited  due and not found               awaited, or none once it is dropped or after 2 min
//	live     due                             live        a reading of it and its containers
//	live     due, reported as stopped, and   stopped     a reading that leaves nothing out
//	         it had one container
//	live     container gone                  live        a reading at once
//	live     last container gone             ending
//	live     all containers replaced         live        a reading at once, AgeUnknown
//	live     dropped, no container is left   ending
//	stopped  due                             stopped     a reading
//	stopped  reported otherwise              live
//	stopped  dropped                         ended       the reading before once more, Ended
//	ending   due, as it is at once           ended       a reading, Ended; if its files have
//	                                                     nothing, the one before once more
//	ended    not found by a scan, vanished   none
//	ended    new container                   live        a reading at once, AgeUnknown
//	any      vanished                        none        the reading before once more, Ended
//
// An awaited pod is due when it is 1 s old, when it is reported as stopped or dropped, and
// 1 s after each search. A pod of CRI-O has no sandbox: it has no container between two, so
// that it ends only once it is dropped. A stopped pod has its sandbox alone, which its last
// reading leaves out. An ended pod is kept, with its files closed, while its cgroup is there:
// a scan would take it for a new one.
type usageState uint8

const (
	usageAwaited usageState = iota // a source reported it, and its cgroup is sought
	usageLive                      // it is read when it is due
	usageStopped                   // its one container had gone when it was read last
	usageEnding                    // no container is left, and its last reading is due
	usageEnded                     // its last reading was emitted
)

// podDropped is the state of a pod that a source has reported and reports no longer.
const podDropped PodState = 255

// usageLook is when the containers of a pod are listed next.
type usageLook uint8

const (
	lookNever   usageLook = iota // none has come or gone
	lookWhenDue                  // the first has started; an awaited pod was not sought yet
	lookNow                      // some may have come or gone
)

// A pod is read at these ages, then each period and a part of usageJitter by its UID, so
// that pods of one age spread.
var usageAges = [...]time.Duration{time.Second, 2 * time.Second, usageYoung}

const (
	usageYoung  = 5 * time.Second
	usagePeriod = 10 * time.Second
	usageJitter = .1
	// usageEarly is how much earlier than that a pod is read along with one that is due.
	// What a reading runs through is in no cache between two samples: to read one pod
	// costs as much as to read three.
	usageEarly = time.Second
	// usageNever is when a pod that has ended is due.
	usageNever = time.Duration(1 << 62)
)

// usagePod is a pod that is awaited or followed. What each reading asks of all pods is
// together.
type usagePod struct {
	// next is when it is due: to be read or, while it is awaited, to be sought.
	next  time.Time
	state usageState
	look  usageLook
	older bool

	uid   string
	since time.Time
	group usageGroup
	// period is from one reading to the next once the pod is not young.
	period time.Duration
	// reported is the pod as a source reported it last; it has no UID before that.
	reported Pod
	// scan is the last scan that found its cgroup.
	scan int
	// containers are those that there were when they were listed last; nil before.
	// measured are those of them that are read.
	containers, measured []*usageContainer
	// last is its last reading; it has no UID before that and once the pod has ended.
	last PodReading

	// first is where its readings begin in the reading under way, and vanished why its cgroup
	// is known to have gone.
	first    int
	vanished error
}

func newUsagePod(uid string, since time.Time) *usagePod {
	return &usagePod{
		uid: uid, since: since, next: since.Add(usageAges[0]), look: lookWhenDue,
		period: time.Duration((1 + usageJitter*phaseOf(uid)) * float64(usagePeriod)),
	}
}

// phaseOf is in [0,1), by the UID.
func phaseOf(uid string) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	return float64(h.Sum32()) / (1 << 32)
}

func (p *usagePod) close() {
	p.group.close()
	for _, c := range p.containers {
		c.group.close()
	}
}

func (p *usagePod) isDue(at time.Time) bool { return !p.next.After(at) }

// isDueSoon reports whether a pod may be read along with one that is due: never where the age
// of its reading matters.
func (p *usagePod) isDueSoon(at time.Time) bool {
	return p.state != usageAwaited && (p.older || p.next.Sub(p.since) > usageYoung) && !p.next.Add(-usageEarly).After(at)
}

// isRepeated reports whether the reading before is emitted once more as the pod's last,
// without a look at its files.
func (p *usagePod) isRepeated() bool {
	return p.state == usageStopped && p.reported.State == podDropped
}

// hasStopped reports whether the one container of a pod has come and gone.
func (u *PodUsage) hasStopped(p *usagePod) bool {
	return p.reported.State == PodStopped && u.hasOne(p)
}

// isFinal reports whether a reading has to leave nothing out, as no other may follow.
func (u *PodUsage) isFinal(p *usagePod) bool {
	return p.state == usageEnding || p.state == usageLive && u.hasStopped(p)
}

// observe takes a pod as a source reports it, or that it was dropped.
func (u *PodUsage) observe(p *usagePod, now Pod, at time.Time) {
	before := p.reported
	if now == before {
		return
	}
	p.reported = now
	switch {
	case p.state == usageAwaited:
		if now.State == PodStopped || now.State == podDropped {
			p.next = at
		}
		u.wake(p.next)
		return
	case p.state == usageStopped && now.State == podDropped:
		p.next = at
	case p.state == usageLive && before.UID != "" && before.State == PodPending && now.State == PodRunning:
		p.look = max(p.look, lookWhenDue)
		return
	case p.state == usageLive && before.State == PodRunning && before.Starts == 1 && u.hasStopped(p):
		p.next = at // it is as if its one container's cgroup had gone
	default:
		p.look = lookNow
	}
	if p.state == usageStopped && now.State != podDropped {
		p.state = usageLive
	}
	u.wake(at)
}

// observeDropped takes that a source does not report a pod, if it ever did.
func (u *PodUsage) observeDropped(p *usagePod, at time.Time) {
	if p.reported.UID != "" {
		u.observe(p, Pod{UID: p.uid, State: podDropped}, at)
	}
}

// follow begins to read a pod whose cgroup was found.
func (u *PodUsage) follow(p *usagePod, rel string, at time.Time) {
	u.followed++
	p.state, p.group.rel, p.look = usageLive, rel, lookNever
	if u.lists(p.reported) {
		p.look = lookNow
	}
	p.next = p.since.Add(usageAges[0])
	if p.older || p.reported.State == PodStopped { // its cgroup may not be there much longer
		p.next = at
	}
}

// appendReadings adds a reading of the pod and one of each container that is read.
func (p *usagePod) appendReadings(dst []PodReading, at time.Time) []PodReading {
	r := PodReading{UID: p.uid, Age: max(0, at.Sub(p.since)), AgeUnknown: p.older, Ended: p.state == usageEnding}
	dst = append(dst, r)
	for _, c := range p.measured {
		r.Container = c.id
		dst = append(dst, r)
	}
	return dst
}

// finish adds those of a pod's readings that show something to the kept ones, and moves it
// to its next state.
func (u *PodUsage) finish(kept []PodReading, dst *Usage, p *usagePod, at time.Time) []PodReading {
	readings := dst.Pods[p.first : p.first+1+len(p.measured)]
	r := readings[0]
	ends := p.vanished != nil || p.state == usageEnding || p.isRepeated()
	switch known := p.vanished == nil && !p.isRepeated() && !r.isUnknown(); {
	case known:
		p.last = r
		for _, r := range readings {
			if r.Container != goneContainer && !r.isUnknown() {
				kept = append(kept, r)
			}
		}
		if p.state = usageLive; u.hasStopped(p) {
			p.state = usageStopped
		}
	case ends && p.last.UID != "":
		p.last.Age, p.last.Ended = r.Age, true
		kept = append(kept, p.last)
	}
	if p.vanished == nil && !r.NoCPU && r.CPU == 0 && p.reported.State == PodRunning && r.Age >= probeUntil {
		dst.fail(fmt.Errorf("telemetry: %w for %v: %s", ErrUnseenPods, probeUntil, filepath.Join(u.buffer.layout.top, p.group.rel)))
	}
	if ends {
		p.close()
		p.state, p.last, p.next = usageEnded, PodReading{}, at.Add(usageNever)
	} else {
		p.schedule(at)
	}
	return kept
}

// schedule sets when the pod is due after a reading.
func (p *usagePod) schedule(at time.Time) {
	p.next = at.Add(p.period)
	if p.older {
		return
	}
	for _, age := range usageAges {
		if due := p.since.Add(age); due.After(at) {
			p.next = due
			return
		}
	}
}

// usageContainer is a container's cgroup of a pod.
type usageContainer struct {
	name string
	// id is that in the name.
	id    string
	group usageGroup
	// stage is what its processes say it is.
	stage stage
}

func (c *usageContainer) isCRIO() bool { return isCRIO(c.name) }

// list looks which containers a pod has, unless its first one has started and more need not
// be known.
func (u *PodUsage) list(p *usagePod, at time.Time) {
	if p.look == lookWhenDue && p.containers == nil && !u.lists(p.reported) {
		p.look = lookNever
		return
	}
	names, err := directoriesIn(u.buffer.layout.top + "/" + p.group.rel)
	if err != nil {
		p.vanished, p.next = err, at
		return
	}
	u.setContainers(p, names, at)
}

// setContainers takes which containers a pod has. One that went makes a reading due, and the
// last one the last.
func (u *PodUsage) setContainers(p *usagePod, names []string, at time.Time) {
	first, before, crio := p.containers == nil, len(p.containers), slices.ContainsFunc(p.containers, (*usageContainer).isCRIO)
	p.containers = slices.DeleteFunc(p.containers, func(c *usageContainer) bool {
		went := !slices.Contains(names, c.name)
		if went {
			c.group.close()
		}
		return went
	})
	stay := len(p.containers)
	if stay < before && p.state != usageEnded {
		p.next, p.group.memoryAt = at, 0
	}
	for _, name := range names {
		if !isContainer(name) {
			continue
		}
		u.sandboxes = !isCRIO(name)
		if !slices.ContainsFunc(p.containers, func(c *usageContainer) bool { return c.name == name }) {
			p.containers = append(p.containers, &usageContainer{
				name: name, id: containerID(name), group: usageGroup{rel: filepath.Join(p.group.rel, name)},
			})
		}
	}
	if p.look = lookNever; p.containers == nil {
		p.containers = []*usageContainer{}
	}
	if first { // a sandbox may have been there before
		stay = 1
	}
	p.conclude(first, len(p.containers) > stay, before > 0 && stay == 0 && !crio, at)
	u.measure(p)
}

// conclude moves a pod to the state that follows from its containers: whether they were listed
// for the first time, whether some came, and whether all that there were before went. Those that
// stay do not bring back a pod that has ended: its sandbox may outlive it.
func (p *usagePod) conclude(first, came, allWent bool, at time.Time) {
	none, dropped, over := len(p.containers) == 0, p.reported.State == podDropped, p.state >= usageEnding
	switch {
	case p.isRepeated():
	case came && (over || allWent): // a new sandbox: what was taken so far has been emitted
		p.state, p.older, p.next, p.group.memoryAt = usageLive, true, at, 0
	case over:
	case none && (allWent || dropped):
		p.state, p.next = usageEnding, at
	case first && dropped: // the rest of it goes soon
		p.next = at
	}
}

// measure chooses the containers that are read: all but the sandbox where there are two or
// more.
func (u *PodUsage) measure(p *usagePod) {
	p.measured = p.measured[:0]
	if u.hasOne(p) {
		return
	}
	for _, c := range p.containers {
		if c.stage == starting {
			c.stage = u.probes.stageOf(filepath.Join(u.buffer.layout.top, c.group.rel), false)
		}
		if c.stage == running {
			p.measured = append(p.measured, c)
		}
	}
	if len(p.measured) == 1 {
		p.measured = p.measured[:0]
	}
}

// hasOne reports whether it is known without a look at processes that one container works
// at most: of two that a runtime with sandboxes made, where one has started. What becomes
// of it is reported.
func (u *PodUsage) hasOne(p *usagePod) bool {
	switch {
	case p.reported.Starts != 1:
		return false
	case p.containers == nil:
		return u.sandboxes
	}
	return len(p.containers) <= 2 && !slices.ContainsFunc(p.containers, (*usageContainer).isCRIO)
}
