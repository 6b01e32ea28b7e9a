package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// usage is what a process took.
type usage struct {
	// Millicores is CPU time in ms over wall time in s.
	Millicores float64 `json:"millicores"`
	// MeanMiB and MaxMiB are of VmRSS over the run, PeakMiB is VmHWM: the most
	// since the process started.
	MeanMiB float64 `json:"rss_mean_mib"`
	MaxMiB  float64 `json:"rss_max_mib"`
	PeakMiB float64 `json:"rss_peak_mib"`
}

// tick is the unit of times in /proc/PID/stat: USER_HZ is 100 on every
// architecture Go runs on.
const tick = 10 * time.Millisecond

// meter follows one process.
type meter struct {
	dir   string
	began time.Time
	cpu   time.Duration
	usage usage
	looks int
}

func newMeter(pid int) (*meter, error) {
	m := &meter{dir: fmt.Sprintf("/proc/%d", pid), began: time.Now()}
	var err error
	m.cpu, err = m.cpuTime()
	return m, err
}

// look takes a sample of the memory.
func (m *meter) look() error {
	status, err := os.ReadFile(m.dir + "/status")
	if err != nil {
		return err
	}
	rss, err := mebibytes(status, "VmRSS:")
	if err != nil {
		return err
	}
	if m.usage.PeakMiB, err = mebibytes(status, "VmHWM:"); err != nil {
		return err
	}
	m.looks++
	m.usage.MeanMiB += (rss - m.usage.MeanMiB) / float64(m.looks)
	m.usage.MaxMiB = max(m.usage.MaxMiB, rss)
	return nil
}

// total returns the usage so far.
func (m *meter) total() (usage, error) {
	if err := m.look(); err != nil {
		return usage{}, err
	}
	cpu, err := m.cpuTime()
	if err != nil {
		return usage{}, err
	}
	u := m.usage
	u.Millicores = 1000 * (cpu - m.cpu).Seconds() / time.Since(m.began).Seconds()
	return u, nil
}

var errMalformed = errors.New("not of the kernel's form")

// cpuTime is utime + stime, the 14th and 15th field of stat; the second is the
// name in parentheses and may hold anything.
func (m *meter) cpuTime() (time.Duration, error) {
	path := m.dir + "/stat"
	stat, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("%s: %w", path, errMalformed)
	}
	var ticks time.Duration
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		ticks += time.Duration(n)
	}
	return ticks * tick, nil
}

// mebibytes returns a field of /proc/PID/status, which is in KiB.
func mebibytes(status []byte, field string) (float64, error) {
	for line := range bytes.Lines(status) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == field {
			kib, err := strconv.ParseFloat(string(f[1]), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("%s: %w", field, errMalformed)
}
