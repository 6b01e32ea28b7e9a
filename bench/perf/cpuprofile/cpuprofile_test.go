package cpuprofile_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/bench/perf/cpuprofile"
)

// profileOf returns the profile of a labelled and an unlabelled stretch of work.
func profileOf(t testing.TB, work time.Duration) []byte {
	t.Helper()
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile() // a second call does nothing
	x := 1.
	spin := func(context.Context) {
		for begin := time.Now(); time.Since(begin) < work; {
			x = math.Sqrt(x + 1)
		}
	}
	pprof.Do(t.Context(), pprof.Labels("part", "first", "other", "x"), spin)
	pprof.Do(t.Context(), pprof.Labels("part", "second"), spin)
	spin(t.Context())
	pprof.StopCPUProfile()
	return profile.Bytes()
}

// Everything a test does is called by tRunner, though the profiler sees some
// stacks without their ends.
func TestSecondsLeavesOut(t *testing.T) {
	for work := 100 * time.Millisecond; work < time.Minute; work *= 2 {
		profile := profileOf(t, work)
		var first [3]float64
		for i, except := range [][]string{nil, {"nothing.of.this.name"}, {"nothing.of.this.name", "testing.tRunner"}} {
			seconds, err := cpuprofile.Seconds(profile, "part", except...)
			if err != nil {
				t.Fatal(err)
			}
			first[i] = seconds["first"]
		}
		if first[0] != first[1] || first[2] > first[0] {
			t.Fatalf("%v s in all, %v s without an unknown function, %v s without all", first[0], first[1], first[2])
		}
		if first[2] < first[0] {
			return
		}
	}
	t.Error("no profile had samples within tRunner")
}

// How many samples a busy machine takes is not to be told beforehand.
func TestSecondsTellsLabelsApart(t *testing.T) {
	for work := 100 * time.Millisecond; work < time.Minute; work *= 2 {
		seconds, err := cpuprofile.Seconds(profileOf(t, work), "part")
		if err != nil {
			t.Fatal(err)
		}
		for part := range seconds {
			if part != "first" && part != "second" && part != "" {
				t.Fatalf("unknown part %q in %v", part, seconds)
			}
		}
		if seconds["first"] > 0 && seconds["second"] > 0 && seconds[""] > 0 {
			return
		}
	}
	t.Error("no profile had samples of every part")
}

func TestSecondsRefuses(t *testing.T) {
	for name, text := range map[string][]byte{
		"nothing":                 nil,
		"no compression":          []byte("text"),
		"no message":              compressed(0xff),
		"a sample without values": compressed(2<<3|2, 0),
		"a label out of table":    compressed(2<<3|2, 8, 2<<3, 1, 2<<3, 1, 3<<3|2, 2, 1<<3, 9),
		"a name out of table":     compressed(5<<3|2, 2, 2<<3, 9),
		"a fixed-size field":      compressed(1<<3|1, 0, 0, 0, 0, 0, 0, 0, 0),
	} {
		if _, err := cpuprofile.Seconds(text, "part"); !errors.Is(err, cpuprofile.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A sample of 3 and 2e9 ns with the label a=b.
func ExampleSeconds() {
	profile := compressed(
		6<<3|2, 0, 6<<3|2, 1, 'a', 6<<3|2, 1, 'b',
		2<<3|2, 14, 2<<3|2, 6, 3, 0x80, 0xa8, 0xd6, 0xb9, 0x07, 3<<3|2, 4, 1<<3, 1, 2<<3, 2,
	)
	seconds, err := cpuprofile.Seconds(profile, "a")
	fmt.Println(seconds["b"], err)
	// Output: 2 <nil>
}

func compressed(message ...byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(message) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

func FuzzSeconds(f *testing.F) {
	f.Add([]byte{6<<3 | 2, 0, 6<<3 | 2, 1, 'a', 2<<3 | 2, 8, 2<<3 | 2, 2, 3, 5, 3<<3 | 2, 2, 1 << 3, 1})
	f.Fuzz(func(t *testing.T, message []byte) {
		seconds, err := cpuprofile.Seconds(compressed(message...), "a", "a")
		if err != nil && !errors.Is(err, cpuprofile.ErrFormat) {
			t.Errorf("error %v is not ErrFormat", err)
		}
		if err != nil && seconds != nil {
			t.Errorf("%v and %v", seconds, err)
		}
	})
}
