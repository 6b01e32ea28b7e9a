package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// usageGroup is one cgroup whose files stay open.
type usageGroup struct {
	// rel is its directory below the kubelet's.
	rel   string
	files [usageFiles]usageHandle
	// stalled is its memory pressure, read at the age stalledAt; pressed is that there is one.
	stalled, stalledAt time.Duration
	pressed            bool
	// ran is that it has used CPU time, and ranAt at which age that was first seen; limitAt,
	// from which age on what a CPU limit held up is looked at.
	ran            bool
	ranAt, limitAt time.Duration
	// unified is that it holds its processes in the unified hierarchy of the hybrid
	// layout, which does not change.
	unified bool
	// largest and current are the most of its use of memory and of all its memory,
	// the page cache too, at any reading.
	largest, current uint64
	// held is its use of memory and kills are those for want of it, peak the kernel's peak,
	// as they were when they were read last; memoryAt is from which age on they are read
	// again whatever the peak.
	held, kills, peak uint64
	memoryAt          time.Duration
	// known is that held is known.
	known bool
	// throttling is what a limit had held up at the last reading that could show it.
	throttling cpuTotals
	// whole is that the reading under way leaves nothing out: none may follow it.
	whole bool
}

// usageHandle is an open file, or one that the kernel does not have.
type usageHandle struct {
	descriptor
	missing bool
}

// usageBuffer reads cgroups of a layout one after the other into one buffer.
type usageBuffer struct {
	layout usageLayout
	text   []byte
}

// read returns a file's text, valid until the next read; none if the layout or the
// kernel does not have it.
func (b *usageBuffer) read(g *usageGroup, which int) ([]byte, error) {
	file, h := &b.layout.files[which], &g.files[which]
	if file.name == "" || h.missing {
		return nil, nil
	}
	if !h.isOpen {
		if err := h.openIn(file.top, g.rel, file.name); err != nil {
			switch {
			case errors.Is(err, fs.ErrNotExist) && !file.needed:
				h.missing = true
				return nil, nil
			case errors.Is(err, fs.ErrNotExist) && exists(filepath.Join(b.layout.top, g.rel)): // the controller is off
				return nil, nil
			}
			return nil, err
		}
	}
	for {
		n, err := h.read(b.text)
		switch {
		case lacksPressure(err) && !file.needed: // psi=0 on older kernels
			h.close()
			h.missing = true
			return nil, nil
		case err != nil:
			h.close()
			return nil, &os.PathError{Op: "read", Path: file.path(g.rel), Err: reason(err)}
		case n < len(b.text):
			return b.text[:n], nil
		case len(b.text) >= maxFile:
			return nil, &os.PathError{Op: "read", Path: file.path(g.rel), Err: ErrMalformed}
		}
		b.text = make([]byte, 2*len(b.text))
	}
}

func (g *usageGroup) close() {
	for i := range g.files {
		g.files[i].close()
	}
}

// parseUsage reads a file and makes a value of its text; ok is false where there is none.
func parseUsage[T any](b *usageBuffer, g *usageGroup, which int, parse func([]byte) (T, error)) (value T, ok bool, err error) {
	text, err := b.read(g, which)
	if err != nil || text == nil {
		return value, false, err
	}
	if value, err = parse(text); err != nil {
		var zero T
		return zero, false, &os.PathError{Op: "parse", Path: b.layout.files[which].path(g.rel), Err: err}
	}
	return value, true, nil
}

// memory reads what of the machine's memory the group holds and its peak. The kernel
// keeps the peak of all memory, the page cache too, which counts by as much as it
// rose above what was seen at readings: where it did not, all memory is no more than that.
// While the peak stays nothing can have grown beyond it, and that is one number
// where the rest makes the kernel sum up its statistics. A peak that can't be read is as
// good as none.
func (b *usageBuffer) memory(g *usageGroup, r *PodReading) error {
	peak, hasPeak, bad := parseUsage(b, g, memoryPeak, parseBytes)
	changed := peak < g.peak || peak-g.peak > g.held/memoryRise // who sets it back begins anew
	if !hasPeak || !g.known || g.whole || r.Age >= g.memoryAt || changed {
		bad = errors.Join(bad, b.memoryHeld(g, peak))
		// While a pod is young what it holds changes below the peak, too, but at 5 s that is seen.
		if g.memoryAt = usageYoung; r.Age >= usageYoung {
			g.memoryAt = r.Age + stallEvery
		}
	}
	if r.NoMemory = !g.known; r.NoMemory {
		return bad
	}
	r.Memory, r.MemoryPeak, r.OOMKills = g.held, g.largest, g.kills
	if hasPeak && peak > g.current {
		r.MemoryPeak = max(g.held, min(g.largest+peak-g.current, peak))
	}
	return bad
}

// memoryRise is the part of what a group holds by which its peak rises before that is read
// anew: a page or two of cache say nothing.
const memoryRise = 64

// memoryHeld reads all of the group's memory, given the kernel's peak, 0 if it has none.
// Without memory.stat what it holds is not known. Kills that can't be read are as they
// were, and without memory.current the peak means nothing.
func (b *usageBuffer) memoryHeld(g *usageGroup, peak uint64) error {
	parse := parseMemoryUseV1
	if b.layout.v2 {
		parse = parseMemoryUse
	}
	held, known, err := parseUsage(b, g, memoryStat, parse)
	if g.known = known; err != nil || !known {
		return err
	}
	current := g.current
	if peak > current {
		var known bool
		if current, known, err = parseUsage(b, g, memoryCurrent, parseBytes); !known {
			current = peak
		}
	}
	kills, known, bad := parseUsage(b, g, memoryEvents, parseOOMKills)
	if known {
		g.kills = kills
	}
	g.held, g.peak = held, peak
	g.largest, g.current = max(g.largest, held), max(g.current, current)
	return errors.Join(err, bad)
}

// cpu reads what the group took and waited for. What a CPU limit held up is as it was at the
// reading before where it is not looked at or can't be read.
func (b *usageBuffer) cpu(g *usageGroup, r *PodReading) error {
	totals, known, err := b.cpuUsed(g)
	if r.NoCPU = !known; r.NoCPU {
		return err
	}
	if !b.layout.v2 {
		err = b.throttled(g, r, &totals)
	}
	if totals.unthrottled {
		g.throttling.Usage = totals.Usage
		totals = g.throttling
	}
	g.throttling = totals
	stall, pressed, bad := parseUsage(b, g, cpuPressure, ParsePressure)
	if bad == nil && pressed && !b.layout.v2 {
		pressed, bad = b.isUnified(g, stall, totals.Usage)
	}
	if pressed = pressed && bad == nil; pressed {
		r.Stalled = timeOf(stall.Some, time.Microsecond)
		bad = b.memoryStall(g, r)
	}
	r.CPU, r.Throttled = timeOf(totals.Usage, 1), timeOf(totals.Throttled, 1)
	r.Pressure, r.Periods, r.ThrottledPeriods = pressed, totals.Periods, totals.ThrottledPeriods
	return errors.Join(err, bad)
}

// cpuUsed is the CPU time that a group used, in ns; on cgroup v2 what a limit held up is in
// the same file.
func (b *usageBuffer) cpuUsed(g *usageGroup) (totals cpuTotals, known bool, err error) {
	if b.layout.v2 {
		totals, known, err = parseUsage(b, g, cpuStat, parseCPUTotals)
		totals.Usage, totals.Throttled = totals.Usage*1000, totals.Throttled*1000
		return totals, known, err
	}
	used, known, err := parseUsage(b, g, cpuStat, ParseCounter)
	return cpuTotals{Usage: used, unthrottled: true}, known, err
}

// limitShows is how long after a group used CPU time a limit has counted a period: the
// longest that the kernel allows.
const limitShows = time.Second

// throttled completes the totals of cgroup v1 by what a CPU limit held up, where it is time to
// look. That is part of what a group waited for, where that is known; where it isn't, it is soon
// enough when the pod is no longer young. A group without a limit is asked once a minute.
func (b *usageBuffer) throttled(g *usageGroup, r *PodReading, totals *cpuTotals) error {
	var bad error
	soon := b.layout.files[cpuPressure].name != "" || r.AgeUnknown || r.Age >= usageYoung
	if g.whole || soon && r.Age >= g.limitAt {
		var held cpuTotals
		if held, _, bad = parseUsage(b, g, cpuThrottle, parseThrottling); bad == nil {
			if g.limitAt = 0; held.Periods == 0 && g.ran && r.Age-g.ranAt >= limitShows {
				g.limitAt = r.Age + stallEvery
			}
			held.Usage = totals.Usage
			*totals = held
		}
	}
	if totals.Usage > 0 && !g.ran {
		g.ran, g.ranAt = true, r.Age
	}
	return bad
}

// isUnified reports whether a group of the hybrid layout holds its processes in the
// unified hierarchy too, which alone has pressure: if one waited there, or it counts most
// of the CPU time. A runtime that does not know that hierarchy leaves its groups there empty.
func (b *usageBuffer) isUnified(g *usageGroup, stall Stall, used uint64) (bool, error) {
	if g.unified = g.unified || stall.Some > 0; g.unified {
		return true, nil
	}
	totals, ok, err := parseUsage(b, g, unifiedStat, parseCPUTotals)
	g.unified = ok && totals.Usage > 0 && totals.Usage*1000 >= used/2
	return g.unified, err
}

// stallEvery is the age between two readings of memory pressure, which is judged over ten
// minutes, of what throttles a group without a CPU limit, and of memory the peak of which
// stays: with all at each reading a pod would cost twice as much.
const stallEvery = 50 * time.Second

// memoryStall reads how long the group waited for memory, where it is time to. At the end of
// one of which it was never read it stays so: a single reading is of no span.
func (b *usageBuffer) memoryStall(g *usageGroup, r *PodReading) error {
	if since := r.Age - g.stalledAt; since >= stallEvery || g.whole && g.pressed {
		stall, pressed, err := parseUsage(b, g, memoryPressure, ParsePressure)
		if err != nil {
			return err
		}
		// It is wall time: a sum that grew by more than the time since has leapt.
		total := timeOf(stall.Some, time.Microsecond)
		leapt := g.pressed && (total < g.stalled || total-g.stalled > since+lateness)
		g.stalled, g.stalledAt, g.pressed = total, r.Age, pressed && !leapt
	}
	r.MemoryStalled, r.MemoryPressure = g.stalled, g.pressed
	return nil
}

// vanished reports whether a file could not be read because its cgroup was removed.
func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV)
}

// The files that a cgroup's usage is read from, those of memory first.
const (
	memoryStat = iota
	memoryCurrent
	memoryPeak
	memoryEvents
	cpuStat
	cpuThrottle
	cpuPressure
	memoryPressure // read with those of the CPU: it sums up no statistics
	unifiedStat
	usageFiles
)

// The hierarchies of cgroup v1 that a file may be in, by preference.
var (
	inMemory  = []string{"memory"}
	inCpuacct = []string{"cpu,cpuacct", "cpuacct,cpu", "cpuacct"}
	inCPU     = []string{"cpu,cpuacct", "cpuacct,cpu", "cpu"}
	inUnified = []string{"unified"} // of the hybrid layout
)

// usageNames are what the files are called, empty where a version has none.
var usageNames = [usageFiles]struct {
	v2, v1      string
	hierarchies []string
}{
	memoryStat:     {"memory.stat", "memory.stat", inMemory},
	memoryCurrent:  {"memory.current", "memory.usage_in_bytes", inMemory},
	memoryPeak:     {"memory.peak", "memory.max_usage_in_bytes", inMemory},
	memoryEvents:   {"memory.events", "", nil},
	cpuStat:        {"cpu.stat", "cpuacct.usage", inCpuacct},
	cpuThrottle:    {"", "cpu.stat", inCPU},
	cpuPressure:    {"cpu.pressure", "cpu.pressure", inUnified},
	memoryPressure: {"memory.pressure", "memory.pressure", inUnified},
	unifiedStat:    {"", "cpu.stat", inUnified}, // beside the pressure
}

// usageFile is one of them: where the kubelet's tree is in its hierarchy and what
// the file is called. The name is empty where the layout has none.
type usageFile struct {
	top    *directory
	name   string
	needed bool
}

// path is that of a group's.
func (f *usageFile) path(group string) string { return filepath.Join(f.top.path, group, f.name) }

// usageLayout is where a kubelet's tree and the files of its cgroups are. On cgroup v1
// each controller may have a hierarchy of its own, in which the tree has the same
// path.
type usageLayout struct {
	v2 bool
	// top is the kubelet's directory in the hierarchy whose directories are listed.
	top   string
	files [usageFiles]usageFile
	// tops are those of the files, each once.
	tops []*directory
}

// close closes the directories, which are opened anew when a file of theirs is.
func (l *usageLayout) close() {
	for _, d := range l.tops {
		d.close()
	}
}

// set sets where a file is.
func (l *usageLayout) set(i int, top, name string) {
	at := slices.IndexFunc(l.tops, func(d *directory) bool { return d.path == top })
	if at < 0 {
		at, l.tops = len(l.tops), append(l.tops, &directory{path: top})
	}
	l.files[i] = usageFile{l.tops[at], name, i == memoryStat || i == cpuStat}
}

func newUsageLayout(root, hierarchy, tree string) usageLayout {
	l := usageLayout{v2: hierarchy == "", top: filepath.Join(root, hierarchy, tree)}
	for i, f := range usageNames {
		if l.v2 {
			l.set(i, l.top, f.v2)
			continue
		}
		for _, h := range f.hierarchies {
			if top := filepath.Join(root, h, tree); exists(top) {
				l.set(i, top, f.v1)
				break
			}
		}
	}
	return l
}

// classes are the directories of the tree that hold pods, relative to its top.
func (l *usageLayout) classes() []string {
	classes := []string{""}
	for _, name := range directories(l.top) {
		if isQoS(name) {
			classes = append(classes, name)
		}
	}
	return classes
}

// podDirectory is the name of the cgroup of a pod in the class: the inverse of podUID.
func (l *usageLayout) podDirectory(class, uid string) string {
	prefix, name := "", class
	if class == "" {
		name = filepath.Base(l.top)
	} else {
		prefix = class + "/"
	}
	if slice, systemd := strings.CutSuffix(name, ".slice"); systemd {
		return prefix + slice + "-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
	}
	return prefix + "pod" + uid
}

// containerID is the ID in the name of a container's cgroup: <id> with the cgroupfs
// driver, <runtime>-<id>.scope with systemd's.
func containerID(name string) string {
	name = strings.TrimSuffix(name, ".scope")
	return name[strings.LastIndexByte(name, '-')+1:]
}

// directories are the names of those in dir, sorted; none if it is not there.
func directories(dir string) []string {
	entries, _ := os.ReadDir(dir)
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() && e.Type()&os.ModeSymlink == 0 })
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// A keyed is a line of a flat file of keys and numbers, such as a cgroup's
// cpu.stat, that is looked for.
type keyed struct {
	name  string
	value uint64
	// needed: a text without it is incomplete. bad: it is there and not a number.
	needed, found, bad bool
}

// maxKeyed bounds numbers, so that those of a file add up without overflow.
const maxKeyed = 1 << 60

// parseKeyed reads the wanted lines of a text into their values. Only complete lines
// count. One that is no number, as where the kernel's sum ran below zero, is left out
// unless it is needed; the error wraps ErrPartial or ErrMalformed.
func parseKeyed(text []byte, want []keyed) error {
	for line, rest, ok := cutLine(text); ok; line, rest, ok = cutLine(rest) {
		name, field, _ := bytes.Cut(line, []byte(" "))
		for i := range want {
			k := &want[i]
			if string(name) != k.name {
				continue
			}
			value, after, found, valid := nextUint(field)
			if k.bad = !found || !valid || len(after) > 0 || value > maxKeyed; k.bad && !k.needed {
				break
			}
			if k.bad {
				return fmt.Errorf("%w: %s is not a number", ErrMalformed, k.name)
			}
			k.value, k.found = value, true
			break
		}
	}
	for i := range want {
		if want[i].needed && !want[i].found {
			return fmt.Errorf("%w: no %s", ErrPartial, want[i].name)
		}
	}
	return nil
}

// cpuTotals are what cpu.stat of a cgroup counts, in µs on cgroup v2. Of v1, Usage is
// elsewhere and Throttled in ns.
type cpuTotals struct {
	Usage, Periods, ThrottledPeriods, Throttled uint64
	// unthrottled: what a limit held up could not be read.
	unthrottled bool
}

// parseCPUTotals reads cpu.stat of cgroup v2. Without the cpu controller, or a limit,
// there are no periods.
func parseCPUTotals(text []byte) (cpuTotals, error) {
	want := [...]keyed{
		{name: "usage_usec", needed: true}, {name: "nr_periods"}, {name: "nr_throttled"}, {name: "throttled_usec"},
	}
	if err := parseKeyed(text, want[:]); err != nil {
		return cpuTotals{}, err
	}
	if want[1].bad || want[2].bad || want[3].bad {
		return cpuTotals{Usage: want[0].value, unthrottled: true}, nil
	}
	return cpuTotals{Usage: want[0].value, Periods: want[1].value, ThrottledPeriods: want[2].value, Throttled: want[3].value}, nil
}

// parseThrottling reads cpu.stat of cgroup v1.
func parseThrottling(text []byte) (cpuTotals, error) {
	want := [...]keyed{
		{name: "nr_periods", needed: true}, {name: "nr_throttled", needed: true}, {name: "throttled_time", needed: true},
	}
	if err := parseKeyed(text, want[:]); err != nil {
		return cpuTotals{}, err
	}
	return cpuTotals{Periods: want[0].value, ThrottledPeriods: want[1].value, Throttled: want[2].value}, nil
}

// parseMemoryUse reads memory.stat of cgroup v2 and returns what MemAvailable loses
// by the group, in bytes: the page cache, which it gives back, is not in it. Kernels
// name some kinds later than others.
func parseMemoryUse(text []byte) (uint64, error) {
	want := [...]keyed{
		{name: "anon", needed: true}, {name: "shmem", needed: true},
		{name: "slab_unreclaimable"}, {name: "kernel_stack"}, {name: "pagetables"}, {name: "sock"},
	}
	return bounded(parseSum(text, want[:]))
}

// parseMemoryUseV1 is the same of cgroup v1, whose memory.stat has no kernel memory.
func parseMemoryUseV1(text []byte) (uint64, error) {
	want := [...]keyed{{name: "total_rss", needed: true}, {name: "total_shmem"}} // shmem since Linux 4.16
	return bounded(parseSum(text, want[:]))
}

// parseOOMKills reads memory.events of cgroup v2.
func parseOOMKills(text []byte) (uint64, error) {
	want := [...]keyed{{name: "oom_kill", needed: true}}
	return parseSum(text, want[:])
}

// maxBytes is more memory than a machine has.
const maxBytes = 1 << 50

// parseBytes is ParseCounter of an amount of memory, which the kernel may have counted below
// zero.
func parseBytes(text []byte) (uint64, error) { return bounded(ParseCounter(text)) }

// bounded refuses an amount of memory that no machine has.
func bounded(value uint64, err error) (uint64, error) {
	if err == nil && value > maxBytes {
		return 0, fmt.Errorf("%w: %d bytes of memory", ErrMalformed, value)
	}
	return value, err
}

// parseSum adds up the wanted lines.
func parseSum(text []byte, want []keyed) (sum uint64, err error) {
	if err := parseKeyed(text, want); err != nil {
		return 0, err
	}
	for i := range want {
		sum += want[i].value
	}
	return sum, nil
}
