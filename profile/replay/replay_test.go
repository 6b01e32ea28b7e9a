package replay_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/replay"
)

var start = time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)

// every returns a series of a value every five minutes.
func every(r replay.Resource, n int, value func(i int) float64) replay.Series {
	s := replay.Series{Name: "s", Resource: r}
	for i := range n {
		s.Times = append(s.Times, start.Add(time.Duration(i)*5*time.Minute))
		s.Values = append(s.Values, value(i))
	}
	return s
}

const perDay = 24 * 12

// A series is 1, and 3 at every 12th sample: half of the windows of 6 samples have a 3.
func TestEvaluateClosedForm(t *testing.T) {
	series := every(replay.CPU, 3*perDay+7, func(i int) float64 {
		if i%12 == 0 {
			return 3
		}
		return 1
	})
	// Predictions begin at sample 576 and end six samples before the last.
	const n = perDay + 1
	for _, c := range []struct {
		value, quality, overhead, pinball float64
	}{
		// Of 289 windows 145 have no 3: the first begins after one.
		{3, 1, 3/mean(145, 144) - 1, .02 * 2 * 145. / n / mean(145, 144)},
		{1, 145. / n, 1/mean(145, 144) - 1, .98 * 2 * 144. / n / mean(145, 144)},
	} {
		got, err := replay.Evaluate([]replay.Series{series}, replay.Always(c.value), replay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := replay.Score{Quality: c.quality, Overhead: c.overhead, OverheadMean: c.overhead, Pinball: c.pinball, N: n}
		near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
		if d := cmp.Diff(want, got, near); d != "" {
			t.Errorf("always %v (-want +got):\n%s", c.value, d)
		}
	}
}

// mean returns that of windows of which some have no 3 and others one.
func mean(without, with float64) float64 {
	return (without + with*8/6) / (without + with)
}

func TestEvaluateMeanOfRatios(t *testing.T) {
	one := func(int) float64 { return 1 }
	nine := func(int) float64 { return 9 }
	series := []replay.Series{every(replay.CPU, 700, one), every(replay.CPU, 700, nine), every(replay.CPU, 700, func(int) float64 { return 0 })}
	got, err := replay.Evaluate(series, replay.Always(9), replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Overhead-(27./10-1)) > 1e-12 || got.OverheadMean != 4 || got.Quality != 1 {
		t.Errorf("%+v, want an overhead of 1.7 and a mean of 8 and 0", got)
	}
}

func TestEvaluateParts(t *testing.T) {
	// The halves differ, and the second is replayed as if it were the whole.
	series := every(replay.CPU, 4*perDay*2, func(i int) float64 {
		if i >= 4*perDay {
			return 5
		}
		return 1
	})
	for held, want := range map[bool]struct {
		overhead float64
		n        int
	}{
		// Six days of the whole, less the last window, which ends outside: two of 1 core, four of 5.
		false: {10*6/(2*1+4*5.) - 1, 6*perDay - 6}, true: {1, 2*perDay - 6},
	} {
		got, err := replay.Evaluate([]replay.Series{series}, replay.Always(10), replay.Options{HeldOut: held})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Overhead-want.overhead) > .01 || got.N != want.n {
			t.Errorf("held out %v: %+v, want %+v", held, got, want)
		}
	}
	got, err := replay.Evaluate([]replay.Series{every(replay.CPU, 9, func(int) float64 { return 1 })}, replay.Always(1), replay.Options{})
	if err != nil || got != (replay.Score{}) {
		t.Errorf("a short series: %+v, %v", got, err)
	}
}

func TestPresets(t *testing.T) {
	// The series is constant except for one hour a day, in which it is ten times as much.
	series := every(replay.CPU, 8*perDay, func(i int) float64 {
		if i%perDay < 12 {
			return 2
		}
		return .2
	})
	score := func(p replay.Predictor) replay.Score {
		s, err := replay.Evaluate([]replay.Series{series}, p, replay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// The hour is a sixth of its slot; only the half hour before midnight, in another slot, misses
	// it. The literal form forgets its height.
	if s := score(replay.Of(profile.Seed())); s.Quality < 1-6./perDay {
		t.Errorf("seed: %+v, want no more than six predictions a day to fail", s)
	}
	if s := score(replay.Of(profile.VPA())); s.Quality > .97 {
		t.Errorf("vpa: %+v, want the daily hour missed", s)
	}
	if s, mended := score(replay.Literal()), score(replay.Of(profile.Seed())); s.Quality >= mended.Quality {
		t.Errorf("literal: %+v, want less quality than %+v", s, mended)
	}
	// With slots, the hour costs nothing during the rest of the day.
	whole := profile.Seed()
	whole.CPU.Slots = false
	if slots, all := score(replay.Of(profile.Seed())), score(replay.Of(whole)); slots.Overhead > all.Overhead/2 {
		t.Errorf("with slots overhead %v, without %v", slots.Overhead, all.Overhead)
	}
	// The last hour's peak is known once it has begun.
	recent := profile.VPA()
	recent.CPU.Recent = time.Hour
	if with, without := score(replay.Of(recent)), score(replay.Of(profile.VPA())); with.Quality <= without.Quality {
		t.Errorf("with the last hour's peak %+v, without %+v", with, without)
	}
}

// The literal form is the weighted values' percentile, computed anew.
func TestLiteral(t *testing.T) {
	f, err := replay.Literal().New(replay.CPU)
	if err != nil {
		t.Fatal(err)
	}
	m, err := replay.Literal().New(replay.Memory)
	if err != nil {
		t.Fatal(err)
	}
	values := []float64{3, 0, 1, 4, 1, 5, 9, 2, 6, 5}
	at := start
	for _, v := range values {
		at = at.Add(6 * time.Hour)
		if err := errors.Join(f.Observe(at, v), m.Observe(at, v)); err != nil {
			t.Fatal(err)
		}
	}
	cpu, memory := 0., 0.
	for i, v := range values {
		age := 6 * float64(len(values)-1-i)
		cpu, memory = max(cpu, v*math.Pow(.5, age/24)), max(memory, v*math.Pow(.5, age/48))
	}
	if got := f.Predict(at); math.Abs(got-1.15*cpu) > 1e-9 {
		t.Errorf("CPU %v, want %v", got, 1.15*cpu)
	}
	if got := m.Predict(at); math.Abs(got-1.15*memory) > 1e-9 {
		t.Errorf("memory %v, want %v", got, 1.15*memory)
	}
}

func TestCurves(t *testing.T) {
	series := []replay.Series{
		every(replay.Memory, 4*perDay, func(i int) float64 { return 1e8 * (1 + math.Sin(float64(i*i))) }),
		every(replay.CPU, 10, func(int) float64 { return 1 }),
	}
	curves, err := replay.Curves(t.Context(), series, replay.Memory, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range curves {
		names = append(names, c.Name)
		if c.Name == "oracle" {
			if c.Own.Quality != 1 || len(c.Swept) != 0 {
				t.Errorf("who knows what comes: %+v", c)
			}
		} else if len(c.Swept) < 10 {
			t.Errorf("%s: swept over %d percentiles", c.Name, len(c.Swept))
		} else if c.Name != "vpa" && c.Swept[0].Overhead >= c.Swept[len(c.Swept)-1].Overhead {
			t.Errorf("%s: the same overhead at %v and %v", c.Name, c.Swept[0].Percentile, c.Swept[len(c.Swept)-1].Percentile)
		}
		last := 0.
		for _, p := range c.Swept {
			if p.Overhead < last-1e-9 && p.Percentile > .5 {
				t.Errorf("%s: overhead falls to %v at %v", c.Name, p.Overhead, p.Percentile)
			}
			last = p.Overhead
			if got := c.OverheadAt(p.Quality); got > p.Overhead+1e-12 {
				t.Errorf("%s: overhead %v at %v, more than the point's %v", c.Name, got, p.Quality, p.Overhead)
			}
		}
	}
	if d := cmp.Diff([]string{"spazio", "seed", "vpa", "autopilot", "autopilot-batch", "koordlet", "seed-literal", "oracle"}, names); d != "" {
		t.Error(d)
	}
	c := replay.Curve{Swept: []replay.Point{
		{Percentile: .9, Score: replay.Score{Quality: .9, Overhead: 1}}, {Percentile: 1, Score: replay.Score{Quality: 1, Overhead: 3}},
	}}
	for quality, want := range map[float64]float64{.8: 1, .9: 1, .95: 2, 1: 3} {
		if got := c.OverheadAt(quality); math.Abs(got-want) > 1e-9 {
			t.Errorf("overhead at %v is %v, want %v", quality, got, want)
		}
	}
	if got := c.OverheadAt(1.1); !math.IsNaN(got) {
		t.Errorf("beyond the curve: %v", got)
	}
}

// The scores without a series are those of the others.
func TestCurveWithout(t *testing.T) {
	series := []replay.Series{
		every(replay.CPU, 4*perDay, func(i int) float64 { return 1 + math.Sin(float64(i*i)) }),
		every(replay.Memory, 9, func(int) float64 { return 1 }),
		every(replay.CPU, 4*perDay, func(i int) float64 { return 3 + math.Cos(float64(i*i*i)) }),
	}
	all, err := replay.Curves(t.Context(), series, replay.CPU, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := replay.Curves(t.Context(), series[:1], replay.CPU, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range all {
		got := c.Without(1)
		if d := cmp.Diff(first[i].Swept, got.Swept); d != "" || got.Own != first[i].Own {
			t.Errorf("%s (-first alone +without the second):\n%s", c.Name, d)
		}
		if c.Own == got.Own && c.Name != "oracle" {
			t.Errorf("%s: nothing was left out", c.Name)
		}
	}
}

func TestRead(t *testing.T) {
	dir := fstest.MapFS{
		"a.csv":     {Data: []byte("timestamp,cpu_cores,memory_bytes\n2026-11-02T00:00:00Z,.5,1e6\n2026-11-02T00:05:00Z,1,2e6\n")},
		"b/c.csv":   {Data: []byte("timestamp,value\n2026-11-02 00:00:00,50\n2026-11-02 00:00:00,60\n")},
		"b/gwa.csv": {Data: []byte("Timestamp [ms];\tCPU cores;\tCPU usage [%];\tMemory usage [KB]\n1793577600;\t4;\t25;\t2.5\n")},
		"d.json": {Data: []byte(`{"status":"success","data":{"resultType":"matrix","result":[
			{"metric":{"__name__":"container_memory_working_set_bytes","pod":"p"},"values":[[1793577600.5,"7"]]}]}}`)},
		"other.csv":   {Data: []byte("owner,count\nx,1\n")},
		"other.json":  {Data: []byte(`{"a":1}`)},
		"note.txt":    {Data: []byte("no series")},
		"e.csv/f.csv": {Data: []byte("timestamp,memory_bytes\n2026-11-02T00:00:00Z,8\n")},
		"g.json": {Data: []byte(`{"data":{"resultType":"matrix","result":[
			{"metric":{"__name__":"resident_bytes"},"values":[[1793577600,"9"]]},{"metric":{"__name__":"cores"},"values":[[1793577600,"3"]]}]}}`)},
		"memory.json": {Data: []byte(`{"data":{"resultType":"matrix","result":[{"metric":{},"values":[[1793577600,"4"]]}]}}`)},
	}
	got, err := replay.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	times := func(d ...time.Duration) (all []time.Time) {
		for _, d := range d {
			all = append(all, start.Add(d))
		}
		return all
	}
	want := []replay.Series{
		{Name: "a.csv", Resource: replay.CPU, Times: times(0, 5*time.Minute), Values: []float64{.5, 1}},
		{Name: "a.csv", Resource: replay.Memory, Times: times(0, 5*time.Minute), Values: []float64{1e6, 2e6}},
		{Name: "b/c.csv", Resource: replay.CPU, Times: times(0), Values: []float64{.5}},
		{Name: "b/gwa.csv", Resource: replay.CPU, Times: times(0), Values: []float64{1}},
		{Name: "b/gwa.csv", Resource: replay.Memory, Times: times(0), Values: []float64{2560}},
		{Name: `d.json{__name__="container_memory_working_set_bytes",pod="p"}`, Resource: replay.Memory,
			Times: times(500 * time.Millisecond), Values: []float64{7}},
		{Name: "e.csv/f.csv", Resource: replay.Memory, Times: times(0), Values: []float64{8}},
		{Name: `g.json{__name__="resident_bytes"}`, Resource: replay.Memory, Times: times(0), Values: []float64{9}},
		{Name: `g.json{__name__="cores"}`, Resource: replay.CPU, Times: times(0), Values: []float64{3}},
		{Name: "memory.json{}", Resource: replay.Memory, Times: times(0), Values: []float64{4}},
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); d != "" {
		t.Errorf("series (-want +got):\n%s", d)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, name := range map[string]string{
		"timestamp,cpu_cores\nyesterday,1\n":             "f.timestamp",
		"timestamp,cpu_cores\n-5,1\n":                    "f.timestamp",
		"timestamp,cpu_cores\n10,1\n5,1\n":               "f.timestamp",
		"timestamp,cpu_cores\n10,NaN\n":                  "f.value",
		"timestamp,cpu_cores\n10,-1\n":                   "f.value",
		"timestamp,cpu usage [%],cpu cores\n10,1,many\n": "f.cores",
	} {
		_, err := replay.ReadCSV("f", strings.NewReader(text))
		var f *field.Error
		if !errors.As(err, &f) || f.Field != name {
			t.Errorf("%q: %v, want a *field.Error of %s", text, err, name)
		}
	}
	s := every(replay.CPU, 3, func(int) float64 { return 1 })
	s.Values[1] = math.NaN()
	unordered := every(replay.CPU, 3, func(int) float64 { return 1 })
	unordered.Times[2] = unordered.Times[0]
	for _, s := range []replay.Series{s, unordered, {Times: []time.Time{start}}} {
		if _, err := replay.Evaluate([]replay.Series{s}, replay.Always(1), replay.Options{}); !errors.Is(err, profile.ErrInvalid) {
			t.Errorf("%v", err)
		}
	}
	if _, err := replay.Evaluate(nil, replay.Always(1), replay.Options{WarmUp: -1}); !errors.Is(err, profile.ErrInvalid) {
		t.Errorf("a warm-up of -1 ns: %v", err)
	}
}

// Errors name the line, and unknown columns are not ignored.
func TestReadNamesLinesAndColumns(t *testing.T) {
	for text, want := range map[string]string{
		"timestamp,cpu_cores\n5,1\n10,x\n":                 "line 3: ",
		"timestamp,cpu_cores\n5,1\n\n10,1,2\n":             "line 4",
		"timestamp,cpu_cores,memory_byte\n5,1,2\n":         "memory_byte",
		"timestamp,cpu_core\n5,1\n":                        "cpu_core",
		"timestamp,cpu_cores,cpu_cores\n5,1,1\n":           "cpu_cores",
		"timestamp,cpu_cores\n5,104857600\n":               "line 2: ",
		"timestamp,value\n5,1073741824\n":                  "line 2: ",
		"timestamp,memory_bytes\n5,1e300\n":                "line 2: ",
		"timestamp,cpu usage [%],cpu cores\n5,100,1e300\n": "line 2: ",
	} {
		if _, err := replay.ReadCSV("f", strings.NewReader(text)); err == nil || errors.Is(err, replay.ErrNoSeries) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if s, err := replay.ReadCSV("f", strings.NewReader("\ufefftimestamp,cpu_cores\n5,1\n")); err != nil || len(s) != 1 {
		t.Errorf("with a byte order mark: %v, %v", s, err)
	}
}

// An aggregation, as in the thesis's query, has no name; that does not turn bytes into cores.
func TestBytesAreNoCores(t *testing.T) {
	answer := func(metric, value string) string {
		return `{"data":{"resultType":"matrix","result":[{"metric":{` + metric + `"pod":"p"},"values":[[1793577600,"0"],[1793577660,"` + value + `"]]}]}}`
	}
	for _, c := range []struct {
		file, metric, value string
		want                replay.Resource
		refused             bool
	}{
		{"answer.json", "", "1040000000", replay.Memory, false},
		{"answer.json", "", "0.5", replay.CPU, false},
		{"cpu.json", "", "1040000000", 0, true},
		{"cpu.json", "", "64", replay.CPU, false},
		{"ram/Memory.json", "", "7", replay.Memory, false},
		{"memory/answer.json", "", "0.5", replay.CPU, false}, // a directory's name is none of its files'
		{"cpu.json", `"__name__":"container_memory_working_set_bytes",`, "7", replay.Memory, false},
		{"answer.json", `"__name__":"namespace:cpu:rate",`, "1e9", 0, true},
		{"answer.json", `"__name__":"container_cpu_usage_seconds_total",`, "12", 0, true},
		{"answer.json", "", "1e300", 0, true},
	} {
		s, err := replay.ReadPrometheus(c.file, strings.NewReader(answer(c.metric, c.value)))
		var f *field.Error
		if c.refused {
			if !errors.As(err, &f) {
				t.Errorf("%+v: %v, %v, want a *field.Error", c, s, err)
			}
		} else if err != nil || len(s) != 1 || s[0].Resource != c.want {
			t.Errorf("%+v: %v, %v", c, s, err)
		}
	}
}

// Without a prediction there is no score, not even for perfect foresight.
func TestTooShortIsNoScore(t *testing.T) {
	one := func(int) float64 { return 1 }
	coarse := every(replay.CPU, 200, one)
	for i := range coarse.Times {
		coarse.Times[i] = start.Add(time.Duration(i) * time.Hour)
	}
	for name, s := range map[string]replay.Series{"three hours": every(replay.CPU, 36, one), "coarser than the window": coarse} {
		_, err := replay.Curves(t.Context(), []replay.Series{s}, replay.CPU, replay.Options{})
		if !errors.Is(err, replay.ErrShort) || !strings.Contains(err.Error(), "48h0m0s") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := replay.Curves(t.Context(), []replay.Series{every(replay.CPU, 36, one)}, replay.CPU, replay.Options{})
	if err == nil || !strings.Contains(err.Error(), "2h55m0s") {
		t.Errorf("%v does not name the length of the series", err)
	}
}

// Each series has its own score, except those that are too short.
func TestScoresBySeries(t *testing.T) {
	calm, wild, short := every(replay.CPU, 700, func(int) float64 { return 1 }), every(replay.CPU, 700, func(i int) float64 { return float64(i % 7) }), every(replay.CPU, 9, func(int) float64 { return 1 })
	calm.Name, wild.Name, short.Name = "calm", "wild", "short"
	curves, err := replay.Curves(t.Context(), []replay.Series{calm, short, wild}, replay.CPU, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range curves {
		if len(c.Each) != 2 || c.Each[0].Series != "calm" || c.Each[1].Series != "wild" || c.Each[0].N+c.Each[1].N != c.Own.N || c.Each[0].Quality != 1 {
			t.Errorf("%s: %+v", c.Name, c.Each)
		}
	}
}

// A job with next to no usage has no infinite overhead.
func TestNoInfiniteOverhead(t *testing.T) {
	score, err := replay.Evaluate([]replay.Series{every(replay.CPU, 700, func(int) float64 { return 5e-324 })}, replay.Always(1), replay.Options{})
	if err != nil || math.IsInf(score.Overhead, 0) || math.IsInf(score.OverheadMean, 0) || math.IsInf(score.Pinball, 0) {
		t.Errorf("%+v, %v", score, err)
	}
}

func FuzzReadCSV(f *testing.F) {
	f.Add("timestamp,cpu_cores,memory_bytes\n2026-11-02T00:00:00Z,.5,1e6\n")
	f.Add("Timestamp [ms];\tCPU cores;\tCPU usage [%]\n1793577600;\t4;\t25\n")
	f.Fuzz(func(t *testing.T, text string) {
		series, err := replay.ReadCSV("f", strings.NewReader(text))
		check(t, series, err)
	})
}

func FuzzReadPrometheus(f *testing.F) {
	f.Add(`{"data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"7"],[2,"8"]]}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		series, err := replay.ReadPrometheus("f", strings.NewReader(text))
		check(t, series, err)
	})
}

func check(t *testing.T, series []replay.Series, err error) {
	if err != nil {
		return
	}
	for _, s := range series {
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
	}
}

func ExampleEvaluate() {
	series := every(replay.CPU, 5*perDay, func(i int) float64 { return .5 + .3*math.Sin(float64(i)/40) })
	for _, preset := range []profile.Preset{profile.Spazio(), profile.VPA()} {
		score, err := replay.Evaluate([]replay.Series{series}, replay.Of(preset), replay.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %.0f %% held, %.0f %% above the mean\n", preset.Name, 100*score.Quality, 100*score.Overhead)
	}
	// Output:
	// spazio: 100 % held, 69 % above the mean
	// vpa: 100 % held, 85 % above the mean
}
