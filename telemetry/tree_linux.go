package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// probeFirst and probeSlowest bound how often a container that is starting is
	// looked at, each period being twice the one before: with containerd a
	// container takes some 30 ms from cgroup to process, a sandbox some 60 ms.
	// A wake-up costs more than a look: a probe is made up to 1/probeSlack of its
	// period early if it can share one.
	probeFirst   = 30 * time.Millisecond
	probeSlowest = time.Second
	probeSlack   = 4
	// agedAfter is the age at which a container's process can no longer be
	// the runtime's.
	agedAfter = 2 * time.Second
	// degradedRescan replaces the rescan period when watches ran out.
	degradedRescan = time.Second
)

// tree mirrors the kubelet's cgroups.
type tree struct {
	config CgroupConfig
	in     *inotify
	probes *prober
	// top is the kubelet's directory, empty while there is none; parent/base is
	// its path, taken apart.
	top, parent, base string
	classes           map[string]bool // directories of QoS classes
	pods              map[string]*pod // by directory
	// starting holds the pods with a container in that stage.
	starting map[string]*pod
	// dirty are the directories that events named, kept for its memory.
	dirty []dirtyDir
	// degraded: a watch could not be set, so events are missing. lost: the kernel
	// dropped some.
	degraded, lost bool
	rescanAt       time.Time
	probeAt        time.Time

	listing podListing
	// churn and first are what the next event has to say beside the listing.
	churn churn
	first bool
	// setHealth gets, with the first rescan and at each change, why pods are not seen.
	setHealth func(error)
	unhealthy error
	// elsewhere is a directory that has pods and is no kubelet's, while none is found.
	elsewhere string
	said      said
}

// said is what was logged, each once until it no longer holds.
type said struct{ watch, opaque bool }

// A dirtyDir is a directory of the tree in which something happened.
type dirtyDir struct {
	level     level
	dir, name string
	// made and removed: a directory of the name came, one went; both may be.
	made, removed bool
}

type level int

const (
	classLevel level = iota
	podLevel
	containerLevel
)

func (d dirtyDir) compare(e dirtyDir) int {
	return cmp.Or(cmp.Compare(d.level, e.level), strings.Compare(d.dir, e.dir), strings.Compare(d.name, e.name))
}

func newTree(c CgroupConfig, in *inotify, setHealth func(error)) *tree {
	return &tree{
		config: c, in: in, probes: newProber(c.ProcRoot), setHealth: setHealth, first: true,
		classes: map[string]bool{}, pods: map[string]*pod{}, starting: map[string]*pod{}, listing: newPodListing(),
	}
}

// wake is when the tree must be looked at though no event came.
func (t *tree) wake() time.Time {
	if !t.probeAt.IsZero() && t.probeAt.Before(t.rescanAt) {
		return t.probeAt
	}
	return t.rescanAt
}

// update follows events: their names show churn, which is reported at once; then
// what they point at is read. It reports whether it reported churn.
func (t *tree) update(now time.Time, events []dirEvent, notify func(PodEvent)) bool {
	rescan := t.observe(events) || !now.Before(t.rescanAt)
	warned := t.churn
	t.report(notify)
	if rescan {
		t.rescan(now)
	} else {
		t.readDirty(now)
		t.probe(now)
	}
	t.schedule()
	found := t.churn.any
	t.churn = t.churn.beyond(warned)
	t.report(notify)
	return found || warned.any
}

// observe concludes from events which directories to read, or that all must be.
func (t *tree) observe(events []dirEvent) (rescan bool) {
	t.dirty = t.dirty[:0]
	for _, e := range events {
		switch {
		case e.lost:
			t.churn.add("")
			t.lost, rescan = true, true
		case t.top == "":
			rescan = rescan || leadsToKubelet(e.name)
		case e.dir == t.parent && e.name == t.base:
			rescan = true
		case e.dir == t.top && isKubepods(e.name):
			rescan = true // the pods may be in there
		default:
			t.observeBelow(e)
		}
	}
	return rescan
}

// observeBelow concludes from an event below the kubelet's directory.
func (t *tree) observeBelow(e dirEvent) {
	dirty := dirtyDir{dir: e.dir, name: e.name, made: e.made, removed: !e.made}
	if p := t.pods[e.dir]; p != nil {
		if !isContainer(e.name) {
			return
		}
		t.churn.add(p.uid)
		dirty.level = containerLevel
	} else if uid, ok := podUID(e.name); ok && (e.dir == t.top || t.classes[e.dir]) {
		if e.made {
			t.churn.add(uid)
		}
		dirty.level = podLevel
	} else if e.dir != t.top || !isQoS(e.name) {
		return
	}
	t.dirty = append(t.dirty, dirty)
}

// readDirty reads each directory that events named once, from the top down: a pod
// that is gone takes its containers along.
func (t *tree) readDirty(now time.Time) {
	slices.SortStableFunc(t.dirty, dirtyDir.compare)
	for i := 0; i < len(t.dirty); {
		d := t.dirty[i]
		for ; i < len(t.dirty) && t.dirty[i].compare(d) == 0; i++ {
			d.made, d.removed = d.made || t.dirty[i].made, d.removed || t.dirty[i].removed
		}
		switch d.level {
		case classLevel:
			t.scanClass(now, d.dir+"/"+d.name, nil)
		case podLevel:
			t.readPod(now, d.dir+"/"+d.name, false)
		case containerLevel:
			t.readContainer(now, d)
		}
	}
	if cap(t.dirty) > maxKeptEvents {
		t.dirty = nil
	}
}

// report notifies of what happened since it was called last.
func (t *tree) report(notify func(PodEvent)) {
	pods, changed := t.listing.changed()
	changed = changed || t.first
	if !t.churn.any && !changed {
		return
	}
	e := PodEvent{At: time.Now(), Churn: t.churn.any, Changed: changed}
	if !t.churn.unknown {
		e.Churned = t.churn.pods
	}
	if changed {
		e.Pods = pods
	}
	t.churn, t.first = churn{}, false
	notify(e)
}

// churn is what has come and gone since it was reported last. The zero value is
// nothing.
type churn struct {
	any, unknown bool
	pods         []string
}

// beyond is what c has and was not reported before. Somebody's churn stands for all.
func (c churn) beyond(before churn) churn {
	if before.unknown {
		return churn{}
	}
	c.pods = slices.DeleteFunc(c.pods, func(uid string) bool { return slices.Contains(before.pods, uid) })
	c.any = c.unknown || len(c.pods) > 0
	return c
}

// add counts a pod's churn, or if that is not known, somebody's.
func (c *churn) add(uid string) {
	c.any = true
	if uid == "" {
		c.unknown = true
	} else if !slices.Contains(c.pods, uid) {
		c.pods = append(c.pods, uid)
	}
}

// rescan reads the whole tree, and sets every watch again: a directory may have
// been replaced by one of the same name.
func (t *tree) rescan(now time.Time) {
	t.degraded = false
	t.find()
	seen := map[string]bool{}
	if t.top != "" {
		t.scanClass(now, t.top, seen)
		for _, name := range subdirectories(t.top) {
			if isQoS(name) {
				t.scanClass(now, t.top+"/"+name, seen)
			}
		}
	}
	for dir, p := range t.pods {
		if !seen[dir] {
			t.removePod(p)
		}
	}
	t.checkHealth(now)
	t.lost = false
	for dir := range t.classes {
		if !seen[dir] {
			t.in.unwatch(dir)
			delete(t.classes, dir)
		}
	}
	t.rescanAt = now.Add(t.config.Rescan)
	if t.degraded {
		t.rescanAt = now.Add(min(degradedRescan, t.config.Rescan))
	} else {
		t.said.watch = false
	}
}

// checkHealth passes on whether pods are seen, and logs what has changed.
func (t *tree) checkHealth(now time.Time) {
	before := t.unhealthy
	switch t.unhealthy = t.health(now); {
	case t.unhealthy == nil && before == nil && !t.first:
		return
	case t.unhealthy != nil && (before == nil || errors.Is(before, ErrUnseenPods) != errors.Is(t.unhealthy, ErrUnseenPods)):
		t.config.Logger.Warn("pods of the node are not seen", "err", t.unhealthy)
	case t.unhealthy == nil && before != nil:
		t.config.Logger.Info("all pods of the node are seen", "dir", t.top)
	}
	t.setHealth(t.unhealthy)
}

func (t *tree) health(now time.Time) error {
	switch {
	case t.elsewhere != "":
		return fmt.Errorf("telemetry: %w below %s: %s has pods, but is none", ErrNoKubepods, t.config.Root, t.elsewhere)
	case t.top == "":
		return fmt.Errorf("telemetry: %w below %s", ErrNoKubepods, t.config.Root)
	}
	unseen, first := 0, ""
	for _, p := range t.pods {
		if p.started == 0 && p.present && now.Sub(p.since) >= probeUntil {
			if unseen++; first == "" || p.dir < first {
				first = p.dir
			}
		}
	}
	if unseen == 0 {
		return nil
	}
	return fmt.Errorf("telemetry: %w for %v: %d of %d pods, such as %s (hostPID is needed on cgroup v1 without the pids controller)",
		ErrUnseenPods, probeUntil, unseen, len(t.pods), first)
}

// find looks for the kubelet's directory unless it is known and has containers; one without
// may be another's. Until one is found, every usual place is watched; afterwards only
// its parent.
func (t *tree) find() {
	known, use := false, treeEmpty
	t.elsewhere = ""
	if t.top != "" {
		if known, _ = isDirectory(t.top); known {
			use = useOf(t.top)
		}
		if use == treeContainers {
			return
		}
	}
	places := t.watchPlaces(known) // ahead of the look, lest it appear in between
	found, ok, elsewhere := findKubelet(t.config.Root)
	t.elsewhere = elsewhere
	switch top := filepath.Join(t.config.Root, found.hierarchy, found.rel); {
	case known && (!ok || top == t.top || found.use <= use):
		return
	case !ok:
		t.top = ""
		return
	default:
		t.in.unwatch(t.parent)
		t.top, t.parent, t.base = top, filepath.Dir(top), filepath.Base(top)
	}
	t.probes.in(t.config.Root, found.hierarchy)
	for _, place := range places {
		t.in.unwatch(place)
	}
	_, _ = t.watch(t.parent) // without it the tree is read every second
}

// watchPlaces watches where the kubelet's directory usually appears, unless one is known.
func (t *tree) watchPlaces(known bool) (places []string) {
	if known {
		return nil
	}
	for _, h := range hierarchies {
		for _, p := range parents {
			place := filepath.Join(t.config.Root, h, p)
			if ok, _ := isDirectory(place); ok {
				_, _ = t.watch(place)
				places = append(places, place)
			}
		}
	}
	return places
}

// scanClass reads the pods of the kubelet's directory or of a QoS class below
// it, and adds what is there to seen unless that is nil. One that is gone is
// left to be noticed by its pods or by the rescan.
func (t *tree) scanClass(now time.Time, dir string, seen map[string]bool) {
	if _, err := t.watch(dir); gone(err) {
		t.in.unwatch(dir)
		delete(t.classes, dir)
		return
	}
	t.classes[dir] = true
	full := seen != nil
	if full {
		seen[dir] = true
	}
	for _, name := range subdirectories(dir) {
		if _, ok := podUID(name); !ok {
			continue
		}
		path := dir + "/" + name
		t.readPod(now, path, full)
		if full {
			seen[path] = true
		}
	}
}

// readPod reads whether a pod's directory is there and, if it is another one
// than before, its containers; a full read looks again at those that are known.
func (t *tree) readPod(now time.Time, dir string, full bool) {
	p := t.pods[dir]
	moved, err := t.watch(dir)
	if gone(err) {
		if p != nil {
			t.removePod(p)
		}
		return
	}
	if p == nil {
		uid, _ := podUID(filepath.Base(dir))
		p = &pod{uid: uid, dir: dir, since: now, containers: map[string]*container{}}
		t.pods[dir] = p
		t.listing.add(p)
		t.churn.add(uid)
	}
	if moved || full || err != nil {
		// What a full read finds may not be all there was.
		p.unsure = p.unsure || full && moved && len(subdirectories(dir)) > 0 || t.lost || err != nil
		t.scanPod(now, p, moved, full)
	}
}

func (t *tree) removePod(p *pod) {
	t.in.unwatch(p.dir)
	delete(t.pods, p.dir)
	delete(t.starting, p.dir)
	if len(p.containers) > 0 {
		t.churn.add(p.uid)
	}
	t.listing.remove(p)
}

// scanPod reads which containers a pod has; of a directory that was replaced
// none are known.
func (t *tree) scanPod(now time.Time, p *pod, replaced, full bool) {
	there := map[string]bool{}
	for _, name := range subdirectories(p.dir) {
		if isContainer(name) {
			there[name] = true
		}
	}
	for name := range p.containers {
		if replaced || !there[name] {
			p.drop(name)
			t.churn.add(p.uid)
		}
	}
	for name := range there {
		c := p.containers[name]
		if c == nil {
			c = t.addContainer(now, p, name)
			t.churn.add(p.uid)
		}
		if full || c.stage == starting {
			t.probeContainer(now, p, name, c)
		}
	}
	t.conclude(p)
}

func (t *tree) addContainer(now time.Time, p *pod, name string) *container {
	c := &container{since: now, period: probeFirst, probeAt: now.Add(probeFirst)}
	p.containers[name] = c
	return c
}

// readContainer reads whether a container's directory is there. One that was
// just made has no process yet; the first probe looks.
func (t *tree) readContainer(now time.Time, d dirtyDir) {
	p := t.pods[d.dir]
	if p == nil {
		return
	}
	_, known := p.containers[d.name]
	switch {
	case known && d.removed:
		p.drop(d.name)
	case !known && d.removed && d.made:
		p.missed(d.name)
	case known:
		return
	}
	if d.removed {
		known, _ = isDirectory(p.dir + "/" + d.name)
	}
	if known || !d.removed {
		t.addContainer(now, p, d.name)
	}
	t.conclude(p)
}

func (t *tree) probeContainer(now time.Time, p *pod, name string, c *container) {
	c.stage = t.probes.stageOf(p.dir+"/"+name, now.Sub(c.since) >= agedAfter)
	if c.stage == opaque && !t.said.opaque {
		t.said.opaque = true
		t.config.Logger.Info("the processes of containers are not visible: sandboxes are recognised by their order", "dir", p.dir)
	}
}

// conclude derives from a pod's containers what state it is in and whether it has
// to be probed again.
func (t *tree) conclude(p *pod) {
	if p.conclude() {
		t.listing.update(p)
	}
	for _, c := range p.containers {
		if c.stage == starting && !c.probeAt.IsZero() {
			t.starting[p.dir] = p
			return
		}
	}
	delete(t.starting, p.dir)
}

// probe looks at the containers that are starting and due.
func (t *tree) probe(now time.Time) {
	for _, p := range t.starting {
		for name, c := range p.containers {
			if c.stage != starting || c.probeAt.IsZero() || c.probeAt.Add(-c.period/probeSlack).After(now) {
				continue
			}
			t.probeContainer(now, p, name, c)
			c.period = min(2*c.period, probeSlowest)
			c.probeAt = now.Add(c.period)
			if now.Sub(c.since) >= probeUntil {
				c.probeAt = time.Time{}
			}
		}
		t.conclude(p)
	}
}

// schedule sets the next probe.
func (t *tree) schedule() {
	t.probeAt = time.Time{}
	for _, p := range t.starting {
		for _, c := range p.containers {
			if c.stage == starting && !c.probeAt.IsZero() && (t.probeAt.IsZero() || c.probeAt.Before(t.probeAt)) {
				t.probeAt = c.probeAt
			}
		}
	}
}

// watch sets a watch; one that cannot be set makes rescans frequent.
func (t *tree) watch(dir string) (moved bool, err error) {
	moved, err = t.in.watch(dir)
	if err == nil || gone(err) {
		return moved, err
	}
	if !t.said.watch {
		t.said.watch = true
		t.config.Logger.Warn("cannot watch a cgroup, reading the tree every second instead", "dir", dir, "err", err)
	}
	t.degraded = true
	return moved, err
}

// gone reports whether a watch failed because there is no such directory.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) }
