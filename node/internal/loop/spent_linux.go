package loop

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// ReadSpent returns what there is to know about this process and machine; what
// can't be read is 0.
func ReadSpent() Spent {
	var s Spent
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		s.Own = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	// The first line of stat: cpu user nice system idle iowait irq softirq steal.
	if text, err := os.ReadFile("/proc/stat"); err == nil {
		s.Stolen = time.Duration(field(text, 8)) * 10 * time.Millisecond
	}
	return s
}

// field is a number of the first line, counted from 0; 0 if it is none.
func field(text []byte, i int) int64 {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line)
	if i >= len(fields) {
		return 0
	}
	n, err := strconv.ParseInt(string(fields[i]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
