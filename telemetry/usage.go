package telemetry

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNoPodUsage is the cause that PodUsage returns while the cgroups hold no directory of a
// kubelet's pods, or the CPU time of that directory can't be read.
var ErrNoPodUsage = errors.New("no pods to read the usage of")

// PodReading is what a pod, or one of its containers, has taken by the time of a
// reading. Times and counts are sums since its cgroup was made.
type PodReading struct {
	UID string
	// Container is the ID of the container, empty for the pod as a whole.
	Container string
	// Age is the time since the cgroup appeared. If AgeUnknown, it was there before
	// PodUsage, which does not know its age: the time since it was first seen.
	Age        time.Duration
	AgeUnknown bool
	// Ended: no container is left, and this is the pod's last reading.
	Ended bool

	// NoCPU reports that its CPU use could not be read, NoMemory that its memory use could not:
	// the fields of that use are then 0 and mean nothing. A pod of which neither could be read, or
	// in whose cgroup no process has ever run, has no reading.
	NoCPU, NoMemory bool
	// CPU is the CPU time used. Stalled is the time in which at least one task
	// waited for a CPU, known only if Pressure. Usage and waiting are demand: what it
	// would take if cores were free, or less, since several that wait count once.
	CPU, Stalled time.Duration
	Pressure     bool
	// Throttled is the time, summed over CPUs, in which its CPU limit held it up, in
	// ThrottledPeriods of all Periods. On cgroup v1 a limit that is set later shows up to a minute
	// late, and without pressure a pod that PodUsage saw begin has 0 in all three until an age of
	// 5 s or its last reading.
	Throttled                 time.Duration
	Periods, ThrottledPeriods uint64
	// Memory is what it holds that the machine can't reclaim, MemoryPeak the most of it, in bytes.
	// Memory and OOMKills may be a minute old: they are read at an age of 5 s, once a minute, when
	// the kernel's own peak has moved, when a container has gone, and in the last reading.
	Memory, MemoryPeak uint64
	// MemoryStalled is the time in which at least one task waited for memory, known only if
	// MemoryPressure. It is read about once a minute from an age of a minute on, and in the last
	// reading of a pod that has become so old.
	MemoryStalled  time.Duration
	MemoryPressure bool
	// OOMKills counts processes killed for its memory; 0 on cgroup v1, which does
	// not count those of a whole pod.
	OOMKills uint64
}

// isUnknown reports whether nothing is known by a reading. A cgroup that has used no CPU time
// since it was made never had a process: what its pod takes is taken elsewhere, if at all.
func (r *PodReading) isUnknown() bool {
	if r.NoCPU {
		return r.NoMemory
	}
	return r.CPU == 0
}

// Usage is what a [PodUsage] has read. It is reused by the next reading.
type Usage struct {
	// At is the time of the reading, as it was passed to ReadTo.
	At time.Time
	// Pods are the readings that were due, a pod's own ahead of its containers'.
	Pods []PodReading
	// Failed are files of pods that could not be read: of what they hold, nothing is known
	// until they are read again when the pod is due next.
	Failed []error
	// Untracked is how many pods there are beyond those that are followed.
	Untracked int
}

// fail keeps an error that costs a part of a reading.
func (u *Usage) fail(err error) {
	if err != nil {
		u.Failed = append(u.Failed, err)
	}
}

// maxUsagePods bounds the pods that are followed, and with them the open files: nine
// times what a kubelet takes by default.
const maxUsagePods = 1024

// maxUsageReads bounds the pods of one reading, which holds up a sample.
const maxUsageReads = 64

// PodUsage reads what pods take from their cgroups, on cgroup v1, v2 and hybrid, for
// the cgroupfs and the systemd driver. Pass the pods to Observe and call ReadTo at
// any time that suits, at best several times a second: it reads those pods that are
// due. A pod is due at an age of 1, 2 and 5 s, then every 10 s or so, when the cgroup of one of
// its containers has gone, and a last time when all have gone. A pod that was there before PodUsage
// is due at once and then every 10 s or so. Pods that are due within a second of each other are read
// together. The pod's own cgroup outlives it by seconds and its counters are sums, so that a
// pod that ran for a tenth of a second is measured too. PodUsage finds pods that Observe was not
// given by itself, up to CgroupConfig.Rescan late.
//
// A pod's own cgroup is always read, a container's in pods with more than one; they
// are distinguished from the sandbox by the names of their processes, and where those can't
// be read containers are not. If the only container of a pod has gone, the reading made then is
// returned once more as the pod's last, because only the sandbox has been left since.
//
// Files stay open. All of memory is read before any of the CPU: each makes the kernel
// sum up its statistics. That of a pod whose peak of memory stays is read at its first
// reading, at 5 s and once a minute, and otherwise the peak alone. A reading of pods that
// are known allocates nothing. PodUsage is for one goroutine.
type PodUsage struct {
	config CgroupConfig
	// buffer has the layout of the kubelet's tree, which has no top while there is no tree.
	buffer  usageBuffer
	probes  *prober
	classes []string
	pods    []*usagePod // by UID
	// followed is how many of them have a cgroup, untracked how many more the last scan saw.
	followed, untracked int
	// scans counts the scans of the tree. Before the first, pods that are reported are left to it.
	scans int
	// rescanAt is when the tree is scanned next, wakeAt when the first pod is due.
	rescanAt, wakeAt time.Time
	// due are the pods of the reading under way.
	due []*usagePod
	// sandboxes: the runtime puts a sandbox beside the containers of a pod, by what was listed
	// last.
	sandboxes bool
	// node and tree are read for ReadCPUTo alone; node is nil before. inUse is that
	// ReadTo is called, which ends pods.
	node  *cpu
	tree  usageGroup
	inUse bool
}

// NewPodUsage returns a reader of the tree of c. The error is a *FieldError, or that
// of a root which can't be read. Nothing is open before the first ReadTo.
func NewPodUsage(c CgroupConfig) (*PodUsage, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	if _, err := os.ReadDir(c.Root); err != nil {
		return nil, err
	}
	return &PodUsage{config: c, buffer: usageBuffer{text: make([]byte, 8<<10)}, probes: newProber(c.ProcRoot)}, nil
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

// Observe takes what a [PodSource] reports: all pods by UID, sorted. A pod that it is the
// first to report has its age from then on.
func (u *PodUsage) Observe(at time.Time, pods []Pod) {
	i := 0
	for _, pod := range pods {
		for ; i < len(u.pods) && u.pods[i].uid < pod.UID; i++ {
			u.observeDropped(u.pods[i], at)
		}
		if i == len(u.pods) || u.pods[i].uid != pod.UID {
			if u.scans == 0 {
				continue
			}
			u.pods = slices.Insert(u.pods, i, newUsagePod(pod.UID, at))
		}
		u.observe(u.pods[i], pod, at)
		i++
	}
	for ; i < len(u.pods); i++ {
		u.observeDropped(u.pods[i], at)
	}
}

// ReadTo reads the pods that are due into dst, the slices of which it uses again. The
// error wraps ErrNoPodUsage while there is no kubelet's tree; what can't be read of a
// pod is in dst.Failed.
func (u *PodUsage) ReadTo(dst *Usage, at time.Time) error {
	dst.At, dst.Pods, dst.Failed = at, dst.Pods[:0], dst.Failed[:0]
	u.inUse = true
	err := u.scanIfDue(at)
	if dst.Untracked = u.untracked; err != nil || at.Before(u.wakeAt) {
		return err
	}
	u.findAwaited(at, false)
	u.collect(at)
	// All memory first, into the readings of dst that all CPU times then complete.
	for _, p := range u.due {
		p.first, p.group.whole = len(dst.Pods), u.isFinal(p)
		dst.Pods = p.appendReadings(dst.Pods, at)
		u.read(dst, p, (*usageBuffer).memory)
	}
	for _, p := range u.due {
		u.read(dst, p, (*usageBuffer).cpu)
	}
	kept := dst.Pods[:0]
	for _, p := range u.due {
		kept = u.finish(kept, dst, p, at)
	}
	dst.Pods = kept
	u.forget(func(p *usagePod) bool { return p.vanished != nil })
	u.setWake(at)
	return nil
}

// collect finds the pods that are due, and looks again at the containers of those that
// changed. If there are any, pods that are due soon are read along, as far as there is
// room.
func (u *PodUsage) collect(at time.Time) {
	u.due = u.due[:0]
	for _, p := range u.pods {
		if len(u.due) == maxUsageReads {
			return
		}
		if p.look == lookNow || p.look == lookWhenDue && p.isDue(at) {
			u.list(p, at)
		}
		if p.isDue(at) {
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
		if !p.isDue(at) && p.isDueSoon(at) {
			if p.look == lookWhenDue {
				u.list(p, at)
			}
			u.due = append(u.due, p)
		}
	}
}

// read completes the readings of a pod by one kind of file, unless the pod has vanished or
// its last reading needs none.
func (u *PodUsage) read(dst *Usage, p *usagePod, kind func(*usageBuffer, *usageGroup, *PodReading) error) {
	if p.vanished != nil || p.isRepeated() {
		return
	}
	readings := dst.Pods[p.first:]
	err := kind(&u.buffer, &p.group, &readings[0])
	if vanished(err) {
		p.vanished = err
		return
	}
	dst.fail(err)
	for i, c := range p.measured {
		if err := kind(&u.buffer, &c.group, &readings[1+i]); vanished(err) {
			p.look = lookNow // it went between listing and reading
			readings[1+i].Container = goneContainer
		} else {
			dst.fail(err)
		}
	}
}

// goneContainer marks a reading to be left out.
const goneContainer = "-"

// forget drops the pods that a condition holds for.
func (u *PodUsage) forget(condition func(*usagePod) bool) {
	u.pods = slices.DeleteFunc(u.pods, func(p *usagePod) bool {
		if !condition(p) {
			return false
		}
		p.close()
		if p.state != usageAwaited {
			u.followed--
		}
		return true
	})
}

// setWake sets when the first pod is due.
func (u *PodUsage) setWake(at time.Time) {
	u.wakeAt = at.Add(usagePeriod)
	for _, p := range u.pods {
		if p.look == lookNow {
			u.wake(at)
		}
		u.wake(p.next)
	}
}

func (u *PodUsage) wake(at time.Time) {
	if at.Before(u.wakeAt) {
		u.wakeAt = at
	}
}

const (
	// usageRetry and usagePatience are how often and for how long the cgroup of a
	// pod that was reported is looked for.
	usageRetry    = time.Second
	usagePatience = 2 * time.Minute
)

// scanIfDue reads the whole tree where it is time to, in case an event was missed. The
// error wraps ErrNoPodUsage while there is no tree.
func (u *PodUsage) scanIfDue(at time.Time) error {
	if !at.Before(u.rescanAt) {
		u.rescanAt = at.Add(u.config.Rescan)
		if u.findTree(at); u.buffer.layout.top == "" {
			u.rescanAt = at.Add(usagePeriod)
		} else {
			u.scan(at)
		}
	}
	if u.buffer.layout.top == "" {
		return fmt.Errorf("telemetry: %w below %s", ErrNoPodUsage, u.config.Root)
	}
	return nil
}

// findTree looks for the kubelet's tree unless it is known and has containers; one without may
// be another's. The pods of another tree than before are other pods.
func (u *PodUsage) findTree(at time.Time) {
	top, use := u.buffer.layout.top, treeEmpty
	known := top != "" && exists(top)
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
	u.forget(func(p *usagePod) bool { return p.state != usageAwaited })
	u.wakeAt, u.tree, u.buffer.layout = at, usageGroup{}, usageLayout{}
	if found {
		u.buffer.layout = newUsageLayout(u.config.Root, tree.hierarchy, tree.rel)
	}
}

// scan finds all pods of the tree, and those of which it has to be seen what has become.
func (u *PodUsage) scan(at time.Time) {
	u.classes, u.untracked = u.buffer.layout.classes(), 0
	u.scans++
	for _, class := range u.classes {
		for _, name := range directories(filepath.Join(u.buffer.layout.top, class)) {
			if uid, ok := podUID(name); ok {
				u.scanned(uid, filepath.Join(class, name), at)
			}
		}
	}
	u.forget(func(p *usagePod) bool { return p.state == usageEnded && p.scan != u.scans })
	for _, p := range u.pods {
		if p.state != usageAwaited && !u.hasOne(p) {
			p.look = lookNow
		}
	}
	u.wakeAt = at
}

// scanned takes that the cgroup of a pod is there.
func (u *PodUsage) scanned(uid, rel string, at time.Time) {
	i, known := slices.BinarySearchFunc(u.pods, uid, func(p *usagePod, uid string) int { return strings.Compare(p.uid, uid) })
	switch {
	case known && u.pods[i].state != usageAwaited:
	case u.followed >= maxUsagePods:
		u.untracked++
		return
	default:
		if !known {
			u.pods = slices.Insert(u.pods, i, newUsagePod(uid, at))
			u.pods[i].older = true
		}
		u.follow(u.pods[i], rel, at)
	}
	u.pods[i].scan = u.scans
}

// findAwaited looks for the cgroups of pods that were reported, where it is time to or, if
// early, ahead of that where it was not done yet.
func (u *PodUsage) findAwaited(at time.Time, early bool) {
	u.forget(func(p *usagePod) bool {
		isNow := p.isDue(at) || early && p.look == lookWhenDue
		if p.state != usageAwaited || !isNow {
			return false
		}
		return !u.find(p, at)
	})
}

// find looks for the cgroup of a pod, first in the class in which the one before was, and lists
// its containers where they have to be looked for. It reports whether the pod is found or
// still awaited.
func (u *PodUsage) find(p *usagePod, at time.Time) bool {
	lists := u.lists(p.reported)
	for i, class := range u.classes {
		rel := u.buffer.layout.podDirectory(class, p.uid)
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
		u.classes[0], u.classes[i] = u.classes[i], u.classes[0]
		if u.followed >= maxUsagePods { // the next scan counts it
			return false
		}
		u.follow(p, rel, at)
		if lists {
			u.setContainers(p, names, at)
		}
		return true
	}
	p.next, p.look = at.Add(usageRetry), lookNever
	return p.reported.State != podDropped && at.Sub(p.since) < usagePatience
}

// lists reports whether the containers of a pod that begins are to be looked for: not before
// one has started, nor, beside sandboxes, while one alone has. Others will be reported.
func (u *PodUsage) lists(reported Pod) bool {
	return reported.UID == "" || reported.State != PodPending && (reported.Starts != 1 || !u.sandboxes)
}
