package compare

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A guest that uses one core from the second on, and then half of one, gets each value a tenth of a
// second later: a reading has the processor time of when its energy was sampled, not of when it was
// seen.
func TestFollowedGuest(t *testing.T) {
	began := time.Unix(1000, 0)
	cpu := func(s float64) time.Duration {
		used := 0.
		if s > 1 {
			used += min(s, 3) - 1
		}
		if s > 3 {
			used += (s - 3) / 2
		}
		return time.Duration(used * float64(time.Second))
	}
	at := func(s float64) time.Time { return began.Add(time.Duration(s * float64(time.Second))) }
	told := map[int]uint64{9: 7, 11: 1_000_000, 21: 21_000_000, 31: 42_000_000, 41: 40_000_000, 51: 55_000_000} // by tenths of a second
	var f followedGuest
	var micros uint64
	sampled := at(-1)
	for tenth := 10; tenth <= 52; tenth++ {
		f.taken(at(float64(tenth)/10), cpu(float64(tenth)/10))
		if m, ok := told[tenth]; ok {
			micros, sampled = m, at(float64(tenth)/10-.1)
		}
		f.published(sampled, micros)
		f.published(sampled, micros) // the same again
	}
	// The counter restarted before 4 s, so that second has no value.
	want := []struct{ at, cores, watts float64 }{{1, 1, 20}, {2, 1, 21}, {4, .5, 15}}
	if len(f.readings) != len(want) {
		t.Fatalf("%+v", f.readings)
	}
	for i, w := range want {
		got := f.readings[i]
		if math.Abs(got.At-w.at) > 1e-6 || math.Abs(got.Cores-w.cores) > 1e-6 || math.Abs(got.Watts-w.watts) > 1e-6 || math.Abs(got.Seconds-1) > 1e-6 {
			t.Errorf("reading %d: %+v, want %+v", i, got, w)
		}
	}
}

// The processor time between two readings is interpolated; before the first it is unknown.
func TestClockBetween(t *testing.T) {
	began := time.Unix(1000, 0)
	var f followedGuest
	f.taken(began, time.Second)
	f.taken(began.Add(20*time.Millisecond), 1010*time.Millisecond)
	if got, ok := f.at(began.Add(5 * time.Millisecond)); !ok || got != 1002500*time.Microsecond {
		t.Errorf("%v, %v", got, ok)
	}
	if got, ok := f.at(began.Add(time.Second)); !ok || got != 1010*time.Millisecond {
		t.Errorf("after the newest %v, %v", got, ok)
	}
	if _, ok := f.at(began.Add(-1)); ok {
		t.Error("before the first")
	}
}

func TestPublishedEnergy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "energy_uj")
	if err := os.WriteFile(path, []byte("00000000000012345\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	sampled := time.Unix(1000, 500)
	if err := os.Chtimes(path, sampled, sampled); err != nil {
		t.Fatal(err)
	}
	at, micros, err := publishedEnergy(path)
	if err != nil || micros != 12345 || !at.Equal(sampled) {
		t.Errorf("%v at %v, error %v", micros, at, err)
	}
	if err := os.WriteFile(path, []byte("-1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := publishedEnergy(path); err == nil {
		t.Error("no number: no error")
	}
}
