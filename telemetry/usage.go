package telemetry

import (
	"errors"
	"os"
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
	// Age is the time since the cgroup appeared. If AgeUnknown, it was there before
	// PodUsage, which does not know its age: the time since it was first seen.
	Age        time.Duration
	AgeUnknown bool
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
	// OOMKills are as they were up to a minute ago, except in the reading at 5 s.
	Memory, MemoryPeak uint64
	// MemoryStalled is the time in which at least one task waited for memory, known only
	// if MemoryPressure, and as it was up to a minute ago: from a minute on, and at the end of
	// a pod so old.
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
// the cgroupfs and the systemd driver. Tell it of pods with Observe and call ReadTo at
// any time that suits, at best several times a second: it reads those pods that are
// due. They are at an age of 1, 2 and 5 s, then every 10 s or so, those that are due
// within a second together, whenever a container's cgroup goes and once when the last
// one has gone; those that were there before it at once and then every 10 s. The pod's
// own cgroup outlives it by seconds and its counters are sums, so that a pod that ran for
// a tenth of a second is measured too. Pods that Observe did not report it finds itself, up
// to CgroupConfig.Rescan late.
//
// A pod's own cgroup is always read, a container's in pods with more than one; they
// are distinguished from the sandbox by the names of their processes, and where those can't
// be read containers are not. Of a pod whose one container had gone the last reading is the
// one made then: it has only its sandbox since.
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
