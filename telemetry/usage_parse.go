package telemetry

import (
	"bytes"
	"fmt"
)

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
