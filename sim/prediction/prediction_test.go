package prediction

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/field"
)

// noisy returns a level with a little noise, the same for the same seed.
func noisy(seed uint64, n int, level float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 9))
	values := make([]float64, n)
	for i := range values {
		values[i] = level + .02*rng.Float64()
	}
	return values
}

// swaying returns a level with a rhythm, which has no peak however it is cut.
func swaying(n int, by float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = .2 + by*[]float64{0, 2, 3, 1, -1, -3, -2}[i%7]/3
	}
	return values
}

// raise adds to a span of values.
func raise(values []float64, from, to int, by float64) {
	for i := from; i < to; i++ {
		values[i] += by
	}
}

// metricOf makes one metric of values.
func metricOf(values []float64) (metrics [][]float64) {
	for _, v := range values {
		metrics = append(metrics, []float64{v})
	}
	return metrics
}

// one is a source of one node, of two samples a second.
func one(pressure, metric []float64, churn []bool) Source {
	return Source{
		name: "one", second: 2, unit: "s",
		nodes: []node{{Name: "node", Pressure: pressure, Metrics: metricOf(metric), Churn: churn}},
	}
}

func rowOf(t *testing.T, r Result, signal string, behind bool, spike threshold) signalScore {
	t.Helper()
	for _, row := range r.Rows {
		if row.Signal == signal && row.Filtered == behind && row.Spike == spike {
			return row.signalScore
		}
	}
	t.Fatalf("no row of %s", signal)
	return signalScore{}
}

func evaluated(t *testing.T, sources ...Source) Result {
	t.Helper()
	r, err := Evaluate(sources, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// By hand: the metric jumps at 100, 200 and 300, and 400; pressure exceeds 0.5 one second after the
// first, four after the second and ten after the third, and with the fourth. At 500 it does without
// a jump, and at 600 the metric jumps in vain.
func TestScoresByHand(t *testing.T) {
	metric, pressure := swaying(800, .02), noisy(2, 800, .2)
	for _, at := range []int{100, 200, 300, 400, 600} {
		raise(metric, at, at+1, .7)
	}
	for _, at := range []int{102, 208, 320, 400, 500} {
		raise(pressure, at, at+3, .5)
	}
	r := evaluated(t, one(pressure, metric, nil))
	got := rowOf(t, r, prontoSignal, false, half)
	want := signalScore{
		Spikes: 5, Foretold: [3]float64{1, 2, 3}, AtFirst: 1,
		Alarms: 5, False: [3]float64{3, 2, 1},
		Samples: 800, Rejecting: 5, Lead: 1 + 4 + 10,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lead := got.meanLead(); lead != 5 {
		t.Errorf("a mean lead of %g s", lead)
	}
	if got.foretoldShare(1) != .4 || got.atFirstShare() != .2 || got.falseShare(0) != .6 || got.rejectedShare() != 5./800 {
		t.Errorf("shares %g %g %g %g", got.foretoldShare(1), got.atFirstShare(), got.falseShare(0), got.rejectedShare())
	}
	// One node has no fleet.
	for _, row := range r.Rows {
		if row.Signal == aloneSignal {
			t.Error("a node alone beside itself")
		}
	}
}

// A spike continues over a dip shorter than a second, one in progress at the beginning does not
// count, and rejections during a spike are not false.
func TestSpikesNeedRest(t *testing.T) {
	metric, pressure := swaying(400, .02), noisy(2, 400, .2)
	raise(pressure, 0, 10, .5)
	raise(pressure, 100, 104, .5)
	raise(pressure, 105, 110, .5) // after one sample of rest
	raise(pressure, 112, 114, .5) // after two
	raise(metric, 108, 109, .7)
	got := rowOf(t, evaluated(t, one(pressure, metric, nil)), prontoSignal, false, half)
	if got.Spikes != 2 || got.Alarms != 1 || got.False != [3]float64{} || got.Foretold != [3]float64{0, 1, 1} {
		t.Errorf("%+v", got)
	}
}

// Equal scores are all above a threshold or none, whichever is closer to the number of rejections.
func TestThresholdOfEqualValues(t *testing.T) {
	metric := swaying(400, .02)
	for _, at := range []int{100, 150, 200, 250, 300} {
		raise(metric, at, at+1, .7)
	}
	for high, want := range map[int]float64{4: 4, 6: 6, 9: 9, 12: 0} {
		pressure := make([]float64, 400)
		for i := range high {
			pressure[50+20*i] = .8
		}
		r := evaluated(t, one(pressure, metric, nil))
		own, got := rowOf(t, r, prontoSignal, false, half), rowOf(t, r, rawSignal, false, half)
		if own.Rejecting != 5 || got.Rejecting != want {
			t.Errorf("%d equal values: the threshold rejects %g samples, pronto %g", high, got.Rejecting, own.Rejecting)
		}
	}
}

// An alarm within a second after the end of a spike is not false, a later one is.
func TestAlarmsAfterSpikes(t *testing.T) {
	for after, vain := range map[int]float64{1: 0, 2: 0, 3: 1} {
		metric, pressure := swaying(400, .02), make([]float64, 400)
		raise(pressure, 100, 110, .8)
		raise(metric, 109+after, 110+after, .7)
		got := rowOf(t, evaluated(t, one(pressure, metric, nil)), prontoSignal, false, half)
		if got.Alarms != 1 || got.False[2] != vain {
			t.Errorf("%d samples after the spike: %+v", after, got)
		}
	}
}

// A twentieth of the samples is above the node's own percentile, whatever the level.
func TestOwnPercentile(t *testing.T) {
	pressure := noisy(3, 1000, .2)
	for i := 0; i < 1000; i += 20 {
		pressure[i] = .3 + .001*float64(i%7)
	}
	r := evaluated(t, one(pressure, noisy(1, 1000, .2), nil))
	if got := rowOf(t, r, prontoSignal, false, ownPercentile); got.Spikes != 49 { // not the first, at 0
		t.Errorf("%g spikes, want 49", got.Spikes)
	}
	if got := rowOf(t, r, prontoSignal, false, half); got.Spikes != 0 || !math.IsNaN(got.foretoldShare(0)) {
		t.Errorf("above a half: %+v", got)
	}
}

// Behind the filter a single sample is no peak; a lasting level is one, but not while containers
// come and go.
func TestFilterAndGate(t *testing.T) {
	metric, pressure := swaying(600, .06), noisy(2, 600, .2)
	raise(metric, 100, 101, .7)
	raise(metric, 300, 330, .7)
	raise(pressure, 310, 320, .5)
	churn := make([]bool, 600)
	rejecting := func(s Source) (raw, filtered float64) {
		r := evaluated(t, s)
		return rowOf(t, r, prontoSignal, false, half).Rejecting, rowOf(t, r, prontoSignal, true, half).Rejecting
	}
	raw, filtered := rejecting(one(pressure, metric, churn))
	if raw < 2 || filtered < 1 {
		t.Errorf("%g samples reject, %g filtered", raw, filtered)
	}
	for _, behind := range []bool{false, true} {
		rejects, err := rejections(one(pressure, metric, churn), behind)
		if err != nil || rejects[0][100] == behind || rejects[0][300] && behind || !slices.Contains(rejects[0][300:310], true) {
			t.Errorf("filtered %v: rejects at a spike of one sample %v, error %v", behind, rejects[0][100], err)
		}
	}
	for i := 298; i < 340; i++ {
		churn[i] = true
	}
	if again, gated := rejecting(one(pressure, metric, churn)); again != raw || gated >= filtered {
		t.Errorf("with containers that come: %g samples reject, %g filtered, %g without", again, gated, filtered)
	}
	// It lasts for ten seconds at most, however many come.
	for i := range churn {
		churn[i] = true
	}
	if _, gated := rejecting(one(pressure, metric, churn)); gated != filtered {
		t.Errorf("churn without end: %g samples reject, want %g", gated, filtered)
	}
}

// The tunable peers reject as often as Pronto, the threshold at the highest pressure, the z-score
// when it rises, the coins at random.
func TestPeersRejectAsOften(t *testing.T) {
	metric, pressure := noisy(1, 4000, .2), noisy(2, 4000, .2)
	rng := rand.New(rand.NewPCG(1, 1))
	for at := 50; at < 3950; at += 50 + rng.IntN(20) {
		raise(metric, at, at+1, .6)
		raise(pressure, at+2, at+8, .5)
	}
	r := evaluated(t, one(pressure, metric, nil))
	own := rowOf(t, r, prontoSignal, false, half)
	for _, signal := range []string{rawSignal, zScore, coinSignal, shifted} {
		got := rowOf(t, r, signal, false, half)
		if math.Abs(got.Rejecting-own.Rejecting) > .15*own.Rejecting+1 {
			t.Errorf("%s rejects %g samples, pronto %g", signal, got.Rejecting, own.Rejecting)
		}
		if share := got.falseShare(0); share < 0 || share > 1 || got.meanLead() <= 0 || got.meanLead() > 15 || got.Samples != 4000 {
			t.Errorf("%s: %+v", signal, got)
		}
		if got.foretoldShare(0) > .3 {
			t.Errorf("%s foretells %g of what only the metric does", signal, got.foretoldShare(0))
		}
	}
	if own.foretoldShare(0) < .9 {
		t.Errorf("pronto foretells %g", own.foretoldShare(0))
	}
	if z := rowOf(t, r, zScore, false, half); z.atFirstShare() < .8 {
		t.Errorf("the z-score tells of %g of the spikes at their first sample", z.atFirstShare())
	}
	if raw := rowOf(t, r, rawSignal, false, half); raw.False != [3]float64{} {
		t.Errorf("a threshold on what is a spike is in vain %g times", raw.False[0])
	}
	// A coin has this probability of w seconds without a rejection.
	share := own.rejectedShare()
	want := 1 - math.Pow(1-share, 2*5)
	if got := rowOf(t, r, coinSignal, false, half).foretoldShare(1); math.Abs(got-want) > .05 {
		t.Errorf("the coin foretells %g within 5 s, want %g", got, want)
	}
}

// A fleet of nodes that vary along one direction knows it better than a node that has seen little
// but noise; and the load's own direction differs from that in which it varies.
func TestModelsDiffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	s := Source{name: "fleet", second: 10, unit: "s"}
	for i := range 4 {
		n, other := node{Name: fmt.Sprint(i)}, .01
		if i == 0 { // which alone takes its own noise for what matters
			other = .2
		}
		for range 1000 {
			x := rng.NormFloat64() * .1 * float64(1+i)
			n.Pressure = append(n.Pressure, math.Min(math.Abs(x), 1))
			n.Metrics = append(n.Metrics, []float64{.5 + x, .4 - x + .01*rng.NormFloat64(), .3 + other*rng.NormFloat64()})
		}
		s.nodes = append(s.nodes, n)
	}
	r := evaluated(t, s)
	own := rowOf(t, r, prontoSignal, false, ownPercentile)
	for _, signal := range []string{aloneSignal, svdSignal} {
		if cmp.Equal(own, rowOf(t, r, signal, false, ownPercentile), cmp.AllowUnexported(row{})) {
			t.Errorf("%s does as pronto", signal)
		}
	}
	if diff := cmp.Diff(r.Rows, evaluated(t, s).Rows, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("another time:\n%s", diff)
	}
}

// Pressure rises with containers, by the listed amount.
func TestStarts(t *testing.T) {
	pressure := noisy(2, 2000, .2)
	churn := make([]bool, 2000)
	for at := 100; at < 1900; at += 100 {
		churn[at] = true
		raise(pressure, at, at+2, .4)
	}
	// No second of these is calm, and there are fewer of them than of others.
	raise(pressure, 1010, 1090, .2)
	churn[1050] = true
	r := evaluated(t, one(pressure, noisy(1, 2000, .2), churn))
	if len(r.starts) != 1 {
		t.Fatal("nothing on starts")
	}
	got := r.starts[0]
	if got.Source != "one" || got.Events != 19 || got.Share != 38./2000 || got.All[1] != 18 || got.Spikes[1] != 18 {
		t.Errorf("%+v", got)
	}
	if got.Calm < 3 || got.Calm > 15 || got.Stills < 300 || got.Stills > 1200 || math.Abs(got.Rise-.61) > .011 || math.Abs(got.Still-.213) > .01 {
		t.Errorf("%+v", got)
	}
	if r := evaluated(t, one(pressure, noisy(1, 2000, .2), nil)); len(r.starts) != 0 {
		t.Error("starts of which nothing is known")
	}
}

// A node that is mostly idle has a median of 0; values close to 0 are still calm.
func TestStartsOfARestingNode(t *testing.T) {
	pressure, churn := make([]float64, 2000), make([]bool, 2000)
	for i := range pressure {
		if i%5 == 4 {
			pressure[i] = .05
		}
	}
	for at := 100; at < 1900; at += 100 {
		churn[at] = true
		raise(pressure, at, at+2, .4)
	}
	got := evaluated(t, one(pressure, noisy(1, 2000, .2), churn)).starts[0]
	if got.Calm != 18 || got.Stills < 1000 || math.Abs(got.Rise-.4) > 1e-9 || math.Abs(got.Still-.02) > .001 {
		t.Errorf("%+v", got)
	}
}

func TestSimulate(t *testing.T) {
	s, err := Simulate(t.Context(), 60, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.validate(); err != nil {
		t.Fatal(err)
	}
	again, err := Simulate(t.Context(), 60, 3)
	if !reflect.DeepEqual(s, again) || err != nil {
		t.Errorf("another time it is another, error %v", err)
	}
	other, err := Simulate(t.Context(), 60, 4)
	if reflect.DeepEqual(s.nodes, other.nodes) || err != nil {
		t.Errorf("the same of another seed, error %v", err)
	}
	busy, events := 0., 0
	for _, n := range s.nodes {
		if !slices.Contains(n.Churn, true) {
			t.Errorf("%s: no containers", n.Name)
		}
		if len(n.Pressure) < 598 || len(n.Pressure) > 601 {
			t.Errorf("%d samples of a minute", len(n.Pressure))
		}
		for i, y := range n.Metrics {
			busy += y[0] / float64(len(n.Metrics)*len(s.nodes))
			if y[1] != n.Pressure[i] {
				t.Fatal("the pressure is none of the metrics")
			}
			if n.Churn[i] {
				events++
			}
		}
	}
	// 1.6 pods a second start on each node, and most end.
	if busy < .5 || busy > .95 || events < 500 || events > 1600 {
		t.Errorf("%g of the cores are busy, %d samples see an event", busy, events)
	}
	var name *field.Error
	for _, seconds := range []float64{0, 3601, math.NaN()} {
		if _, err := Simulate(t.Context(), seconds, 1); !errors.As(err, &name) || name.Field != "seconds" || !errors.Is(err, errInvalid) {
			t.Errorf("%g s: error %v", seconds, err)
		}
	}
}

// recorded writes a recording of five samples a second of the given schema.
func recorded(t *testing.T, schema string, pressure []float64) string {
	t.Helper()
	dir := t.TempDir()
	c := agent.Config{Node: "n", Schema: schema, Channels: []agent.Channel{{Name: agent.CPU, Size: 2}, {Name: "memory", Size: 1}}, Cores: 2}
	pipeline, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.Create(dir, c, recording.Options{State: pipeline.State})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pressure {
		at := time.Unix(1_000_000, 0).Add(time.Duration(i) * 200 * time.Millisecond)
		if i == 7 {
			r.Churn(at.Add(-50 * time.Millisecond))
		}
		r.Sample(at, []float64{p, .5})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "00000001.spazio")
}

func TestReadRecording(t *testing.T) {
	pressure := noisy(1, 40, .1)
	path := recorded(t, "v2;cpu=pressure;memory=available", pressure)
	wrong := append(slices.Clone(pressure), math.NaN(), 1.5, -.1) // an agent refuses these samples
	for _, values := range [][]float64{pressure, wrong} {
		s, err := ReadRecording(recorded(t, "v2;cpu=pressure;memory=available", values))
		if err != nil || !cmp.Equal(s.nodes[0].Pressure, pressure) {
			t.Errorf("error %v, pressure %v", err, s.nodes[0].Pressure)
		}
	}
	s, err := ReadRecording(path)
	if err != nil {
		t.Fatal(err)
	}
	if s.second != 5 || s.unit != "s" || len(s.nodes) != 1 || !cmp.Equal(s.nodes[0].Pressure, pressure) || s.nodes[0].Metrics[3][1] != .5 {
		t.Errorf("%+v", s)
	}
	for i, event := range s.nodes[0].Churn {
		if event != (i == 7) {
			t.Errorf("sample %d: a container's event %v", i, event)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The file is gzipped, and truncated.
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err = z.Write(text[:len(text)-5])
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(t.TempDir(), "part.spazio.gz")
	if err := os.WriteFile(torn, zipped.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	part, err := ReadRecording(torn)
	if err != nil || len(part.nodes[0].Pressure) != 39 {
		t.Errorf("a part: %+v, error %v", part, err)
	}
	var name *field.Error
	if _, err := ReadRecording(recorded(t, "v2;cpu=half-runnable;memory=available", pressure)); !errors.As(err, &name) || name.Field != "Schema" {
		t.Errorf("a recording without pressure: error %v", err)
	}
	if _, err := ReadRecording(recorded(t, "v2;cpu=pressure;memory=available", pressure[:1])); !errors.As(err, &name) || name.Field != "samples" {
		t.Errorf("one sample: error %v", err)
	}
	plain := filepath.Join(t.TempDir(), "plain.gz")
	if err := os.WriteFile(plain, []byte("plain"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{plain, "missing.gz", "missing"} {
		if _, err := ReadRecording(path); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}

const vm = `Timestamp [ms];	CPU cores;	CPU usage [%];	Memory capacity provisioned [KB];	Memory usage [KB];	Disk read throughput [KB/s];	Disk write throughput [KB/s];	Network received throughput [KB/s];	Network transmitted throughput [KB/s]
1;	2;	50;	1000;	250;	10;	0;	1;	4
2;	2;	80;	0;	500;	5;	0;	2;	1
3;	2;	10;	1000;	100;	0;	0;	2;	2
`

func TestReadSeries(t *testing.T) {
	s, err := ReadSeries("vms", fstest.MapFS{"b.csv": {Data: []byte(vm)}, "a.csv": {Data: []byte(vm + "\n4;2;1;1;1;1;1;1;1\n")}, "notes.txt": {}})
	if err != nil {
		t.Fatal(err)
	}
	// By hand, of three rows, the shorter.
	want := [][]float64{{.5, .25, 1, 0, .5, 1}, {.8, 1, .5, 0, 1, .25}, {.1, .1, 0, 0, 1, .5}}
	if diff := cmp.Diff(want, s.nodes[1].Metrics); diff != "" || s.nodes[1].Name != "b" || s.name != "vms" {
		t.Errorf("%s (-want +got):\n%s", s.nodes[1].Name, diff)
	}
	if diff := cmp.Diff([]float64{.5, .8, .1}, s.nodes[0].Pressure); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := s.validate(); err != nil {
		t.Error(err)
	}
	s, err = ReadSeries("ec2", fstest.MapFS{"x.csv": {Data: []byte("timestamp,value\n2014-02-14 14:30:00,12.5\nx,200\n")}})
	if err != nil || s.second != 1 || s.unit != "rows" || !cmp.Equal(s.nodes[0].Metrics, [][]float64{{.125}, {1}}) {
		t.Errorf("%+v, error %v", s, err)
	}
	for name, dir := range map[string]fstest.MapFS{
		"none":     {},
		"empty":    {"x.csv": {}},
		"no rows":  {"x.csv": {Data: []byte("timestamp,value\n")}},
		"no value": {"x.csv": {Data: []byte("timestamp,share\n1,2\n")}},
		"short":    {"x.csv": {Data: []byte("timestamp,value\n1\n")}},
		"words":    {"x.csv": {Data: []byte("timestamp,value\n1,two\n")}},
		"negative": {"x.csv": {Data: []byte("timestamp,value\n1,-2\n")}},
		"NaN":      {"x.csv": {Data: []byte("timestamp,value\n1,NaN\n")}},
		"no all":   {"x.csv": {Data: []byte("a;CPU usage [%];Memory usage [KB]\n1;2;3\n")}},
		"unlike":   {"x.csv": {Data: []byte("timestamp,value\n1,2\n")}, "y.csv": {Data: []byte(vm)}},
	} {
		if _, err := ReadSeries("bad", dir); !errors.Is(err, errSeries) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestValidate(t *testing.T) {
	good := func() Source { return one(noisy(1, 30, .1), noisy(2, 30, .1), make([]bool, 30)) }
	if _, err := Evaluate([]Source{good()}, 1); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Source){
		"Second":               func(s *Source) { s.second = 0 },
		"Nodes":                func(s *Source) { s.nodes = nil },
		"Nodes[0].Pressure":    func(s *Source) { s.nodes[0].Pressure = nil },
		"Nodes[0].Metrics":     func(s *Source) { s.nodes[0].Metrics = s.nodes[0].Metrics[1:] },
		"Nodes[0].Churn":       func(s *Source) { s.nodes[0].Churn = s.nodes[0].Churn[1:] },
		"Nodes[0].Pressure[3]": func(s *Source) { s.nodes[0].Pressure[3] = 1.1 },
		"Nodes[0].Pressure[4]": func(s *Source) { s.nodes[0].Pressure[4] = math.NaN() },
		"Nodes[0].Metrics[5]":  func(s *Source) { s.nodes[0].Metrics[5] = []float64{math.Inf(1)} },
		"Nodes[0].Metrics[6]":  func(s *Source) { s.nodes[0].Metrics[6] = nil },
		"Nodes[1].Pressure":    func(s *Source) { s.nodes = append(s.nodes, node{Pressure: noisy(1, 29, .1)}) },
		"Nodes[1].Metrics[0]": func(s *Source) {
			n := good().nodes[0]
			n.Metrics[0] = []float64{1, 2}
			s.nodes = append(s.nodes, n)
		},
	} {
		s := good()
		spoil(&s)
		var refused *field.Error
		if _, err := Evaluate([]Source{s}, 1); !errors.As(err, &refused) || refused.Field != name {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := rejections(s, true); !errors.As(err, &refused) || refused.Field != name {
			t.Errorf("%s: error %v", name, err)
		}
	}
	var refused *field.Error
	if _, err := Evaluate([]Source{good(), good()}, 1); !errors.As(err, &refused) || refused.Field != "Name" {
		t.Errorf("one name twice: error %v", err)
	}
}

// Of twenty spikes fifteen were predicted within a second, and a quarter of eight alarms was false;
// the node rejected for a tenth of the time.
func TestShares(t *testing.T) {
	s := signalScore{Spikes: 20, Alarms: 8, Samples: 1000, Rejecting: 100}
	s.Foretold[0], s.False[0] = 15, 2
	if windows[0] != 1 || s.foretoldShare(0) != .75 || s.falseShare(0) != .25 || s.rejectedShare() != .1 {
		t.Errorf("within %d s %g foretold, %g in vain, %g of the time rejected; want .75, .25 and .1 within 1 s",
			windows[0], s.foretoldShare(0), s.falseShare(0), s.rejectedShare())
	}
}
