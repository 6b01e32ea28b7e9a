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
	// needed: a text without it is incomplete.
	needed, found bool
}

// maxKeyed bounds numbers, so that those of a file add up without overflow.
const maxKeyed = 1 << 60

// parseKeyed reads the wanted lines of a text into their values. Only complete lines
// count; the error wraps ErrPartial or ErrMalformed.
func parseKeyed(text []byte, want []keyed) error {
	for {
		line, rest, ok := cutLine(text)
		if !ok {
			break
		}
		text = rest
		name, field, _ := bytes.Cut(line, []byte(" "))
		for i := range want {
			k := &want[i]
			if string(name) != k.name {
				continue
			}
			value, after, found, valid := nextUint(field)
			if !found || !valid || len(after) > 0 || value > maxKeyed {
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
	return cpuTotals{want[0].value, want[1].value, want[2].value, want[3].value}, nil
}

// parseThrottling reads cpu.stat of cgroup v1.
func parseThrottling(text []byte) (cpuTotals, error) {
	want := [...]keyed{
		{name: "nr_periods", needed: true}, {name: "nr_throttled", needed: true}, {name: "throttled_time", needed: true},
	}
	if err := parseKeyed(text, want[:]); err != nil {
		return cpuTotals{}, err
	}
	return cpuTotals{0, want[0].value, want[1].value, want[2].value}, nil
}

// parseMemoryUse reads memory.stat of cgroup v2 and returns what MemAvailable loses
// by the group, in bytes: the page cache, which it gives back, is not in it. Kernels
// name some kinds later than others.
func parseMemoryUse(text []byte) (uint64, error) {
	want := [...]keyed{
		{name: "anon", needed: true}, {name: "shmem", needed: true},
		{name: "slab_unreclaimable"}, {name: "kernel_stack"}, {name: "pagetables"}, {name: "sock"},
	}
	return parseSum(text, want[:])
}

// parseMemoryUseV1 is the same of cgroup v1, whose memory.stat tells no kernel memory.
func parseMemoryUseV1(text []byte) (uint64, error) {
	want := [...]keyed{{name: "total_rss", needed: true}, {name: "total_shmem"}} // shmem since Linux 4.16
	return parseSum(text, want[:])
}

// parseOOMKills reads memory.events of cgroup v2.
func parseOOMKills(text []byte) (uint64, error) {
	want := [...]keyed{{name: "oom_kill", needed: true}}
	return parseSum(text, want[:])
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
