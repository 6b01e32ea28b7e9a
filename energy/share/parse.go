package share

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// userHZ is the unit of times in /proc/PID/stat, a hundredth of a second on every
// architecture that Go runs on.
const userHZ = 10 * time.Millisecond

// processStat is what /proc/PID/stat has of a process.
type processStat struct {
	// cpu is the time of all its threads, start when it was started in userHZ since the
	// machine was.
	cpu   time.Duration
	start uint64
	// ended reports that it is a zombie.
	ended bool
}

// parseStat reads the 3rd, 14th, 15th and 22nd field. The second is the command's name in
// parentheses and may hold anything; fields are counted after it.
func parseStat(text []byte) (processStat, error) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const state, user, system, start = 0, 11, 12, 19
	if len(fields) <= start || len(fields[state]) != 1 {
		return processStat{}, fmt.Errorf("%w: %d fields", errMalformed, len(fields))
	}
	var numbers [3]uint64
	for i, field := range [...]int{user, system, start} {
		n, err := strconv.ParseUint(string(fields[field]), 10, 64)
		if err != nil {
			return processStat{}, fmt.Errorf("%w: %w", errMalformed, err)
		}
		numbers[i] = n
	}
	const most = uint64(1<<63-1) / uint64(userHZ)
	if numbers[0] > most || numbers[1] > most-numbers[0] {
		return processStat{}, fmt.Errorf("%w: a time of %d and %d", errMalformed, numbers[0], numbers[1])
	}
	return processStat{
		cpu: time.Duration(numbers[0]+numbers[1]) * userHZ, start: numbers[2],
		ended: strings.IndexByte("ZXx", fields[state][0]) >= 0,
	}, nil
}

// mostCPUs bounds a guest's virtual CPUs.
const mostCPUs = 4096

// parseCommand reads the command line of a process, whose arguments end in zero bytes: the
// name of a QEMU guest, which is unchecked, and its virtual CPUs. It is false of
// what is no QEMU, or runs a guest without a name.
func parseCommand(line []byte) (name string, vcpus int, ok bool) {
	args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	if !isQEMU(args[0]) {
		return "", 0, false
	}
	vcpus = 1
	for i := 1; i+1 < len(args); i++ {
		switch args[i] {
		case "-name", "--name":
			i++
			name, ok = guestName(args[i])
		case "-smp", "--smp":
			i++
			vcpus = guestCPUs(args[i])
		}
	}
	return name, vcpus, ok
}

// isQEMU reports whether the first argument of a process is an emulator of a whole machine.
func isQEMU(arg string) bool {
	base := arg[strings.LastIndexByte(arg, '/')+1:]
	return strings.HasPrefix(base, "qemu-") && strings.Contains(base, "-system-") || base == "qemu-kvm" || base == "kvm"
}

// guestName is the name that QEMU's option -name gives a guest: guest=NAME or the first of
// its parts. A comma in a name is written twice.
func guestName(option string) (string, bool) {
	const comma = "\x00" // is in no argument
	for i, part := range strings.Split(strings.ReplaceAll(option, ",,", comma), ",") {
		part = strings.ReplaceAll(part, comma, ",")
		key, value, pair := strings.Cut(part, "=")
		switch {
		case pair && key == "guest":
			return value, value != ""
		case !pair && i == 0 && part != "":
			return part, true
		}
	}
	return "", false
}

// guestCPUs are the virtual CPUs of QEMU's option -smp: cpus=N or its first part, or else
// the product of the topology; 1 if it has neither.
func guestCPUs(option string) int {
	product := 1
	for i, part := range strings.Split(option, ",") {
		key, value, pair := strings.Cut(part, "=")
		if !pair && i == 0 {
			key, value = "cpus", part
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > mostCPUs {
			continue
		}
		switch key {
		case "cpus":
			return n
		case "sockets", "dies", "clusters", "modules", "cores", "threads":
			product = min(product*n, mostCPUs)
		}
	}
	return product
}

// parseScope reads the name of the control group of a guest, which systemd or libvirt has
// given it: machine-qemu\x2d3\x2dNAME.scope or qemu-3-NAME.libvirt-qemu, where 3 distinguishes one
// start of the guest from another.
func parseScope(dir string) (name string, ok bool) {
	machine, isScope := strings.CutSuffix(dir, ".scope")
	if isScope {
		machine, isScope = strings.CutPrefix(unescape(machine), "machine-")
	}
	if !isScope {
		if machine, ok = strings.CutSuffix(dir, ".libvirt-qemu"); !ok {
			return "", false
		}
	}
	machine, ok = strings.CutPrefix(machine, "qemu-")
	if !ok {
		return "", false
	}
	id, name, found := strings.Cut(machine, "-")
	if _, err := strconv.ParseUint(id, 10, 64); err != nil || !found || name == "" {
		return machine, machine != "" // another than libvirt has made it
	}
	return name, true
}

// unescape undoes systemd's escaping of bytes in names of units: \x2d is a dash.
func unescape(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if i+4 <= len(name) && name[i] == '\\' && name[i+1] == 'x' {
			if c, err := strconv.ParseUint(name[i+2:i+4], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// parseUsage reads the CPU time of a control group: cpu.stat of version 2, whose usage_usec
// is in µs, or cpuacct.usage of version 1, a number of ns.
func parseUsage(text []byte) (time.Duration, error) {
	unit := time.Nanosecond
	digits := bytes.TrimSuffix(text, []byte("\n"))
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("usage_usec ")); ok {
			unit, digits = time.Microsecond, bytes.TrimSuffix(rest, []byte("\n"))
			break
		}
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil || n > uint64(1<<63-1)/uint64(unit) {
		return 0, fmt.Errorf("%w: no CPU time", errMalformed)
	}
	return time.Duration(n) * unit, nil
}
