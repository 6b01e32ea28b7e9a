package social

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// Load is what is sent where. Targets, Rate, Connections and Duration are required.
type Load struct {
	// Targets are host:port of the servers, which take turns.
	Targets []string `json:"targets"`
	// Rate is requests a second.
	Rate float64 `json:"rate"`
	// Connections is the most that are open to each target.
	Connections int `json:"connections"`
	// Duration is how long requests are due.
	Duration time.Duration `json:"duration"`
	Phases   Phases        `json:"phases,omitempty"`
}

// Validate names the first field that is out of range.
func (c Load) Validate() error {
	switch {
	case len(c.Targets) == 0:
		return refuse("Targets", c.Targets, "some")
	case !(c.Rate > 0 && c.Rate <= 1e6):
		return refuse("Rate", c.Rate, "above 0 and at most a million a second")
	case c.Connections < 1 || c.Connections > 1e5:
		return refuse("Connections", c.Connections, "1 to 100000")
	case c.Duration <= 0 || c.Duration > 365*24*time.Hour:
		return refuse("Duration", c.Duration, "above 0 and at most a year")
	}
	return c.Phases.validate()
}

// LoadResult is what came of a Load; times are in seconds.
type LoadResult struct {
	// Requests have been answered well, Errors not or never.
	Requests int `json:"requests"`
	Errors   int `json:"errors"`
	// Error is the first of them.
	Error string `json:"error,omitempty"`
	// P50, P99 and P999 are quantiles of the time from when a request was due until it had
	// been answered well.
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	// Late is the share of the requests that were sent more than LateAfter after they
	// were due.
	Late float64 `json:"late"`
}

// LateAfter is when a request counts as late.
const LateAfter = 10 * time.Millisecond

// The histogram's range and digits: a microsecond to two minutes.
const (
	leastMicros = 1
	mostMicros  = int64(2 * time.Minute / time.Microsecond)
	digits      = 3
)

// timeout is what an answer may take.
const timeout = time.Minute

// runLoad sends the requests and returns when the last has been answered, or ctx ends. It calls
// began when the first is due.
func runLoad(ctx context.Context, c Load, began func()) (LoadResult, error) {
	if err := c.Validate(); err != nil {
		return LoadResult{}, err
	}
	s := newSchedule(c.Phases, c.Rate, c.Duration)
	attacker := vegeta.NewAttacker(vegeta.Client(loadClient(c.Connections)))
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()
	p := &pacer{schedule: s, began: began}
	m := meter{schedule: s, latencies: hdrhistogram.New(leastMicros, mostMicros, digits)}
	for r := range attacker.Attack(targeter(c.Targets, s), p, 0, "") {
		if err := m.count(r, p.start); err != nil {
			return LoadResult{}, err
		}
	}
	if ctx.Err() != nil {
		return LoadResult{}, context.Cause(ctx)
	}
	return m.result(), nil
}

// client has so many connections to each target, and waits for one where all are busy: that
// is part of what a request takes.
func loadClient(connections int) *http.Client {
	return &http.Client{Timeout: timeout, Transport: &http.Transport{
		MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections,
	}}
}

// pacer says when the next request is due. It is for the attack's one goroutine; start is
// there before the first result.
type pacer struct {
	schedule schedule
	began    func()
	start    time.Time
}

// Pace implements vegeta.Pacer.
func (p *pacer) Pace(elapsed time.Duration, sent uint64) (wait time.Duration, stop bool) {
	if p.start.IsZero() {
		p.start = time.Now().Add(-elapsed)
		p.began()
	}
	due, _, ok := p.schedule.at(int(sent))
	return max(due-elapsed, 0), !ok
}

// Rate implements vegeta.Pacer.
func (p *pacer) Rate(time.Duration) float64 { return p.schedule.rate }

// targeter hands out the targets in turn.
func targeter(targets []string, s schedule) vegeta.Targeter {
	var next atomic.Int64
	return func(t *vegeta.Target) error {
		n := int(next.Add(1) - 1)
		op := read
		if _, writes, _ := s.at(n); writes {
			op = compose
		}
		t.Method, t.URL = http.MethodGet, "http://"+targets[n%len(targets)]+"/"+string(op)
		return nil
	}
}

// meter counts results.
type meter struct {
	schedule  schedule
	latencies *hdrhistogram.Histogram
	sent      int
	late      int
	errors    int
	first     string // error
}

func (m *meter) count(r *vegeta.Result, start time.Time) error {
	due, _, _ := m.schedule.at(int(r.Seq))
	at := start.Add(due)
	m.sent++
	if r.Timestamp.Sub(at) > LateAfter {
		m.late++
	}
	if r.Error != "" || r.Code != http.StatusOK {
		m.errors++
		if m.first == "" {
			m.first = fmt.Sprintf("%d %s %s", r.Code, r.Error, r.Body)
		}
		return nil
	}
	micros := r.Timestamp.Add(r.Latency).Sub(at).Microseconds()
	return m.latencies.RecordValue(min(max(micros, leastMicros), mostMicros))
}

func (m *meter) result() LoadResult {
	quantile := func(percent float64) float64 { return float64(m.latencies.ValueAtQuantile(percent)) / 1e6 }
	return LoadResult{
		Requests: m.sent - m.errors, Errors: m.errors, Error: m.first,
		P50: quantile(50), P99: quantile(99), P999: quantile(99.9),
		Late: float64(m.late) / float64(max(m.sent, 1)),
	}
}
