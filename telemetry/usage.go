package telemetry

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ErrNoPodUsage is that the cgroups hold no kubelet's pods to read.
var ErrNoPodUsage = errors.New("no pods to read the usage of")

// PodReading is what a pod, or one of its containers, has taken by the time of a
// reading. Times and counts are sums since its cgroup was made.
type PodReading struct {
	UID string
	// Container is the ID of the container, empty for the pod as a whole.
	Container string
	// Age is the time since the cgroup appeared. If Older, it was there before
	// PodUsage, which does not know its age: the time since it was first seen.
	Age   time.Duration
	Older bool
	// Ended: no container is left, and this is the pod's last reading.
	Ended bool

	// NoCPU: what it took of the CPU could not be read, and NoMemory, of memory. The fields
	// of these are 0 then, and unknown. A pod of which neither could be read, or in whose
	// cgroup no process has ever run, has no reading.
	NoCPU, NoMemory bool
	// CPU is the CPU time used. Stalled is the time in which at least one task
	// waited for a CPU, known only if Pressure. Usage and waiting are demand: what it
	// would take if cores were free, or less, since several that wait count once.
	CPU, Stalled time.Duration
	Pressure     bool
	// Throttled is the time, summed over CPUs, in which its CPU limit held it up, in
	// ThrottledPeriods of all Periods. On cgroup v1, that it has a limit is known up to a
	// minute late, and at the end, where it began without; and without pressure from an age of
	// 5 s on, or at the end.
	Throttled                 time.Duration
	Periods, ThrottledPeriods uint64
	// Memory is what it holds that the machine can't reclaim, MemoryPeak the most
	// of it, in bytes. While the kernel's own peak stays and no container goes, Memory and
	// OOMKills are as they were up to a minute ago, but for a reading at 5 s.
	Memory, MemoryPeak uint64
	// MemoryStalled is the time in which at least one task waited for memory, known only
	// if MemoryPressure, and as it was up to a minute ago: from a minute on, and at the end of
	// a pod so old.
	MemoryStalled  time.Duration
	MemoryPressure bool
	// OOMKills counts processes killed for its memory; 0 on cgroup v1, which does
	// not tell those of a whole pod.
	OOMKills uint64
}

// Usage is what a [PodUsage] has read. It is reused by the next reading.
type Usage struct {
	// At is the time of the reading, as ReadTo was told.
	At time.Time
	// Pods are the readings that were due, a pod's own ahead of its containers'.
	Pods []PodReading
	// Failed are files of pods that could not be read: of what they tell, nothing is known
	// until they are read again when the pod is due next.
	Failed []error
	// Untracked is how many pods there are beyond those that are followed.
	Untracked int
}

// maxUsagePods bounds the pods that are followed, and with them the open files: nine
// times what a kubelet takes by default.
const maxUsagePods = 1024

// maxUsageReads bounds the pods of one reading, which holds up a sample.
const maxUsageReads = 64

// A pod is read at these ages, then each period and a part of usageJitter by its UID, so
// that pods of one age spread.
var usageAges = [...]time.Duration{time.Second, 2 * time.Second, 5 * time.Second}

const (
	usagePeriod = 10 * time.Second
	usageJitter = .1
	// usageEarly is how much earlier than that a pod is read along with one that is due.
	// What a reading runs through is in no cache between two samples: to read one pod
	// costs as much as to read three.
	usageEarly = time.Second
	// usageRetry and usagePatience are how often and for how long the cgroup of a
	// pod that was told of is looked for.
	usageRetry = time.Second
	// usageNever is when a pod that has ended is due, unless its containers change.
	usageNever    = 24 * time.Hour
	usagePatience = 2 * time.Minute
)

// PodUsage reads what pods take from their cgroups, on cgroup v1, v2 and hybrid, for
// the cgroupfs and the systemd driver. Tell it of pods with Observe and call ReadTo at
// any time that suits, at best several times a second: it reads those pods that are
// due. They are at an age of 1, 2 and 5 s, then every 10 s or so, those that are due
// within a second together, whenever a container's cgroup goes and once when the last
// one has gone; those that were there before it at once and then every 10 s. The pod's
// own cgroup outlives it by seconds and its counters are sums, so that a pod that ran for
// a tenth of a second is measured too. Pods that it was not told of it finds itself, up to
// CgroupConfig.Rescan late.
//
// A pod's own cgroup is always read, a container's in pods with more than one; they
// are told from the sandbox by the names of their processes, and where those can't be
// read containers are not. Of a pod whose one container had gone the last reading is the
// one made then: it has nothing but its sandbox since.
//
// Files stay open. All of memory is read before any of the CPU: each makes the kernel
// sum up its statistics. That of a pod whose peak of memory stays is read at its first
// reading, at 5 s and once a minute, and otherwise the peak alone. A reading of pods that
// are known allocates nothing. PodUsage is for one goroutine.
type PodUsage struct {
	config   CgroupConfig
	buffer   usageBuffer
	found    bool
	classes  []string
	pods     []*usagePod // by UID
	awaited  map[string]*usageWait
	heard    uint64 // calls of Observe
	rescanAt time.Time
	// wakeAt is when the first pod is due.
	wakeAt    time.Time
	untracked int
	due       []*usagePod
	listed    bool
	// sandboxes: the runtime puts a sandbox beside the containers of a pod, by what was listed
	// last.
	sandboxes bool
	// node and tree are read for ReadCPUTo alone; node is nil before. inUse is that
	// ReadTo is called, which ends pods.
	node  *nodeCPU
	tree  usageGroup
	inUse bool
}

// usageWait is a pod that was told of, the cgroup of which is yet to be found. That is soon
// enough when its first reading is due, or it ends: what it took until then it keeps.
type usageWait struct {
	told         Pod
	since, tryAt time.Time
	// tried: it was looked for in vain. gone: the pod source no longer knows it.
	tried, gone bool
	// heard is the last call of Observe that told of it.
	heard uint64
}

// NewPodUsage returns a reader of the tree of c. The error is a *FieldError, or that
// of a root which can't be read. Nothing is open before the first ReadTo.
func NewPodUsage(c CgroupConfig) (*PodUsage, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	if _, err := os.ReadDir(c.Root); err != nil {
		return nil, err
	}
	return &PodUsage{config: c, buffer: usageBuffer{text: make([]byte, 8<<10)}, awaited: map[string]*usageWait{}}, nil
}

// Close closes the files. A later ReadTo opens them anew.
func (u *PodUsage) Close() error {
	for _, p := range u.pods {
		p.close()
	}
	u.tree.close()
	u.buffer.layout.close()
	if u.node != nil {
		u.node.close()
	}
	return nil
}

// Observe takes what a [PodSource] says: all pods by UID, sorted. A pod that it is the
// first to tell of has its age from then on.
func (u *PodUsage) Observe(at time.Time, pods []Pod) {
	u.heard++
	i := 0
	for _, pod := range pods {
		for ; i < len(u.pods) && u.pods[i].uid < pod.UID; i++ {
			u.observeGone(u.pods[i], at)
		}
		if i < len(u.pods) && u.pods[i].uid == pod.UID {
			if p := u.pods[i]; p.told != pod {
				u.observeChange(p, pod, at)
			}
			i++
			continue
		}
		u.observeAwaited(pod, at)
	}
	for ; i < len(u.pods); i++ {
		u.observeGone(u.pods[i], at)
	}
	for _, a := range u.awaited {
		if a.heard != u.heard && !a.gone {
			a.told, a.gone = Pod{}, true
			u.seek(a, at)
		}
	}
}

// observeAwaited hears of a pod that is not followed.
func (u *PodUsage) observeAwaited(pod Pod, at time.Time) {
	a := u.awaited[pod.UID]
	if a == nil {
		if !u.listed {
			return
		}
		a = &usageWait{since: at}
		u.awaited[pod.UID] = a
		u.seek(a, at.Add(usageAges[0]))
	}
	a.told, a.gone, a.heard = pod, false, u.heard
	if pod.State == PodStopped {
		u.seek(a, at)
	}
}

// seek has a pod looked for at a time, unless it is earlier.
func (u *PodUsage) seek(a *usageWait, at time.Time) {
	if a.tryAt.IsZero() || at.Before(a.tryAt) {
		a.tryAt = at
	}
	u.wake(a.tryAt)
}

func (u *PodUsage) observeChange(p *usagePod, now Pod, at time.Time) {
	starts := p.told.UID != "" && p.told.State == PodPending && now.State == PodRunning && !p.ended
	stops := !p.ended && u.hasOne(p) && p.told.State == PodRunning && now.State == PodStopped && now.Starts == 1
	p.told, p.toldGone, p.rests = now, false, false
	switch {
	case starts:
		p.started = true
		return
	case stops: // it is as if its one container's cgroup had gone
		p.next = at
	default:
		p.changed = true
	}
	u.wake(at)
}

func (u *PodUsage) observeGone(p *usagePod, at time.Time) {
	if p.told == (Pod{}) {
		return
	}
	p.told, p.toldGone = Pod{}, true
	if p.rests {
		p.next, p.ended = at, true
	} else {
		p.changed = true
	}
	u.wake(at)
}

func (u *PodUsage) wake(at time.Time) {
	if at.Before(u.wakeAt) {
		u.wakeAt = at
	}
}

// ReadTo reads the pods that are due into dst, the slices of which it uses again. The
// error wraps ErrNoPodUsage while there is no kubelet's tree; what can't be read of a
// pod is in dst.Failed.
func (u *PodUsage) ReadTo(dst *Usage, at time.Time) error {
	dst.At, dst.Pods, dst.Failed = at, dst.Pods[:0], dst.Failed[:0]
	u.inUse = true
	if !at.Before(u.rescanAt) {
		u.rescan(at)
	}
	dst.Untracked = u.untracked
	if !u.found {
		return fmt.Errorf("telemetry: %w below %s", ErrNoPodUsage, u.config.Root)
	}
	if at.Before(u.wakeAt) {
		return nil
	}
	u.findAwaited(at, false)
	u.collect(at)
	// All memory first, into the readings of dst that all CPU times then complete.
	for _, p := range u.due {
		p.first, p.group.whole = len(dst.Pods), p.ended || u.hasStopped(p) && !p.rests
		dst.Pods = p.appendReadings(dst.Pods, at)
		p.failed = u.read(dst, p, (*usageBuffer).memory)
	}
	for _, p := range u.due {
		if p.failed == nil {
			p.failed = u.read(dst, p, (*usageBuffer).cpu)
		}
	}
	u.finish(dst, at)
	return nil
}

// read completes the readings of a pod by one kind of file. It returns what says that the
// pod's cgroup has gone.
func (u *PodUsage) read(dst *Usage, p *usagePod, kind func(*usageBuffer, *usageGroup, *PodReading) error) error {
	if p.gone || p.isToldAgain() {
		return nil
	}
	readings := dst.Pods[p.first : p.first+p.readings]
	err := kind(&u.buffer, &p.group, &readings[0])
	if vanished(err) {
		return err
	}
	dst.fail(err)
	i := 1
	for _, c := range p.containers {
		if !c.measured {
			continue
		}
		if err := kind(&u.buffer, &c.group, &readings[i]); vanished(err) {
			p.changed = true // it went between listing and reading
			readings[i].Container = goneContainer
		} else {
			dst.fail(err)
		}
		i++
	}
	return nil
}

// fail keeps an error that costs a part of a reading.
func (u *Usage) fail(err error) {
	if err != nil {
		u.Failed = append(u.Failed, err)
	}
}

// isUnknown reports whether a reading tells nothing. A cgroup that has used no CPU time
// since it was made never had a process: what its pod takes is taken elsewhere, if at all.
func (r *PodReading) isUnknown() bool {
	if r.NoCPU {
		return r.NoMemory
	}
	return r.CPU == 0
}

// goneContainer marks a reading to be left out.
const goneContainer = "-"

// collect finds the pods that are due, and looks again at the containers of those that
// changed. If there are any, pods that are due soon are read along, as far as there is
// room.
func (u *PodUsage) collect(at time.Time) {
	u.due = u.due[:0]
	for _, p := range u.pods {
		if len(u.due) == maxUsageReads {
			return
		}
		if p.changed || p.started && !p.next.After(at) {
			u.look(p, at)
		}
		if !p.next.After(at) {
			u.due = append(u.due, p)
		}
	}
	if len(u.due) == 0 {
		return
	}
	for _, p := range u.pods {
		if len(u.due) == maxUsageReads {
			return
		}
		if p.next.After(at) && !p.along.After(at) {
			if p.started {
				u.look(p, at)
			}
			u.due = append(u.due, p)
		}
	}
}

// finish keeps the readings that are whole, says when each pod is due next and forgets
// those that are gone.
func (u *PodUsage) finish(dst *Usage, at time.Time) {
	kept := dst.Pods[:0]
	for _, p := range u.due {
		readings := dst.Pods[p.first : p.first+p.readings]
		switch {
		case p.failed != nil:
			p.gone = true
		case !p.gone && readings[0].isUnknown():
			if p.ended && p.seen {
				kept = append(kept, p.lastAgain(at))
			}
			if p.told.State == PodRunning && !readings[0].NoCPU && at.Sub(p.since) >= probeUntil {
				dst.fail(fmt.Errorf("telemetry: %w for %v: %s", ErrUnseenPods, probeUntil, filepath.Join(u.buffer.layout.top, p.group.rel)))
			}
			p.endTold = p.ended
			p.schedule(at)
			continue
		}
		if p.gone {
			if p.seen && !p.endTold {
				kept = append(kept, p.lastAgain(at))
			}
			continue
		}
		for _, r := range readings {
			if r.Container != goneContainer && !r.isUnknown() {
				kept = append(kept, r)
			}
		}
		p.last, p.seen = readings[0], true
		p.endTold, p.rests = p.ended, u.hasStopped(p)
		p.schedule(at)
	}
	dst.Pods = kept
	u.dropGone(func(p *usagePod) bool { return p.gone })
	u.setWake(at)
}

// dropGone forgets pods.
func (u *PodUsage) dropGone(isGone func(*usagePod) bool) {
	u.pods = slices.DeleteFunc(u.pods, func(p *usagePod) bool {
		gone := isGone(p)
		if gone {
			p.close()
		}
		return gone
	})
}

func (u *PodUsage) setWake(at time.Time) {
	u.wakeAt = at.Add(usagePeriod)
	for _, p := range u.pods {
		switch {
		case p.changed:
			u.wake(at)
		case p.next.Before(u.wakeAt):
			u.wakeAt = p.next
		}
	}
	for _, a := range u.awaited {
		u.wake(a.tryAt)
	}
}

// rescan reads the whole tree, in case something was not told.
func (u *PodUsage) rescan(at time.Time) {
	u.rescanAt = at.Add(u.config.Rescan)
	u.findTree(at)
	if !u.found {
		u.rescanAt = at.Add(usagePeriod)
		return
	}
	u.classes = u.buffer.layout.classes()
	u.untracked = 0
	for _, p := range u.pods {
		p.there = false
	}
	for _, class := range u.classes {
		for _, name := range directories(filepath.Join(u.buffer.layout.top, class)) {
			if uid, ok := podUID(name); ok {
				u.add(uid, filepath.Join(class, name), at, u.awaited[uid] == nil)
			}
		}
	}
	u.dropGone(func(p *usagePod) bool { return !p.there && p.endTold })
	for _, p := range u.pods {
		p.changed = p.changed || !u.hasOne(p)
	}
	u.listed = true
	u.wakeAt = at
}

// findTree looks for the kubelet's tree unless it is known and has containers; one without may
// be another's.
func (u *PodUsage) findTree(at time.Time) {
	top, use := u.buffer.layout.top, treeEmpty
	known := u.found && exists(top)
	if known {
		use = useOf(top)
	}
	if use == treeContainers {
		return
	}
	tree, found, _ := findKubelet(u.config.Root)
	if known && (!found || tree.use <= use || top == filepath.Join(u.config.Root, tree.hierarchy, tree.rel)) {
		return
	}
	_ = u.Close()
	u.pods, u.wakeAt, u.found = nil, at, found
	if found {
		u.buffer.layout, u.tree = newUsageLayout(u.config.Root, tree.hierarchy, tree.rel), usageGroup{}
	}
}

// findAwaited looks for the cgroups of pods that were told of, where it is time to or, if
// early, ahead of that.
func (u *PodUsage) findAwaited(at time.Time, early bool) {
	for uid, a := range u.awaited {
		if at.Before(a.tryAt) && (a.tried || !early) {
			continue
		}
		a.tryAt, a.tried = at.Add(usageRetry), true
		u.find(uid, a, at)
		if a.gone || at.Sub(a.since) >= usagePatience {
			delete(u.awaited, uid)
		}
	}
}

// find looks for the cgroup of a pod: in the class first in which the one before was. Where
// it has containers to look for that tells them, too.
func (u *PodUsage) find(uid string, a *usageWait, at time.Time) {
	lists := u.lists(a.told)
	for i, class := range u.classes {
		rel := u.buffer.layout.podDirectory(class, uid)
		dir := u.buffer.layout.top + "/" + rel
		var names []string
		if lists {
			var err error
			if names, err = directoriesIn(dir); err != nil {
				continue
			}
		} else if !exists(dir) {
			continue
		}
		p := u.add(uid, rel, a.since, false)
		if p != nil && lists {
			u.setContainers(p, names, at)
		}
		if p != nil && a.told.State == PodStopped { // its cgroup may not be there much longer
			p.next = at
		}
		u.classes[0], u.classes[i] = u.classes[i], u.classes[0]
		return
	}
}

// lists says whether the containers of a pod that begins are to be looked for: not before
// one has started, nor, beside sandboxes, while one alone has. Others will be told.
func (u *PodUsage) lists(told Pod) bool {
	return told.UID == "" || told.State != PodPending && (told.Starts != 1 || !u.sandboxes)
}

// add begins to follow a pod, unless it is followed or there are too many: then it returns
// nil.
func (u *PodUsage) add(uid, rel string, since time.Time, older bool) *usagePod {
	var told Pod
	gone := false
	if a := u.awaited[uid]; a != nil {
		since, told, gone = a.since, a.told, a.gone
		delete(u.awaited, uid)
	}
	i, known := slices.BinarySearchFunc(u.pods, uid, func(p *usagePod, uid string) int { return compareUID(p.uid, uid) })
	switch {
	case known:
		u.pods[i].there = true
		return nil
	case len(u.pods) >= maxUsagePods:
		u.untracked++
		return nil
	}
	p := newUsagePod(uid, rel, since, older)
	p.told, p.toldGone = told, gone
	p.changed = u.lists(told)
	u.pods = slices.Insert(u.pods, i, p)
	return p
}

func compareUID(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// phaseOf is in [0,1), by the UID.
func phaseOf(uid string) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	return float64(h.Sum32()) / (1 << 32)
}
