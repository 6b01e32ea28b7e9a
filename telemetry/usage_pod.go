package telemetry

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"time"
)

// usageState is how far the readings of a pod have come. Events come from Observe (told,
// dropped), from the search for cgroups and the scan of the tree (found), from listing the
// containers of a pod (container gone, new container), from the clock (due), and from files
// that fail because their cgroup was removed (vanished). What is emitted, the ReadTo that
// follows the event emits.
//
//	state    event                             next      emitted
//	(none)   told, after the first scan        awaited
//	(none)   found by a scan                   live      a reading at once, Older
//	awaited  due: at 1 s, told that it         live if   a reading at once if it stopped,
//	         stopped, dropped; then each 1 s   found     else at an age of 1 s
//	awaited  not found once dropped, or        (none)
//	         for 2 min
//	live     due                               live      a reading of it and its containers
//	live     due, and its one container has    stopped   a reading of it that leaves nothing out
//	         stopped
//	live     container gone                    live      a reading at once
//	live     container gone: the last, but     ending
//	         not CRI-O's
//	live     dropped, and no container is left ending
//	live     dropped, and there are some       live      a reading at once
//	stopped  due                               stopped   a reading
//	stopped  told otherwise                    live
//	stopped  dropped                           ended     the reading before once more, Ended
//	ending   due, which it is at once          ended     a reading, Ended; where its files tell
//	                                                     nothing, the one before once more
//	any      all containers replaced, or some  live      a reading at once, Older
//	         after its end
//	ended    not found by a scan, vanished     (none)
//	others   vanished                          (none)    the reading before once more, Ended
//
// CRI-O's pods have no sandbox, so that between two containers they have none. A pod that
// has stopped has nothing but its sandbox, of which its last reading is to tell nothing. A
// pod that has ended is kept, with its files closed, until its cgroup has gone: it would be
// taken for a new one.
type usageState uint8

const (
	usageAwaited usageState = iota // a source has told of it, and its cgroup is sought
	usageLive                      // it is read when it is due
	usageStopped                   // its one container had gone when it was read last
	usageEnding                    // no container is left, and its last reading is due
	usageEnded                     // its last reading was emitted
)

// podGone is what a source says of a pod that it no longer tells of.
const podGone PodState = 255

// usageLook is when the containers of a pod are listed next.
type usageLook uint8

const (
	lookNever   usageLook = iota // none has come or gone
	lookWhenDue                  // the first has started; of an awaited pod, that its cgroup was not sought yet
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
	// told is what the pod source said last; it has no UID before it said anything.
	told Pod
	// scan is the last scan that found its cgroup.
	scan int
	// containers are those that there were when they were listed last, by name; nil before.
	// measured are those of them that are read.
	containers, measured []*usageContainer
	// last is its last reading, without UID if there is none or it was emitted as Ended.
	last PodReading

	// first is where its readings of the reading under way are; vanished, that its cgroup has.
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
func (p *usagePod) isRepeated() bool { return p.state == usageStopped && p.told.State == podGone }

// hasStopped reports whether the one container of a pod has come and gone.
func (u *PodUsage) hasStopped(p *usagePod) bool {
	return p.told.State == PodStopped && u.hasOne(p)
}

// isFinal reports whether a reading has to leave nothing out, as no other may follow.
func (u *PodUsage) isFinal(p *usagePod) bool {
	return p.state == usageEnding || p.state == usageLive && u.hasStopped(p)
}

// observe takes what a source says of a pod: told, or dropped if it is gone.
func (u *PodUsage) observe(p *usagePod, now Pod, at time.Time) {
	before := p.told
	if now == before {
		return
	}
	p.told = now
	switch {
	case p.state == usageAwaited:
		if now.State == PodStopped || now.State == podGone {
			p.next = at
		}
		u.wake(p.next)
		return
	case p.state == usageStopped && now.State == podGone:
		p.next = at
	case p.state == usageLive && before.UID != "" && before.State == PodPending && now.State == PodRunning:
		p.look = max(p.look, lookWhenDue)
		return
	case p.state == usageLive && before.State == PodRunning && before.Starts == 1 && u.hasStopped(p):
		p.next = at // it is as if its one container's cgroup had gone
	default:
		p.look = lookNow
	}
	if p.state == usageStopped && now.State != podGone {
		p.state = usageLive
	}
	u.wake(at)
}

// observeDropped takes that a source does not tell of a pod, if it ever did.
func (u *PodUsage) observeDropped(p *usagePod, at time.Time) {
	if p.told.UID != "" {
		u.observe(p, Pod{UID: p.uid, State: podGone}, at)
	}
}

// follow begins to read a pod whose cgroup was found.
func (u *PodUsage) follow(p *usagePod, rel string, at time.Time) {
	u.followed++
	p.state, p.group.rel, p.look = usageLive, rel, lookNever
	if u.lists(p.told) {
		p.look = lookNow
	}
	p.next = p.since.Add(usageAges[0])
	if p.older || p.told.State == PodStopped { // its cgroup may not be there much longer
		p.next = at
	}
}

// appendReadings adds a reading of the pod and one of each container that is read.
func (p *usagePod) appendReadings(dst []PodReading, at time.Time) []PodReading {
	r := PodReading{UID: p.uid, Age: max(0, at.Sub(p.since)), Older: p.older, Ended: p.state == usageEnding}
	dst = append(dst, r)
	for _, c := range p.measured {
		r.Container = c.id
		dst = append(dst, r)
	}
	return dst
}

// finish adds those of a pod's readings that tell something to the kept ones, and moves it
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
	if p.vanished == nil && !r.NoCPU && r.CPU == 0 && p.told.State == PodRunning && r.Age >= probeUntil {
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

// schedule says when the pod is due after a reading.
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
