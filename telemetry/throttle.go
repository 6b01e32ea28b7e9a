package telemetry

import (
	"bytes"
	"os"
	"path/filepath"
	"time"
)

const (
	// rescanThrottling is how often the kubelet's tree is read for new cgroups;
	// of what one throttles before it is found nothing is known.
	rescanThrottling = time.Second
	// recheckLimit is how often a cgroup without a CPU limit is looked at again:
	// resizing a pod in place may give it one.
	recheckLimit = 30 * time.Second
	// maxThrottled bounds the open files; a kubelet runs 110 pods unless told
	// otherwise. Cgroups beyond it are taken as not throttled.
	maxThrottled = 1024
)

// withoutThrottling estimates the pressure of the tasks that waited for a CPU,
// given the pressure of these and of the tasks that waited for the next period of
// their own CPU limit, and throttled: the CPU seconds per second in which the
// latter did (summed over CPUs, so it may exceed 1). left is what of throttled
// exceeds the pressure.
//
// The kernel weighs each CPU's share of waiting time with the time the CPU was
// not idle, and counts a CPU whose only tasks are throttled as not idle. With
//
//	active = running + throttled CPUs' worth of tasks, 1 to the number of CPUs
//
// throttled tasks alone therefore make a pressure of t = throttled/active. The
// kernel counts time in which both kinds wait once; taking the two for
// independent, 1 − pressure = (1 − t)(1 − rest). A task waits only for a CPU that
// runs another, so rest is at most the share of the active CPUs that ran.
//
// Both are averages over the CPUs. Where the limits stop tasks on CPUs that are
// otherwise idle while others are contended, or both kinds wait at the same time
// more often than by chance, rest is too small; in the opposite cases too large.
// It is never more than the pressure.
func withoutThrottling(pressure, utilisation, throttled, cpus float64) (rest, left float64) {
	if throttled == 0 {
		return pressure, 0
	}
	running := utilisation * cpus
	active := min(max(running+throttled, 1), max(cpus, 1))
	alone := min(throttled/active, 1)
	left = max(throttled-pressure*active, 0)
	if alone >= pressure {
		return 0, left
	}
	return min((pressure-alone)/(1-alone), running/active), left
}

// throttling sums the time that the containers of the node's pods were stopped
// by a CPU limit of their own or of their pod. It keeps the cpu.stat of each
// cgroup with a limit open. A cgroup that cannot be read has most likely ended,
// so nothing here fails a sample.
type throttling struct {
	hierarchy string
	limit     string // the file with a cgroup's limit
	unlimited string // what it begins with when there is none

	pods      map[string]*throttledPod // by directory
	files     int
	scannedAt time.Time
	total     time.Duration
}

// throttledPod holds the limits on two levels. A pod stopped as a whole stops
// its containers too, whose own counters may then run at the same time.
type throttledPod struct {
	own        *quota
	containers map[string]*quota
	seen       bool
}

// quota is a cgroup that may have a CPU limit; stat is nil while it has none.
type quota struct {
	dir       string
	stat      *file
	checkedAt time.Time
	last      uint64 // µs
	primed    bool
	seen      bool
}

// newThrottling finds the hierarchy with CPU limits: cgroup v2 with the cpu
// controller, or v1's cpu. Without one the error is ErrNoThrottling.
func newThrottling(root string) (*throttling, error) {
	for _, dir := range []string{root, filepath.Join(root, "unified")} {
		controllers, _ := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
		for name := range bytes.FieldsSeq(controllers) {
			if string(name) == "cpu" {
				return &throttling{hierarchy: dir, limit: "cpu.max", unlimited: "max", pods: map[string]*throttledPod{}}, nil
			}
		}
	}
	for _, name := range []string{"cpu", "cpu,cpuacct"} {
		dir := filepath.Join(root, name)
		if exists(filepath.Join(dir, "cgroup.procs")) {
			return &throttling{hierarchy: dir, limit: "cpu.cfs_quota_us", unlimited: "-1", pods: map[string]*throttledPod{}}, nil
		}
	}
	return nil, &ChannelError{cpuName, root, ErrNoThrottling}
}

// read returns the throttled CPU time since the start; it never decreases.
func (t *throttling) read(at time.Time) time.Duration {
	if since := at.Sub(t.scannedAt); since >= rescanThrottling || since < 0 {
		t.scan(at)
		t.scannedAt = at
	}
	var micros uint64
	for _, p := range t.pods {
		var inside uint64
		for _, q := range p.containers {
			inside += t.grown(q)
		}
		micros += max(t.grown(p.own), inside)
	}
	t.total += time.Duration(micros) * time.Microsecond
	return t.total
}

// grown returns the throttled time since the reading before.
func (t *throttling) grown(q *quota) uint64 {
	if q.stat == nil {
		return 0
	}
	s, err := readAs(cpuName, q.stat, ParseCPUStat)
	if err != nil {
		t.drop(q)
		return 0
	}
	last, primed := q.last, q.primed
	q.last, q.primed = s.Throttled, true
	if !primed || s.Throttled < last { // another cgroup of the same name
		return 0
	}
	return s.Throttled - last
}

// scan finds the pods and their containers.
func (t *throttling) scan(at time.Time) {
	for _, parent := range parents {
		place := filepath.Join(t.hierarchy, parent)
		for _, name := range directories(place) {
			if isKubepods(name) {
				t.scanPods(at, filepath.Join(place, name))
			}
		}
	}
	for dir, p := range t.pods {
		if !p.seen {
			t.forget(p)
			delete(t.pods, dir)
		}
		p.seen = false
	}
}

func (t *throttling) scanPods(at time.Time, dir string) {
	for _, name := range directories(dir) {
		path := filepath.Join(dir, name)
		if isQoS(name) {
			t.scanPods(at, path)
		} else if _, ok := podUID(name); ok {
			t.scanPod(at, path)
		}
	}
}

func (t *throttling) scanPod(at time.Time, dir string) {
	p := t.pods[dir]
	if p == nil {
		p = &throttledPod{own: &quota{dir: dir}, containers: map[string]*quota{}}
		t.pods[dir] = p
	}
	p.seen = true
	t.look(at, p.own)
	for _, name := range directories(dir) {
		q := p.containers[name]
		if q == nil {
			q = &quota{dir: filepath.Join(dir, name)}
			p.containers[name] = q
		}
		q.seen = true
		t.look(at, q)
	}
	for name, q := range p.containers {
		if !q.seen {
			t.drop(q)
			delete(p.containers, name)
		}
		q.seen = false
	}
}

// look opens the counter of a cgroup that has a limit, and takes its value as
// the base.
func (t *throttling) look(at time.Time, q *quota) {
	if q.stat != nil || t.files >= maxThrottled || !q.checkedAt.IsZero() && at.Sub(q.checkedAt).Abs() < recheckLimit {
		return
	}
	q.checkedAt = at
	limit, err := os.ReadFile(filepath.Join(q.dir, t.limit))
	if err != nil || len(limit) == 0 || bytes.HasPrefix(limit, []byte(t.unlimited)) {
		return
	}
	q.stat = newFile(filepath.Join(q.dir, "cpu.stat"), 512)
	q.primed = false
	t.files++
	t.grown(q)
}

func (t *throttling) drop(q *quota) {
	if q.stat != nil {
		q.stat.close()
		q.stat = nil
		t.files--
	}
}

func (t *throttling) forget(p *throttledPod) {
	t.drop(p.own)
	for _, q := range p.containers {
		t.drop(q)
	}
}

func (t *throttling) close() {
	for _, p := range t.pods {
		t.forget(p)
	}
	clear(t.pods)
	t.scannedAt = time.Time{}
}

// directories lists the directories in dir; none if it is gone.
func directories(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
