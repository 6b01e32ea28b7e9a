package telemetry

import (
	"path/filepath"
	"slices"
	"time"
)

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
