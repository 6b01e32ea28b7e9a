package reserve_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/reserve"
)

func TestFreshness(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name      string
		freshness reserve.Freshness
		reported  time.Duration // when; negative for never
		now       time.Duration
		fresh     bool
		ranked    bool
		want      reserve.Reason // where the report says NoRoom
		slots     int            // where it has one
	}{
		{"fresh", reserve.Freshness{}, 10 * s, 15 * s, true, true, reserve.NoRoom, 1},
		{"old", reserve.Freshness{}, 10 * s, 15*s + 1, false, false, reserve.Admitted, reserve.MaxSlots},
		{"old and rejected", reserve.Freshness{Policy: reserve.Reject}, 10 * s, 16 * s, false, false, reserve.Stale, 0},
		{"old and allowed", reserve.Freshness{Policy: reserve.Allow}, 10 * s, 16 * s, false, true, reserve.Admitted, reserve.MaxSlots},
		{"old by its own age", reserve.Freshness{MaxAge: s}, 10 * s, 12 * s, false, false, reserve.Admitted, reserve.MaxSlots},
		{"old within the grace", reserve.Freshness{Grace: time.Hour}, 10 * s, 16 * s, false, false, reserve.Admitted, reserve.MaxSlots},
		{"awaited", reserve.Freshness{}, -1, 6 * s, false, false, reserve.Stale, 0},
		{"awaited for as long as reports count", reserve.Freshness{MaxAge: 9 * s}, -1, 10 * s, false, false, reserve.Stale, 0},
		{"never reported", reserve.Freshness{}, -1, 7 * s, false, false, reserve.Admitted, reserve.MaxSlots},
		{"never reported and rejected", reserve.Freshness{Policy: reserve.Reject}, -1, 7 * s, false, false, reserve.Stale, 0},
		{"not waited for", reserve.Freshness{Policy: reserve.Allow}, -1, 2 * s, false, false, reserve.Admitted, reserve.MaxSlots},
	}
	one := reserve.Signal{Avail: 1}
	for _, test := range tests {
		f := test.freshness.WithDefaults()
		v := f.Awaited(2 * s)
		if test.reported >= 0 {
			v = f.Reported(test.reported)
		}
		if got := v.Missing(); got != (test.reported < 0) {
			t.Errorf("%s: missing %v", test.name, got)
		}
		if got := v.Fresh(test.now); got != test.fresh {
			t.Errorf("%s: fresh %v", test.name, got)
		}
		if got := f.Ranked(v, test.now); got != test.ranked {
			t.Errorf("%s: ranked %v", test.name, got)
		}
		if got := f.Admit(v, test.now, reserve.NoRoom); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		if got := f.Slots(v, test.now, one, 0, 1, reserve.Rules{}); got != test.slots {
			t.Errorf("%s: %d slots, want %d", test.name, got, test.slots)
		}
	}
}

// Whatever the times, there are slots where Admit admits, and none elsewhere.
func TestFreshnessSlotsAgreeWithAdmit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	span := func() time.Duration { return time.Duration(rng.IntN(10)) * time.Second }
	for range 10_000 {
		f := reserve.Freshness{MaxAge: span(), Grace: span(), Policy: reserve.StalePolicy(rng.IntN(3))}.WithDefaults()
		v := f.Awaited(span())
		if rng.IntN(2) == 0 {
			v = f.Reported(span())
		}
		s := reserve.Signal{Avail: float64(rng.IntN(3)), Saturated: rng.IntN(4) == 0}
		inflight, now := float64(rng.IntN(3)), 2*span()
		admitted := f.Admit(v, now, reserve.Admit(s, inflight, 1, reserve.Rules{})) == reserve.Admitted
		if slots := f.Slots(v, now, s, inflight, 1, reserve.Rules{}); (slots > 0) != admitted {
			t.Fatalf("%+v, %+v at %v, %+v with %g in flight: %d slots, admitted %v", f, v, now, s, inflight, slots, admitted)
		}
	}
}

// TestOldSampleIsNotFresh: a report counts from its sample, even where that was
// taken before the clock's start, and never as one that is missing.
func TestOldSampleIsNotFresh(t *testing.T) {
	f := reserve.Freshness{MaxAge: 5 * time.Second}.WithDefaults()
	for _, test := range []struct {
		arrived, age, until time.Duration
	}{
		{10 * time.Second, 0, 15 * time.Second},
		{10 * time.Second, 4 * time.Second, 11 * time.Second},
		{10 * time.Second, 6 * time.Second, 9 * time.Second},
		{time.Second, 3 * time.Second, 3 * time.Second},
		{time.Second, time.Hour, 0},
		{time.Second, 1<<63 - 1, 0},
	} {
		v := f.Reported(test.arrived - test.age)
		if v.Missing() || !v.Fresh(test.until) || v.Fresh(test.until+1) {
			t.Errorf("arrived at %v at the age of %v: missing %v, fresh at %v %v and after %v", test.arrived, test.age, v.Missing(), test.until, v.Fresh(test.until), v.Fresh(test.until+1))
		}
	}
}

func TestFreshnessRefuses(t *testing.T) {
	for field, f := range map[string]reserve.Freshness{"MaxAge": {MaxAge: -1}, "Grace": {Grace: -1}} {
		var age *reserve.AgeError
		if err := f.Validate(); !errors.As(err, &age) || age.Field != field || age.Value != -1 {
			t.Errorf("%+v: error %v", f, err)
		}
	}
	var policy *reserve.PolicyError
	if err := (reserve.Freshness{Policy: 9}).Validate(); !errors.As(err, &policy) {
		t.Errorf("policy 9: error %v", err)
	}
	if err := (reserve.Freshness{}).Validate(); err != nil {
		t.Error(err)
	}
}
