package telemetry

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

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
