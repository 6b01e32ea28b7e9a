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
	// Older: its cgroup was there before PodUsage, or was found without notice, so
	// that it is not known since when it has used that.
	Older bool
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
	// Tree is that of the whole tree, in which that of pods that ended stays.
	Tree time.Duration
	// Pods are by UID, without those that could not be read, for which Failed says why, and
	// without those that have used none: no process has run in their cgroups.
	Pods   []PodCPU
	Failed []error
}

// nodeCPU reads the machine's CPU time.
type nodeCPU struct {
	stat  *file
	usage *usage // nil where stat is the best there is
}

func newNodeCPU(c CgroupConfig) (*nodeCPU, error) {
	usage, err := findUsage(Config{CgroupRoot: c.Root, Counter: CounterAuto})
	if err != nil {
		return nil, err
	}
	return &nodeCPU{newFile(filepath.Join(c.ProcRoot, "stat"), 16<<10), usage}, nil
}

func (n *nodeCPU) read() (NodeCPU, error) {
	times, err := readAs(cpuName, n.stat, parseStat)
	if err != nil {
		return NodeCPU{}, err
	}
	r := cpuReading{statTimes: times}
	if n.usage == nil {
		if r.badBusy != nil {
			return NodeCPU{}, &ChannelError{cpuName, n.stat.path, r.badBusy}
		}
		ticks := r.Busy - min(r.Steal, r.Busy)
		return NodeCPU{time.Duration(min(ticks, maxKeyed/uint64(tick))) * tick, r.Online}, nil
	}
	if r.used, err = n.usage.read(); err != nil {
		return NodeCPU{}, err
	}
	unit := time.Second / time.Duration(n.usage.second)
	busy := time.Duration(min(r.used, maxKeyed/uint64(unit))) * unit
	if n.usage.countsSteal(r) {
		busy = max(busy-time.Duration(r.Steal)*tick, 0)
	}
	return NodeCPU{busy, r.Online}, nil
}

// tick is the unit of /proc/stat.
const tick = time.Second / ticksPerSecond

func (n *nodeCPU) close() {
	n.stat.close()
	if n.usage != nil {
		n.usage.file.close()
	}
}

// ReadNode reads the CPU time of the machine alone. The error is a *ChannelError.
func (u *PodUsage) ReadNode() (NodeCPU, error) {
	if u.node == nil {
		node, err := newNodeCPU(u.config)
		if err != nil {
			return NodeCPU{}, err
		}
		u.node = node
	}
	return u.node.read()
}

// ReadCPUTo reads the CPU time of the machine, of the kubelet's tree and of all pods
// that are followed into dst, the slices of which it uses again: the machine's first
// and the tree's before that of its pods, so that what runs meanwhile is not missed
// twice. The error is that of ReadNode, or wraps ErrNoPodUsage while there is no
// kubelet's tree, of which dst then tells the node alone. It may be called without
// ReadTo, or beside it.
func (u *PodUsage) ReadCPUTo(dst *CPUUsage, at time.Time) error {
	dst.At, dst.Tree, dst.Pods, dst.Failed = at, 0, dst.Pods[:0], dst.Failed[:0]
	var err error
	if dst.Node, err = u.ReadNode(); err != nil {
		return err
	}
	if !at.Before(u.rescanAt) {
		u.rescan(at)
	}
	if !u.found {
		return fmt.Errorf("telemetry: %w below %s", ErrNoPodUsage, u.config.Root)
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
	dst.Tree = time.Duration(min(used, maxKeyed))
	kept := u.pods[:0]
	for _, p := range u.pods {
		used, err := u.podCPU(p)
		switch {
		case err == nil && used == 0: // no process ever ran in it, or the kernel does not tell
		case err == nil:
			dst.Pods = append(dst.Pods, PodCPU{p.uid, time.Duration(min(used, maxKeyed)), p.older})
		case !vanished(err):
			dst.Failed = append(dst.Failed, err)
		case !u.inUse:
			p.close()
			continue
		default: // ReadTo ends it, with its last reading
			p.changed = true
			u.wake(at)
		}
		kept = append(kept, p)
	}
	clear(u.pods[len(kept):])
	u.pods = kept
	return nil
}

// podCPU reads the CPU time of a pod. Of one that has changed it asks whether it is there
// still, unless ReadTo does: where no kernel stands behind the files, open ones outlive
// their cgroup.
func (u *PodUsage) podCPU(p *usagePod) (uint64, error) {
	if p.changed && !u.inUse {
		p.changed = false
		if _, err := os.Stat(filepath.Join(u.buffer.layout.top, p.group.rel)); err != nil {
			return 0, err
		}
	}
	used, _, err := u.buffer.cpuUsed(&p.group)
	return used, err
}
