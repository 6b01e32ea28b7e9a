package telemetry

import (
	"errors"
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
	// settledAfter is the age at which a container's process can no longer be
	// the runtime's.
	settledAfter = 2 * time.Second
	// probeUntil is the age after which only the rescan looks.
	probeUntil = 30 * time.Second
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
	// counted says how many directories count for a UID; uids are its keys,
	// sorted.
	counted map[string]int
	uids    []string
	// touched are the directories that events named, kept for its memory.
	touched []touch
	// degraded: a watch could not be set, so events are missing.
	degraded bool
	rescanAt time.Time
	probeAt  time.Time

	// What the next event has to say, and the pods that the last one told.
	churn, changed, reported bool
	told                     []string
}

type pod struct {
	uid, dir   string
	containers map[string]*container
	counted    bool
}

// A touch is a directory of the tree in which something happened.
type touch struct {
	level     level
	dir, name string
	// removed: the directory that had the name went away; there may be another.
	removed bool
}

type level int

const (
	classLevel level = iota
	podLevel
	containerLevel
)

func newTree(c CgroupConfig, in *inotify) *tree {
	return &tree{
		config: c, in: in, probes: newProber(c.ProcRoot),
		classes: map[string]bool{}, pods: map[string]*pod{}, starting: map[string]*pod{}, counted: map[string]int{},
	}
}

// wake is when the tree must be looked at though no event came.
func (t *tree) wake() time.Time {
	if !t.probeAt.IsZero() && t.probeAt.Before(t.rescanAt) {
		return t.probeAt
	}
	return t.rescanAt
}

// update takes in what events say: their names tell churn, which is reported at
// once; then what they point at is read. It says whether it told churn.
func (t *tree) update(now time.Time, events []dirEvent, notify func(PodEvent)) (churn bool) {
	rescan := t.take(events) || !now.Before(t.rescanAt)
	warned := t.churn
	t.report(notify)
	if rescan {
		t.rescan(now)
	} else {
		t.readTouched(now)
		t.probe(now)
	}
	t.schedule()
	churn = t.churn || warned
	t.churn = t.churn && !warned
	t.report(notify)
	return churn
}

// take concludes from events which directories to read, or that all must be.
func (t *tree) take(events []dirEvent) (rescan bool) {
	t.touched = t.touched[:0]
	for _, e := range events {
		switch {
		case e.lost:
			t.churn, rescan = true, true
		case t.top == "":
			rescan = rescan || leadsToKubelet(e.name)
		case e.dir == t.parent && e.name == t.base:
			rescan = true
		default:
			t.takeBelow(e)
		}
	}
	return rescan
}

// takeBelow takes an event below the kubelet's directory.
func (t *tree) takeBelow(e dirEvent) {
	touched := touch{dir: e.dir, name: e.name, removed: !e.made}
	if t.pods[e.dir] != nil {
		if !isContainer(e.name) {
			return
		}
		t.churn = true
		touched.level = containerLevel
	} else if _, ok := podUID(e.name); ok && (e.dir == t.top || t.classes[e.dir]) {
		t.churn = t.churn || e.made
		touched.level = podLevel
	} else if e.dir != t.top || !isQoS(e.name) {
		return
	}
	t.touched = append(t.touched, touched)
}

// readTouched reads each directory that was touched once, from the top down: a
// pod that is gone takes its containers along.
func (t *tree) readTouched(now time.Time) {
	slices.SortFunc(t.touched, func(a, b touch) int {
		if a.level != b.level {
			return int(a.level - b.level)
		}
		if c := strings.Compare(a.dir, b.dir); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	for i := 0; i < len(t.touched); {
		x := t.touched[i]
		for ; i < len(t.touched) && t.touched[i].name == x.name && t.touched[i].dir == x.dir; i++ {
			x.removed = x.removed || t.touched[i].removed
		}
		switch x.level {
		case classLevel:
			t.scanClass(now, x.dir+"/"+x.name, nil)
		case podLevel:
			t.readPod(now, x.dir+"/"+x.name, false)
		case containerLevel:
			t.readContainer(now, x)
		}
	}
	if cap(t.touched) > maxKeptEvents {
		t.touched = nil
	}
}

// report notifies of what happened since it was called last.
func (t *tree) report(notify func(PodEvent)) {
	changed := !t.reported || t.changed && !slices.Equal(t.uids, t.told)
	t.changed = false
	if !t.churn && !changed {
		return
	}
	e := PodEvent{At: t.config.Now(), Churn: t.churn, Changed: changed}
	if changed {
		e.Pods = RunningPods(t.uids...)
		t.told = append(t.told[:0], t.uids...)
	}
	t.churn, t.reported = false, true
	notify(e)
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
	for dir := range t.classes {
		if !seen[dir] {
			t.in.unwatch(dir)
			delete(t.classes, dir)
		}
	}
	t.rescanAt = now.Add(t.config.Rescan)
	if t.degraded {
		t.rescanAt = now.Add(min(degradedRescan, t.config.Rescan))
	}
}

// find looks for the kubelet's directory unless it is known and still there.
// Until it is found, every place where it may appear is watched; afterwards
// only its parent.
func (t *tree) find() {
	if ok, _ := isDirectory(t.top); ok && t.top != "" {
		return
	}
	t.top = ""
	var places []string
	for _, h := range hierarchies {
		for _, p := range parents {
			place := filepath.Join(t.config.Root, h, p)
			if ok, _ := isDirectory(place); !ok {
				continue
			}
			_, _ = t.watch(place) // ahead of the look, lest it appear in between
			places = append(places, place)
			for _, name := range subdirectories(place) {
				if t.top == "" && isKubepods(name) {
					t.top, t.parent, t.base = place+"/"+name, place, name
				}
			}
		}
	}
	if t.top == "" {
		return
	}
	for _, place := range places {
		t.in.unwatch(place)
	}
	_, _ = t.watch(t.parent) // without it the tree is read every second
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
		p = &pod{uid: uid, dir: dir, containers: map[string]*container{}}
		t.pods[dir] = p
		t.churn = true
	}
	if moved || full || err != nil {
		t.scanPod(now, p, moved, full)
	}
}

func (t *tree) removePod(p *pod) {
	t.in.unwatch(p.dir)
	delete(t.pods, p.dir)
	delete(t.starting, p.dir)
	t.churn = t.churn || len(p.containers) > 0
	t.count(p, false)
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
			delete(p.containers, name)
			t.churn = true
		}
	}
	for name := range there {
		c := p.containers[name]
		if c == nil {
			c = t.addContainer(now, p, name)
			t.churn = true
		}
		if full || c.stage == starting {
			t.look(now, p, name, c)
		}
	}
	t.settle(p)
}

func (t *tree) addContainer(now time.Time, p *pod, name string) *container {
	c := &container{since: now, period: probeFirst, probeAt: now.Add(probeFirst)}
	p.containers[name] = c
	return c
}

// readContainer reads whether a container's directory is there. One that was
// just made has no process yet; the first probe looks.
func (t *tree) readContainer(now time.Time, x touch) {
	p := t.pods[x.dir]
	if p == nil {
		return
	}
	if x.removed {
		delete(p.containers, x.name)
		if ok, _ := isDirectory(x.dir + "/" + x.name); ok {
			t.addContainer(now, p, x.name)
		}
	} else if p.containers[x.name] == nil {
		t.addContainer(now, p, x.name)
	}
	t.settle(p)
}

func (t *tree) look(now time.Time, p *pod, name string, c *container) {
	c.stage = t.probes.stageOf(p.dir+"/"+name, now.Sub(c.since) >= settledAfter)
}

// settle concludes from a pod's containers whether it counts and whether it
// has to be looked at again.
func (t *tree) settle(p *pod) {
	t.count(p, counts(p.containers))
	for _, c := range p.containers {
		if c.stage == starting && !c.probeAt.IsZero() {
			t.starting[p.dir] = p
			return
		}
	}
	delete(t.starting, p.dir)
}

// count takes in whether a pod counts.
func (t *tree) count(p *pod, counts bool) {
	if p.counted == counts {
		return
	}
	p.counted, t.changed = counts, true
	before := t.counted[p.uid]
	at, _ := slices.BinarySearch(t.uids, p.uid)
	switch {
	case counts:
		t.counted[p.uid]++
		if before == 0 {
			t.uids = slices.Insert(t.uids, at, p.uid)
		}
	case before > 1:
		t.counted[p.uid]--
	default:
		delete(t.counted, p.uid)
		t.uids = slices.Delete(t.uids, at, at+1)
	}
}

// probe looks at the containers that are starting and due.
func (t *tree) probe(now time.Time) {
	for _, p := range t.starting {
		for name, c := range p.containers {
			if c.stage != starting || c.probeAt.IsZero() || c.probeAt.Add(-c.period/probeSlack).After(now) {
				continue
			}
			t.look(now, p, name, c)
			c.period = min(2*c.period, probeSlowest)
			c.probeAt = now.Add(c.period)
			if now.Sub(c.since) >= probeUntil {
				c.probeAt = time.Time{}
			}
		}
		t.settle(p)
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
	if !t.degraded {
		t.config.Logger.Warn("cannot watch a cgroup, reading the tree every second instead", "dir", dir, "err", err)
	}
	t.degraded = true
	return moved, err
}

// gone says whether a watch failed because there is no such directory.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) }
