package main

import (
	"time"

	"github.com/spazio-scheduler/spazio/bench/internal/process"
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

// meter follows one process.
type meter struct {
	pid     int
	began   time.Time
	cpu     time.Duration
	usage   usage
	samples int
}

func newMeter(pid int) (*meter, error) {
	m := &meter{pid: pid, began: time.Now()}
	var err error
	m.cpu, err = process.CPU(pid)
	return m, err
}

// sample reads the memory.
func (m *meter) sample() error {
	resident, peak, err := process.Memory(m.pid)
	if err != nil {
		return err
	}
	m.samples++
	m.usage.MeanMiB += (resident - m.usage.MeanMiB) / float64(m.samples)
	m.usage.MaxMiB = max(m.usage.MaxMiB, resident)
	m.usage.PeakMiB = peak
	return nil
}

// total returns the usage so far.
func (m *meter) total() (usage, error) {
	if err := m.sample(); err != nil {
		return usage{}, err
	}
	cpu, err := process.CPU(m.pid)
	if err != nil {
		return usage{}, err
	}
	u := m.usage
	u.Millicores = 1000 * (cpu - m.cpu).Seconds() / time.Since(m.began).Seconds()
	return u, nil
}
