package telemetry

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// probeFast and probeSlow are how often a container that is starting is
	// looked at; a sandbox takes some 60 ms from cgroup to process, a container
	// some 30 ms.
	probeFast = 20 * time.Millisecond
	probeSlow = 250 * time.Millisecond
	// settledAfter is the age at which a container's process can no longer be
	// the runtime's, and probing becomes slow.
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
	// top is the kubelet's directory, empty while there is none.
	top  string
	pods map[string]*pod // by directory
	// starting holds the pods with a container in that stage.
	starting map[string]*pod
	// degraded: a watch could not be set, so events are missing.
	degraded bool
	rescanAt time.Time
	probeAt  time.Time

	// What the next event has to say.
	churn, changed, reported bool
}

type pod struct {
	uid, dir   string
	containers map[string]*container
	counted    bool
}

func newTree(c CgroupConfig, in *inotify) *tree {
	return &tree{config: c, in: in, pods: map[string]*pod{}, starting: map[string]*pod{}}
}

// wake is when the tree must be looked at though no event came.
func (t *tree) wake() time.Time {
	if !t.probeAt.IsZero() && t.probeAt.Before(t.rescanAt) {
		return t.probeAt
	}
	return t.rescanAt
}

// update takes in what events say; they only point at what to read.
func (t *tree) update(now time.Time, events []dirEvent) {
	rescan := !now.Before(t.rescanAt)
	dirty := map[string]*pod{}
	for _, e := range events {
		rescan = rescan || e.lost || t.top == "" || filepath.Join(e.dir, e.name) == t.top
	}
	if rescan {
		t.rescan(now)
		return
	}
	for _, e := range events {
		if p := t.pods[e.dir]; p != nil {
			t.churn = t.churn || isContainer(e.name)
			dirty[p.dir] = p
			continue
		}
		path := filepath.Join(e.dir, e.name)
		if uid, ok := podUID(e.name); ok && t.holdsPods(e.dir) {
			if t.pods[path] == nil && e.made {
				t.addPod(path, uid)
			}
			if p := t.pods[path]; p != nil {
				dirty[path] = p
			}
		} else if e.dir == t.top && isQoS(e.name) {
			t.scanClass(now, path)
		}
	}
	for _, p := range dirty {
		t.scanPod(now, p, false)
	}
	if !t.probeAt.IsZero() && !now.Before(t.probeAt) {
		t.probe(now)
	}
	t.schedule(now)
}

// report notifies of what happened since it was called last.
func (t *tree) report(notify func(PodEvent)) {
	if t.reported && !t.churn && !t.changed {
		return
	}
	e := PodEvent{At: t.config.Now(), Churn: t.churn, Changed: t.changed || !t.reported}
	if e.Changed {
		for _, p := range t.pods {
			if p.counted {
				e.Pods = append(e.Pods, p.uid)
			}
		}
		slices.Sort(e.Pods)
		e.Pods = slices.Compact(e.Pods)
	}
	t.churn, t.changed, t.reported = false, false, true
	notify(e)
}

// rescan reads the whole tree, and sets every watch again: a directory may have
// been replaced by one of the same name.
func (t *tree) rescan(now time.Time) {
	t.degraded = false
	t.find()
	seen := map[string]bool{}
	if t.top != "" {
		t.watch(t.top)
		t.scanPods(now, t.top, seen)
		for _, name := range subdirectories(t.top) {
			if isQoS(name) {
				class := filepath.Join(t.top, name)
				t.watch(class)
				t.scanPods(now, class, seen)
			}
		}
	}
	for dir, p := range t.pods {
		if !seen[dir] {
			t.removePod(p)
		}
	}
	t.schedule(now)
	t.rescanAt = now.Add(t.config.Rescan)
	if t.degraded {
		t.rescanAt = now.Add(min(degradedRescan, t.config.Rescan))
	}
}

// find looks for the kubelet's directory unless it is known and still there.
// Until it is found, every place where it may appear is watched; afterwards
// only its parent.
func (t *tree) find() {
	if t.top != "" && isDirectory(t.top) {
		return
	}
	t.in.unwatch(t.top)
	t.top = ""
	var places []string
	for _, h := range hierarchies {
		for _, p := range parents {
			place := filepath.Join(t.config.Root, h, p)
			if !isDirectory(place) {
				continue
			}
			t.watch(place) // ahead of the look, lest it appear in between
			places = append(places, place)
			for _, name := range subdirectories(place) {
				if t.top == "" && isKubepods(name) {
					t.top = filepath.Join(place, name)
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
	t.watch(filepath.Dir(t.top))
}

func (t *tree) holdsPods(dir string) bool {
	return dir == t.top || filepath.Dir(dir) == t.top && isQoS(filepath.Base(dir))
}

// scanClass reads a QoS class that appeared or went away.
func (t *tree) scanClass(now time.Time, dir string) {
	if !isDirectory(dir) {
		t.in.unwatch(dir)
		return
	}
	t.watch(dir)
	t.scanPods(now, dir, map[string]bool{})
}

// scanPods reads the pods of one directory and adds theirs to seen.
func (t *tree) scanPods(now time.Time, dir string, seen map[string]bool) {
	for _, name := range subdirectories(dir) {
		uid, ok := podUID(name)
		if !ok {
			continue
		}
		path := filepath.Join(dir, name)
		p := t.pods[path]
		if p == nil {
			p = t.addPod(path, uid)
		}
		seen[path] = true
		t.scanPod(now, p, true)
	}
}

func (t *tree) addPod(dir, uid string) *pod {
	p := &pod{uid: uid, dir: dir, containers: map[string]*container{}}
	t.pods[dir] = p
	t.churn = true
	return p
}

func (t *tree) removePod(p *pod) {
	t.in.unwatch(p.dir)
	delete(t.pods, p.dir)
	delete(t.starting, p.dir)
	t.churn = t.churn || len(p.containers) > 0
	t.changed = t.changed || p.counted
}

// scanPod reads the containers of a pod; a full scan looks again at those that
// are known. A pod that is gone is removed.
func (t *tree) scanPod(now time.Time, p *pod, full bool) {
	t.watch(p.dir)
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		t.removePod(p)
		return
	}
	there := map[string]bool{}
	for _, e := range entries {
		if !e.IsDir() || !isContainer(e.Name()) {
			continue
		}
		there[e.Name()] = true
		c := p.containers[e.Name()]
		if c == nil {
			c = &container{since: now}
			p.containers[e.Name()] = c
			t.churn = true
		}
		if full || c.stage == starting {
			t.look(now, p, e.Name(), c)
		}
	}
	for name := range p.containers {
		if !there[name] {
			delete(p.containers, name)
			t.churn = true
		}
	}
	t.settle(now, p)
}

func (t *tree) look(now time.Time, p *pod, name string, c *container) {
	c.stage = stageOf(filepath.Join(p.dir, name), t.config.ProcRoot, now.Sub(c.since) >= settledAfter)
}

// settle concludes from a pod's containers whether it counts and whether it
// has to be looked at again.
func (t *tree) settle(now time.Time, p *pod) {
	if counted := counts(p.containers); counted != p.counted {
		p.counted, t.changed = counted, true
	}
	for _, c := range p.containers {
		if c.stage == starting && now.Sub(c.since) < probeUntil {
			t.starting[p.dir] = p
			return
		}
	}
	delete(t.starting, p.dir)
}

// probe looks at the containers that are starting.
func (t *tree) probe(now time.Time) {
	for _, p := range t.starting {
		for name, c := range p.containers {
			if c.stage == starting {
				t.look(now, p, name, c)
			}
		}
		t.settle(now, p)
	}
}

// schedule sets the next probe by the youngest container that is starting. A
// probe that is due stays so, lest frequent events put it off for good.
func (t *tree) schedule(now time.Time) {
	if len(t.starting) == 0 {
		t.probeAt = time.Time{}
		return
	}
	next := now.Add(t.probePeriod(now))
	if t.probeAt.IsZero() || !t.probeAt.After(now) || next.Before(t.probeAt) {
		t.probeAt = next
	}
}

func (t *tree) probePeriod(now time.Time) time.Duration {
	for _, p := range t.starting {
		for _, c := range p.containers {
			if c.stage == starting && now.Sub(c.since) < settledAfter {
				return probeFast
			}
		}
	}
	return probeSlow
}

// watch sets a watch; one that cannot be set makes rescans frequent.
func (t *tree) watch(dir string) {
	err := t.in.watch(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return
	}
	if !t.degraded {
		t.config.Logger.Warn("cannot watch a cgroup, reading the tree every second instead", "dir", dir, "err", err)
	}
	t.degraded = true
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// subdirectories lists the directories in dir; none if it is gone.
func subdirectories(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
