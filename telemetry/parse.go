package telemetry

import (
	"bytes"
	"fmt"
	"math/bits"
)

// ticksPerSecond is the unit of the times in /proc/stat, USER_HZ: 100 on every
// architecture that runs a kubelet.
const ticksPerSecond = 100

// CPUTimes is what ParseStat takes from /proc/stat.
type CPUTimes struct {
	// Busy and Idle sum the first line in ticks of 10 ms: idle and iowait are
	// Idle, everything else is Busy. Guest time is already part of user time.
	Busy, Idle uint64
	// Steal is the part of Busy in which the hypervisor ran other machines.
	Steal uint64
	// Online is the number of online CPUs.
	Online int
	// Running is the number of tasks that run or wait for a CPU at the moment of
	// reading, of all scheduling classes, the reader's own included.
	Running uint64
}

// ParseStat reads the text of /proc/stat. Only complete lines count; the error
// wraps ErrPartial or ErrMalformed.
func ParseStat(text []byte) (CPUTimes, error) {
	line, rest, ok := cutLine(text)
	if !ok {
		return CPUTimes{}, fmt.Errorf("%w: no cpu line", ErrPartial)
	}
	fields, ok := bytes.CutPrefix(line, []byte("cpu "))
	if !ok {
		return CPUTimes{}, fmt.Errorf("%w: first line is not the cpu line", ErrMalformed)
	}
	t, err := parseTimes(fields)
	if err != nil {
		return CPUTimes{}, err
	}
	for {
		line, rest, ok = cutLine(rest)
		if !ok || len(line) < 4 || line[3] < '0' || line[3] > '9' || !bytes.HasPrefix(line, []byte("cpu")) {
			break
		}
		t.Online++
	}
	if t.Online == 0 {
		return CPUTimes{}, fmt.Errorf("%w: no line of a single CPU", ErrPartial)
	}
	for ; ok; line, rest, ok = cutLine(rest) {
		field, found := bytes.CutPrefix(line, []byte("procs_running "))
		if !found {
			continue
		}
		value, after, found, valid := nextUint(field)
		if !found || !valid || len(after) > 0 {
			return CPUTimes{}, fmt.Errorf("%w: procs_running is not a number", ErrMalformed)
		}
		t.Running = value
		return t, nil
	}
	return CPUTimes{}, fmt.Errorf("%w: no line procs_running", ErrPartial)
}

// parseTimes reads the times of the cpu line: user nice system idle iowait irq
// softirq steal. Old kernels have the first four only.
func parseTimes(fields []byte) (CPUTimes, error) {
	var t CPUTimes
	for n := range 8 {
		value, after, found, valid := nextUint(fields)
		if !valid {
			return CPUTimes{}, fmt.Errorf("%w: field %d of the cpu line", ErrMalformed, n+1)
		}
		if !found && n < 4 {
			return CPUTimes{}, fmt.Errorf("%w: the cpu line has %d fields", ErrMalformed, n)
		}
		if !found {
			break
		}
		fields = after
		sum := &t.Busy
		switch n {
		case 3, 4:
			sum = &t.Idle
		case 7:
			t.Steal = value
		}
		var carry uint64
		if *sum, carry = bits.Add64(*sum, value, 0); carry != 0 {
			return CPUTimes{}, fmt.Errorf("%w: the cpu line overflows", ErrMalformed)
		}
	}
	return t, nil
}

// Stall holds the totals of a pressure file in µs of wall time.
type Stall struct {
	// Some is the time in which at least one task waited, Full that in which
	// all did; Full is 0 where the kernel does not have it.
	Some, Full uint64
}

// ParsePressure reads the text of a file of /proc/pressure or of a cgroup's
// *.pressure. The error wraps ErrPartial or ErrMalformed.
func ParsePressure(text []byte) (Stall, error) {
	var s Stall
	found := false
	for {
		line, rest, ok := cutLine(text)
		if !ok {
			break
		}
		text = rest
		kind, fields, _ := bytes.Cut(line, []byte(" "))
		var dst *uint64
		switch string(kind) {
		case "some":
			dst, found = &s.Some, true
		case "full":
			dst = &s.Full
		default:
			continue
		}
		at := bytes.Index(fields, []byte("total="))
		if at < 0 {
			return Stall{}, fmt.Errorf("%w: no total", ErrMalformed)
		}
		value, after, ok, valid := nextUint(fields[at+len("total="):])
		if !ok || !valid || len(after) > 0 {
			return Stall{}, fmt.Errorf("%w: total is not a number", ErrMalformed)
		}
		*dst = value
	}
	if !found {
		return Stall{}, fmt.Errorf("%w: no line for some", ErrPartial)
	}
	return s, nil
}

// ParseCPUStat reads the text of cpu.stat of cgroup v2 and returns usage_usec,
// the CPU time used in µs, summed over CPUs. The error wraps ErrPartial or
// ErrMalformed.
func ParseCPUStat(text []byte) (uint64, error) {
	for {
		line, rest, ok := cutLine(text)
		if !ok {
			return 0, fmt.Errorf("%w: no usage_usec", ErrPartial)
		}
		text = rest
		field, found := bytes.CutPrefix(line, []byte("usage_usec "))
		if !found {
			continue
		}
		value, after, ok, valid := nextUint(field)
		if !ok || !valid || len(after) > 0 {
			return 0, fmt.Errorf("%w: usage_usec is not a number", ErrMalformed)
		}
		return value, nil
	}
}

// meminfo holds what parseMeminfo takes from /proc/meminfo, in bytes.
type meminfo struct {
	Total, Free, Available, Buffers, Cached uint64
	// HasAvailable is false on kernels that have no MemAvailable (before 3.14).
	HasAvailable bool
}

// parseMeminfo reads the text of /proc/meminfo. MemTotal, MemFree, Buffers and
// Cached must be there, and nothing may exceed MemTotal. The error wraps
// ErrPartial or ErrMalformed.
func parseMeminfo(text []byte) (meminfo, error) {
	var m meminfo
	const total, free, available, buffers, cached = 1, 2, 4, 8, 16
	seen := 0
	for seen != total|free|available|buffers|cached {
		line, rest, ok := cutLine(text)
		if !ok {
			break
		}
		text = rest
		key, field, _ := bytes.Cut(line, []byte(":"))
		var dst *uint64
		switch string(key) {
		case "MemTotal":
			dst, seen = &m.Total, seen|total
		case "MemFree":
			dst, seen = &m.Free, seen|free
		case "MemAvailable":
			dst, seen = &m.Available, seen|available
		case "Buffers":
			dst, seen = &m.Buffers, seen|buffers
		case "Cached":
			dst, seen = &m.Cached, seen|cached
		default:
			continue
		}
		value, after, ok, valid := nextUint(field)
		if !ok || !valid || string(after) != " kB" || value > maxKiB {
			return meminfo{}, fmt.Errorf("%w: %s is not a number of kB", ErrMalformed, key)
		}
		*dst = value << 10
	}
	if seen|available != total|free|available|buffers|cached {
		return meminfo{}, fmt.Errorf("%w: MemTotal, MemFree, Buffers or Cached is missing", ErrPartial)
	}
	m.HasAvailable = seen&available != 0
	if m.Total == 0 || max(m.Free, m.Available, m.Buffers, m.Cached) > m.Total {
		return meminfo{}, fmt.Errorf("%w: MemTotal is not the largest value", ErrMalformed)
	}
	return m, nil
}

// ParseCounter reads the text of a file that holds one number on one line, as
// cpuacct.usage and the statistics of a network interface do. The error wraps
// ErrPartial or ErrMalformed.
func ParseCounter(text []byte) (uint64, error) {
	line, rest, ok := cutLine(text)
	if !ok {
		return 0, fmt.Errorf("%w: no number", ErrPartial)
	}
	value, after, ok, valid := nextUint(line)
	if !ok || !valid || len(after) > 0 || bytes.IndexByte(rest, '\n') >= 0 {
		return 0, fmt.Errorf("%w: not one number", ErrMalformed)
	}
	return value, nil
}

// maxKiB is the largest number of KiB whose bytes, four of them summed, fit
// an uint64.
const maxKiB = 1<<52 - 1

// cutLine returns the first complete line without its newline; ok is false when
// there is none.
func cutLine(text []byte) (line, rest []byte, ok bool) {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		return nil, nil, false
	}
	return text[:i], text[i+1:], true
}

// nextUint skips spaces and reads a decimal number up to a space or the end.
// found is false when only spaces are left, valid when anything else stands
// there or the number does not fit.
func nextUint(field []byte) (value uint64, rest []byte, found, valid bool) {
	i := 0
	for i < len(field) && field[i] == ' ' {
		i++
	}
	start := i
	for i < len(field) && field[i] != ' ' {
		digit := field[i] - '0'
		if digit > 9 || value > (1<<64-1-uint64(digit))/10 {
			return 0, nil, false, false
		}
		value = value*10 + uint64(digit)
		i++
	}
	return value, field[i:], i > start, true
}
