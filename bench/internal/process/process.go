// Package process reads what a process takes, and its metrics.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of times in /proc/PID/stat: USER_HZ, 100 on every architecture
// Go runs on.
const tick = 10 * time.Millisecond

// ErrMalformed is a file under /proc that is not of the kernel's form.
var ErrMalformed = errors.New("not of the kernel's form")

// CPU is the user and system time of a process so far.
func CPU(pid int) (time.Duration, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	d, err := parseStat(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// parseStat adds utime and stime, the 14th and 15th field. The second is the
// command's name in parentheses and may hold anything; the fields are counted
// after it.
func parseStat(text []byte) (time.Duration, error) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, ErrMalformed
	}
	var ticks time.Duration
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		ticks += time.Duration(n)
	}
	return ticks * tick, nil
}

// Memory is what a process has resident and the most it ever had, in MiB.
func Memory(pid int) (resident, peak float64, err error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	status, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	resident, err = mebibytes(status, "VmRSS:")
	if err == nil {
		peak, err = mebibytes(status, "VmHWM:")
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	return resident, peak, nil
}

// mebibytes returns a field of /proc/PID/status, which is in KiB.
func mebibytes(status []byte, field string) (float64, error) {
	for line := range bytes.Lines(status) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == field {
			kib, err := strconv.ParseFloat(string(f[1]), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("%s: %w", field, ErrMalformed)
}
