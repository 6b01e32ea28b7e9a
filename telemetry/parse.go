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

// statTimes is what the cpu channel takes from /proc/stat. A part that cannot be read
// costs that part alone: its error is set, and the others hold.
type statTimes struct {
	CPUTimes
	// idle and iowait are the parts of Idle. The kernel lets iowait decrease.
	idle, iowait uint64

	badBusy, badIdle, badRunning error
}

// ParseStat reads the text of /proc/stat. Only complete lines count; the error
// wraps ErrPartial or ErrMalformed.
func ParseStat(text []byte) (CPUTimes, error) {
	t, err := parseStat(text)
	for _, bad := range []error{err, t.badBusy, t.badIdle, t.badRunning} {
		if bad != nil {
			return CPUTimes{}, bad
		}
	}
	return t.CPUTimes, nil
}

// parseStat is ParseStat with an error for each part of what is read.
func parseStat(text []byte) (statTimes, error) {
	line, rest, ok := cutLine(text)
	if !ok {
		return statTimes{}, fmt.Errorf("%w: no cpu line", ErrPartial)
	}
	fields, ok := bytes.CutPrefix(line, []byte("cpu "))
	if !ok {
		return statTimes{}, fmt.Errorf("%w: first line is not the cpu line", ErrMalformed)
	}
	t, err := parseTimes(fields)
	if err != nil {
		return statTimes{}, err
	}
	for {
		line, rest, ok = cutLine(rest)
		if !ok || len(line) < 4 || line[3] < '0' || line[3] > '9' || !bytes.HasPrefix(line, []byte("cpu")) {
			break
		}
		t.Online++
	}
	if t.Online == 0 {
		return statTimes{}, fmt.Errorf("%w: no line of a single CPU", ErrPartial)
	}
	t.badRunning = errNoRunning
	for ; ok; line, rest, ok = cutLine(rest) {
		if field, found := bytes.CutPrefix(line, []byte("procs_running ")); found {
			t.Running, t.badRunning = parseRunning(field)
			break
		}
	}
	return t, nil
}

var errNoRunning = fmt.Errorf("%w: no line procs_running", ErrPartial)

// mostTasks is the most tasks that Linux can have (PID_MAX_LIMIT).
const mostTasks = 1 << 22

func parseRunning(field []byte) (uint64, error) {
	value, after, found, valid := nextUint(field)
	if !found || !valid || len(after) > 0 || value > mostTasks {
		return 0, fmt.Errorf("%w: procs_running is not a number up to %d", ErrMalformed, mostTasks)
	}
	return value, nil
}

// parseTimes reads the times of the cpu line: user nice system idle iowait irq
// softirq steal. Old kernels have the first four only.
func parseTimes(fields []byte) (statTimes, error) {
	var t statTimes
	for n := range 8 {
		field := nextField(&fields)
		if len(field) == 0 && n < 4 {
			return statTimes{}, fmt.Errorf("%w: the cpu line has %d fields", ErrMalformed, n)
		}
		if len(field) == 0 {
			break
		}
		value, _, _, valid := nextUint(field)
		sum, bad := &t.Busy, &t.badBusy
		switch n {
		case 3:
			sum, bad, t.idle = &t.Idle, &t.badIdle, value
		case 4:
			sum, bad, t.iowait = &t.Idle, &t.badIdle, value
		case 7:
			t.Steal = value
		}
		var carry uint64
		if *sum, carry = bits.Add64(*sum, value, 0); !valid || carry != 0 {
			*bad = fmt.Errorf("%w: field %d of the cpu line", ErrMalformed, n+1)
		}
	}
	return t, nil
}

// nextField cuts what stands up to the next space from fields; it is empty at the end.
func nextField(fields *[]byte) []byte {
	field, rest, _ := bytes.Cut(bytes.TrimLeft(*fields, " "), []byte(" "))
	*fields = rest
	return field
}

// Stall holds the totals of a pressure file in µs of wall time.
type Stall struct {
	// Some is the time in which at least one task waited, Full that in which
	// all did; Full is 0 where the kernel does not have it.
	Some, Full uint64
}

// ParsePressure reads the text of a file of /proc/pressure or of a cgroup's
// *.pressure. A line for full that is malformed is as good as none. The error wraps
// ErrPartial or ErrMalformed.
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
		value, err := parseTotal(fields)
		if err != nil && dst == &s.Some {
			return Stall{}, err
		}
		*dst = value
	}
	if !found {
		return Stall{}, fmt.Errorf("%w: no line for some", ErrPartial)
	}
	return s, nil
}

// parseTotal reads the total of a pressure line.
func parseTotal(fields []byte) (uint64, error) {
	for {
		field := nextField(&fields)
		if len(field) == 0 {
			return 0, fmt.Errorf("%w: no total", ErrMalformed)
		}
		number, is := bytes.CutPrefix(field, []byte("total="))
		if !is {
			continue
		}
		value, _, found, valid := nextUint(number)
		if !found || !valid {
			return 0, fmt.Errorf("%w: total is not a number", ErrMalformed)
		}
		return value, nil
	}
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
	Total uint64
	// Available is MemAvailable; HasAvailable is false on kernels that have none
	// (before 3.14), and where it cannot be read.
	Available    uint64
	HasAvailable bool
	// HasCache is false where one of Free, Buffers and Cached is missing or cannot be
	// read, or they are more than Total together; they are 0 then.
	Free, Buffers, Cached uint64
	HasCache              bool
}

// parseMeminfo reads the text of /proc/meminfo. MemTotal must be there; of the others
// one that is missing, malformed or larger than MemTotal costs what needs it alone.
// The error wraps ErrPartial or ErrMalformed.
func parseMeminfo(text []byte) (meminfo, error) {
	var m meminfo
	values := [...]keyed{{name: "MemTotal"}, {name: "MemAvailable"}, {name: "MemFree"}, {name: "Buffers"}, {name: "Cached"}}
	seen, left := 0, len(values)
	var malformed error
	for left > 0 {
		line, rest, ok := cutLine(text)
		if !ok {
			break
		}
		text = rest
		key, field, _ := bytes.Cut(line, []byte(":"))
		for i := range values {
			v := &values[i]
			if string(key) != v.name || seen&(1<<i) != 0 {
				continue
			}
			seen, left = seen|1<<i, left-1
			value, after, found, valid := nextUint(field)
			if v.found = found && valid && string(after) == " kB" && value <= maxKiB; v.found {
				v.value = value << 10
			} else if i == 0 {
				malformed = fmt.Errorf("%w: MemTotal is not a number of kB", ErrMalformed)
			}
		}
	}
	total := values[0].value
	switch {
	case malformed != nil:
		return meminfo{}, malformed
	case seen&1 == 0:
		return meminfo{}, fmt.Errorf("%w: MemTotal is missing", ErrPartial)
	case total == 0:
		return meminfo{}, fmt.Errorf("%w: MemTotal is 0", ErrMalformed)
	}
	m.Total = total
	for i := range values {
		values[i].found = values[i].found && values[i].value <= total
	}
	if m.HasAvailable = values[1].found; m.HasAvailable {
		m.Available = values[1].value
	}
	cache := values[2].value + values[3].value + values[4].value
	if m.HasCache = values[2].found && values[3].found && values[4].found && cache <= total; m.HasCache {
		m.Free, m.Buffers, m.Cached = values[2].value, values[3].value, values[4].value
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

// cutLine returns the first complete line without its newline, be that one of two
// characters; ok is false when there is none.
func cutLine(text []byte) (line, rest []byte, ok bool) {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		return nil, nil, false
	}
	return bytes.TrimSuffix(text[:i], []byte{'\r'}), text[i+1:], true
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

// parseInterfaces returns the names of the network interfaces in the text of
// /proc/net/dev, in its order. They are appended to dst[:0], so that a reused dst
// saves the allocation, and point into text. Every name is fit for a path. A line
// without one is left out, unless there is no other. The error wraps ErrPartial or
// ErrMalformed.
func parseInterfaces(dst [][]byte, text []byte) ([][]byte, error) {
	dst = dst[:0]
	for range 2 { // the heading
		line, rest, ok := cutLine(text)
		switch {
		case !ok:
			return dst, fmt.Errorf("%w: no heading", ErrPartial)
		case bytes.IndexByte(line, '|') < 0:
			return dst, fmt.Errorf("%w: no heading", ErrMalformed)
		}
		text = rest
	}
	malformed := false
	for {
		line, rest, ok := cutLine(text)
		if !ok {
			break
		}
		text = rest
		name, _, ok := bytes.Cut(line, []byte(":"))
		name = bytes.TrimLeft(name, " ")
		if !ok || !isInterfaceName(name) {
			malformed = true
			continue
		}
		dst = append(dst, name)
	}
	if malformed && len(dst) == 0 {
		return dst, fmt.Errorf("%w: a line without an interface", ErrMalformed)
	}
	return dst, nil
}

// isInterfaceName holds to the kernel's rule: neither . nor .., no slash, colon
// or white space.
func isInterfaceName(name []byte) bool {
	if len(name) == 0 || string(name) == "." || string(name) == ".." {
		return false
	}
	for _, b := range name {
		if b <= ' ' || b == '/' || b == ':' || b == 0x7f {
			return false
		}
	}
	return true
}

// parseLinkSpeed reads the text of a network interface's speed, in Mbit/s, and
// returns bytes per second; known is false where the driver does not show it (-1, or
// its 32 bits unsigned as older kernels print it, or 0). The error wraps
// ErrPartial or ErrMalformed.
func parseLinkSpeed(text []byte) (bytesPerSecond float64, known bool, err error) {
	if line, rest, _ := cutLine(text); string(line) == "-1" && bytes.IndexByte(rest, '\n') < 0 {
		return 0, false, nil
	}
	megabits, err := ParseCounter(text)
	switch {
	case err != nil:
		return 0, false, err
	case megabits == 0 || megabits == 1<<32-1:
		return 0, false, nil
	case megabits > 1<<32-1:
		return 0, false, fmt.Errorf("%w: a speed of %d Mbit/s", ErrMalformed, megabits)
	}
	return float64(megabits) * 1e6 / 8, true, nil
}
