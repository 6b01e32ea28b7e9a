package social

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// Requests are due at the rate within phases, and not between them.
func TestScheduleTimes(t *testing.T) {
	s := newSchedule(Phases{{compose, time.Second}, {rest, 500 * time.Millisecond}, {read, time.Second}}, 2, 6*time.Second)
	for request, want := range map[int]struct {
		due     time.Duration
		compose bool
		ok      bool
	}{
		0: {0, true, true}, 1: {500 * time.Millisecond, true, true}, 2: {1500 * time.Millisecond, false, true}, 3: {2 * time.Second, false, true},
		4: {2500 * time.Millisecond, true, true}, 6: {4 * time.Second, false, true}, 9: {5500 * time.Millisecond, true, true}, 10: {6500 * time.Millisecond, false, false},
	} {
		if due, writes, ok := s.at(request); due != want.due || writes != want.compose || ok != want.ok {
			t.Errorf("request %d is due after %v, composes %v, within %v; want %+v", request, due, writes, ok, want)
		}
	}
}

// A request's latency counts from when it was due, however late it was sent, and it counts as late
// beyond ten milliseconds.
func TestLateRequestsCount(t *testing.T) {
	start := time.Unix(1000, 0)
	m := meter{schedule: newSchedule(nil, 1, time.Minute), latencies: hdrhistogram.New(leastMicros, mostMicros, digits)}
	for seq, late := range []time.Duration{0, 9 * time.Millisecond, 11 * time.Millisecond, 3 * time.Second} {
		sent := start.Add(time.Duration(seq)*time.Second + late)
		if err := m.count(&vegeta.Result{Seq: uint64(seq), Code: 200, Timestamp: sent, Latency: time.Millisecond}, start); err != nil {
			t.Fatal(err)
		}
	}
	r := m.result()
	if r.Late != .5 || r.Requests != 4 || math.Abs(r.P999-3.001) > .01 || math.Abs(r.P50-.010) > .001 {
		t.Errorf("%+v", r)
	}
	if err := m.count(&vegeta.Result{Seq: 4, Code: 503, Timestamp: start}, start); err != nil {
		t.Fatal(err)
	}
	if err := m.count(&vegeta.Result{Seq: 5, Error: "refused", Timestamp: start}, start); err != nil {
		t.Fatal(err)
	}
	if r := m.result(); r.Requests != 4 || r.Errors != 2 {
		t.Errorf("with two errors: %+v", r)
	}
	if err := (Phases{{Kind: "x"}}).validate(); !errors.Is(err, ErrInvalid) {
		t.Errorf("an unknown phase: %v", err)
	}
}
