package lifecycle_test

import (
	"encoding"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// FuzzText: a parsed text is written the same.
func FuzzText(f *testing.F) {
	for _, text := range []string{"Ready", "Acquiring", "Succeeded", "", "ready"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []interface {
			fmt.Stringer
			encoding.TextUnmarshaler
		}{new(lifecycle.JobState), new(lifecycle.SchedulingState), new(lifecycle.Outcome)} {
			if v.UnmarshalText(data) != nil {
				continue
			}
			if text := v.String(); text != string(data) && len(data) > 0 {
				t.Errorf("%q: got text %q", data, text)
			}
		}
	})
}

// FuzzJob drives a job with random observations, storing its state in between.
func FuzzJob(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { chance(t, rand.New(rand.NewPCG(a, b)), 60) })
}

func TestRandomJob(t *testing.T) {
	for seed := range uint64(300) {
		chance(t, rand.New(rand.NewPCG(seed, 3)), 60)
	}
}

func chance(t *testing.T, rng *rand.Rand, steps int) {
	t.Helper()
	j := lifecycle.Job{}
	now := epoch
	one := func(of []string) string { return of[rng.IntN(len(of))] }
	for range steps {
		now = now.Add(time.Duration(rng.IntN(300)) * time.Second)
		o, _ := observed(j, one(holds), one(apps), one(pods), one(variants))
		o.Stored = j
		o.Check = lifecycle.Check(rng.IntN(4))
		if rng.IntN(9) == 0 {
			o.Fault = "refused"
		}
		o.Application.Attempt = j.NextAttempt() - rng.IntN(2)
		switch {
		case j.State == lifecycle.Ready && rng.IntN(2) == 0:
			o.Stored.SchedulingUID = "s"
		case j.State == lifecycle.InQueue && j.Request == nil && rng.IntN(2) == 0:
			o.Stored.Request = &lifecycle.Request{Slots: twoSlots, Attempt: j.NextAttempt()}
		}
		holdToRules(t, "", o, now)
		j, _ = lifecycle.StepJob(o, now)
	}
}
