package telemetry

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// PodCPU is the CPU time that a pod has used since its cgroup was made.
type PodCPU struct {
	UID string
	CPU time.Duration
	// AgeUnknown: its cgroup was there before PodUsage, or was found without notice, so
	// that it is not known since when it has used that.
	AgeUnknown bool
}

// NodeCPU is the CPU time that all tasks of the machine have used since it started,
// what the hypervisor gave to others left out, and the number of online CPUs.
type NodeCPU struct {
	Busy  time.Duration
	Cores int
}

// CPUUsage is the CPU time that the node, the kubelet's tree and each pod of it have
// used. It is reused by the next reading.
type CPUUsage struct {
	At   time.Time
	Node NodeCPU
	// Tree is the CPU time of the kubelet's whole tree, pods that have ended included.
	Tree time.Duration
	// Pods are by UID, without those that could not be read, for which Failed has the reason, and
	// without those that have used none: no process has run in their cgroups.
	Pods   []PodCPU
	Failed []error
}

// tick is the unit of /proc/stat.
const tick = time.Second / ticksPerSecond

// timeOf is a time counted in a unit, bounded as the numbers of a file are.
func timeOf(count uint64, unit time.Duration) time.Duration {
	return time.Duration(min(count, maxKeyed/uint64(unit))) * unit
}

// ReadNode reads the CPU time of the machine alone. The error is a *ChannelError.
func (u *PodUsage) ReadNode() (NodeCPU, error) {
	if u.node == nil {
		usage, err := findUsage(Config{CgroupRoot: u.config.Root, Counter: CounterAuto})
		if err != nil {
			return NodeCPU{}, err
		}
		u.node = &cpu{stat: newFile(filepath.Join(u.config.ProcRoot, "stat"), 16<<10), usage: usage}
	}
	r, err := u.node.read()
	if err != nil {
		return NodeCPU{}, err
	}
	usage := u.node.usage
	if usage == nil { // /proc/stat is the best there is
		if r.badBusy != nil {
			return NodeCPU{}, &ChannelError{cpuName, u.node.stat.path, r.badBusy}
		}
		return NodeCPU{timeOf(r.Busy-min(r.Steal, r.Busy), tick), r.Online}, nil
	}
	busy := timeOf(r.used, time.Second/time.Duration(usage.second))
	if usage.countsSteal(r) {
		busy = max(busy-time.Duration(r.Steal)*tick, 0)
	}
	return NodeCPU{busy, r.Online}, nil
}

// ReadCPUTo reads the CPU time of the machine, then of the kubelet's tree and then of all pods
// that are followed into dst, the slices of which it uses again. In this order what a pod uses
// meanwhile is not taken for the use of the rest of the machine. The error is that of
// ReadNode, or wraps ErrNoPodUsage while there is no
// kubelet's tree, where dst then has the node alone. It may be called without
// ReadTo, or beside it.
func (u *PodUsage) ReadCPUTo(dst *CPUUsage, at time.Time) error {
	dst.At, dst.Tree, dst.Pods, dst.Failed = at, 0, dst.Pods[:0], dst.Failed[:0]
	node, err := u.ReadNode()
	if dst.Node = node; err != nil {
		return err
	}
	if err := u.scanIfDue(at); err != nil {
		return err
	}
	u.findAwaited(at, true)
	used, known, err := u.buffer.cpuUsed(&u.tree)
	if vanished(err) {
		u.rescanAt = at
	}
	switch {
	case err != nil:
		return fmt.Errorf("telemetry: %w: %w", ErrNoPodUsage, err)
	case !known:
		return fmt.Errorf("telemetry: %w: %s has no CPU time", ErrNoPodUsage, u.buffer.layout.top)
	}
	dst.Tree = timeOf(used.Usage, 1)
	u.forget(func(p *usagePod) bool {
		if p.state == usageAwaited {
			return false
		}
		used, err := u.podCPU(p)
		switch {
		case err == nil && used == 0: // no process ever ran in it, or the kernel does not show it
		case err == nil:
			dst.Pods = append(dst.Pods, PodCPU{p.uid, timeOf(used, 1), p.older})
		case !vanished(err):
			dst.Failed = append(dst.Failed, err)
		case !u.inUse:
			return true
		default: // ReadTo ends it, with its last reading
			p.look = lookNow
			u.wake(at)
		}
		return false
	})
	return nil
}

// podCPU reads the CPU time of a pod. Of one that has changed it asks whether it is there
// still, unless ReadTo does: where no kernel stands behind the files, open ones outlive
// their cgroup.
func (u *PodUsage) podCPU(p *usagePod) (uint64, error) {
	if p.look == lookNow && !u.inUse {
		p.look = lookNever
		if _, err := os.Stat(filepath.Join(u.buffer.layout.top, p.group.rel)); err != nil {
			return 0, err
		}
	}
	used, _, err := u.buffer.cpuUsed(&p.group)
	return used.Usage, err
}
