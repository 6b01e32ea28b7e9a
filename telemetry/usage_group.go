package telemetry

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
