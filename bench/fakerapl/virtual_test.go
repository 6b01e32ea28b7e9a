package main

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

// TestVirtualTakesWhatItIsTold: consumers of a machine that is not full take their parts of
// the load, and of a full one all that others leave.
func TestVirtualTakesWhatItIsTold(t *testing.T) {
	const seconds, others = 200, .1
	for _, cores := range []int{1, 8} {
		all := consumers(16, cores)
		for _, load := range []float64{.1, .5, 1.2} {
			v := startVirtual(all, cores, others, rand.New(rand.NewPCG(1, 2)))
			tell := make([]float64, len(all))
			for i, c := range all {
				tell[i] = load * c.weight * float64(cores)
			}
			if err := v.set(tell); err != nil {
				t.Fatal(err)
			}
			if err := v.sleep(t.Context(), v.now().Add(seconds*time.Second)); err != nil {
				t.Fatal(err)
			}
			took := make([]time.Duration, len(all))
			if err := v.readTo(took); err != nil {
				t.Fatal(err)
			}
			var sum float64
			for i, cpu := range took {
				sum += cpu.Seconds()
				if want := tell[i] * seconds; load < 1 && math.Abs(cpu.Seconds()-want) > .05*want+.1 || cpu.Seconds() > 1.05*want+.1 {
					t.Errorf("%d cores, load %g: consumer %d took %v, want %.3g s", cores, load, i, cpu, want)
				}
			}
			if want := seconds * (float64(sockets*cores) - others); load > 1 && math.Abs(sum-want) > .02*want {
				t.Errorf("%d cores, full: %.4g core-seconds, want %.4g", cores, sum, want)
			}
		}
	}
}

// TestVirtualClocks: that of a thread on the other package than the reader's stands between
// the kernel's ticks, and one on the reader's is exact.
func TestVirtualClocks(t *testing.T) {
	all := []consumer{{socket: 0, threads: 1}, {socket: 1, threads: 1}}
	v := startVirtual(all, 1, 0, rand.New(rand.NewPCG(1, 2)))
	if err := v.set([]float64{2, 2}); err != nil {
		t.Fatal(err)
	}
	exact, behind := 0, 0
	for range 1000 {
		v.step()
		var took [2]time.Duration
		if err := v.readTo(took[:]); err != nil {
			t.Fatal(err)
		}
		ran := [2]time.Duration{v.clocks[0].told + v.clocks[0].untold, v.clocks[1].told + v.clocks[1].untold}
		if took[v.where] == ran[v.where] {
			exact++
		}
		switch late := ran[1-v.where] - took[1-v.where]; {
		case late < 0 || late >= jiffy:
			t.Fatalf("a clock is %v behind", late)
		case late > 0:
			behind++
		}
	}
	if exact != 1000 || behind < 500 {
		t.Errorf("of 1000 readings %d are exact, and %d of the other package behind", exact, behind)
	}
}

// simulated runs the command in virtual time.
func simulated(t *testing.T, args ...string) (r result, stderr string) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var out, progress bytes.Buffer
	args = append([]string{"--virtual", "-o", "json"}, args...)
	if code := program.Run(t.Context(), command(), args, &out, &progress); code != 0 && code != program.Failure {
		t.Fatalf("exit code %d: %s", code, &progress)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return r, progress.String()
}

// TestVirtual: the agent's maths hold what --check asks for, of which runs of real processes
// are a sample; and the deviation that they tell is of the error's size, so that it is not
// just large.
func TestVirtual(t *testing.T) {
	for _, test := range []struct {
		name  string
		least float64 // ratio of the error to the deviation
		args  []string
	}{
		{"one core a package", .55, []string{"--runs", "4"}},
		{"quiet", .4, []string{"--runs", "2", "--others", "0"}},
		{"loaded", .6, []string{"--runs", "4", "--others", ".15", "--loads", "10,50"}},
		{"eight cores", .2, []string{"--runs", "2", "--cores", "8"}},
		{"linear", .2, []string{"--runs", "2", "--shape", "1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if testing.Short() && test.name != "one core a package" {
				t.Skip("takes a second")
			}
			r, missed := simulated(t, append(test.args, "--check")...)
			if strings.Contains(missed, "the truth is") || strings.Contains(missed, "joules are off") {
				t.Error(missed)
			}
			for _, row := range r.Loads {
				t.Logf("%d %%: %d of %d inside, SD %.2f, error %.2f, ratio %.2f, by %+v", row.Load, row.Inside, row.Intervals, row.SD, row.RMS, row.Ratio, row.Causes)
				if row.Ratio < test.least || row.Ratio > 1.2 {
					t.Errorf("%d %%: errors are %.2f of what is told", row.Load, row.Ratio)
				}
			}
		})
	}
}

// TestVirtualIsDeterministic, and causes add up as far as they can.
func TestVirtualIsDeterministic(t *testing.T) {
	args := []string{"--intervals", "4", "--loads", "40,100"}
	a, _ := simulated(t, args...)
	b, _ := simulated(t, args...)
	rounded := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(a) })
	if d := cmp.Diff(a, b, rounded); d != "" {
		t.Error(d)
	}
	c, _ := simulated(t, append(args, "--seed", "2")...)
	if cmp.Equal(a, c, rounded) {
		t.Error("another seed is the same run")
	}
	for _, row := range a.Loads {
		of := row.Causes
		if most := of.Counters + of.Idle + of.Packages + of.Time; row.RMS > most || row.RMS == 0 {
			t.Errorf("an error of %.2f %% by %+v", row.RMS, of)
		}
	}
}
