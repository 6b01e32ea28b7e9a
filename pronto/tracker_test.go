package pronto_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/spazio-scheduler/spazio/pronto"
	"github.com/spazio-scheduler/spazio/svd"
)

// start is the time of the first sample; samples come at 10 Hz.
var start = time.Unix(1000, 0)

func at(i int) time.Time { return start.Add(time.Duration(i) * 100 * time.Millisecond) }

func newTracker(t *testing.T, c pronto.Config) *pronto.Tracker {
	t.Helper()
	tracker, err := pronto.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return tracker
}

func step(t *testing.T, tracker *pronto.Tracker, i int, y []float64) pronto.Signal {
	t.Helper()
	s, err := tracker.Step(at(i), y)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// source draws samples whose channels mix as many different components.
type source struct {
	r    *rand.Rand
	mean []float64
	mix  [][]float64
}

func newSource(seed uint64, d int, spread ...float64) source {
	s := source{r: rand.New(rand.NewPCG(seed, 3))}
	shape := rand.New(rand.NewPCG(77, uint64(d))) // the same for all seeds
	q := make([]float64, 0, d*d)
	for range d * d {
		q = append(q, shape.NormFloat64())
	}
	var qr mat.QR
	qr.Factorize(mat.NewDense(d, d, q))
	var o mat.Dense
	qr.QTo(&o)
	for i := range d {
		s.mean = append(s.mean, .3+.4*shape.Float64())
		s.mix = append(s.mix, make([]float64, d))
		for j := range d {
			s.mix[i][j] = spread[j] * o.At(i, j)
		}
	}
	return s
}

func (s source) draw() []float64 {
	z := make([]float64, len(s.mean))
	for j := range z {
		z[j] = s.r.NormFloat64()
	}
	y := make([]float64, len(s.mean))
	for i := range y {
		y[i] = s.mean[i]
		for j := range z {
			y[i] += s.mix[i][j] * z[j]
		}
	}
	return y
}

// TestChangeOfModelIsNoPeak: if directions have almost equal variance, each block turns the model
// arbitrarily. The detectors' memory turns with it.
func TestChangeOfModelIsNoPeak(t *testing.T) {
	src := newSource(1, 4, .02, .02, .02, .02)
	tracker := newTracker(t, pronto.Config{Detector: pronto.DetectorConfig{Lag: 30, Threshold: 10}})
	for i := range 20_000 {
		if s := step(t, tracker, i, src.draw()); s.R != 0 || s.Reject {
			t.Fatalf("sample %d: R = %g, flags %v", i, s.R, s.Flags)
		}
	}
}

// TestAdoptedBasisIsAsIfFromTheStart: after Adopt, projections, flags and signals equal those of a
// tracker with the fleet's directions from the start, since no earlier sample was a peak in either.
func TestAdoptedBasisIsAsIfFromTheStart(t *testing.T) {
	fleet := newTracker(t, pronto.Config{})
	other := newSource(9, 4, .2, .02, .1, .05)
	for i := range 500 {
		step(t, fleet, i, other.draw())
	}
	c := pronto.Config{Detector: pronto.DetectorConfig{Threshold: 8, Lag: 13}} // not aligned with the blocks
	late, early := newTracker(t, c), newTracker(t, c)
	adopt(t, early, fleet.Model())
	src := newSource(2, 4, .05, .1, .02, .01)
	raised := 0
	for i := range 400 {
		y := src.draw()
		if i == 207 {
			adopt(t, late, fleet.Model())
		}
		if i > 207 && i%25 == 0 {
			y[1] += 10
		}
		a, b := step(t, late, i, y), step(t, early, i, y)
		if i < 207 {
			if a.R != 0 || b.R != 0 {
				t.Fatalf("got a peak at %d", i)
			}
			continue
		}
		if diff := cmp.Diff(b, a, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9 })); diff != "" {
			t.Fatalf("sample %d (-early +late):\n%s", i, diff)
		}
		for j, v := range a.Projection {
			var want float64
			for k, u := range fleet.Model().VectorTo(nil, j) {
				want += u * y[k]
			}
			if math.Abs(v-want) > 1e-9 {
				t.Fatalf("projection %d of sample %d: got %g, want %g", j, i, v, want)
			}
		}
		if a.R > 0 {
			raised++
		}
	}
	if raised < 5 {
		t.Errorf("%d signals", raised)
	}
}

// TestAdoptAndBack: an empty model returns to the node's own directions, which continued to learn
// meanwhile.
func TestAdoptAndBack(t *testing.T) {
	fleet, src := newTracker(t, pronto.Config{}), newSource(4, 3, .2, .1, .05)
	adopts, alone := newTracker(t, pronto.Config{}), newTracker(t, pronto.Config{})
	for i := range 300 {
		y := src.draw()
		step(t, fleet, i, []float64{y[2], y[0], y[1]})
		switch i {
		case 105:
			adopt(t, adopts, fleet.Model())
		case 207:
			adopt(t, adopts, svd.Model{})
		}
		a, b := step(t, adopts, i, y), step(t, alone, i, y)
		same := cmp.Equal(a.Projection, b.Projection)
		if adopted := i >= 105 && i < 207; len(b.Projection) > 0 && same == adopted {
			t.Fatalf("sample %d: got equal projections %v", i, same)
		}
		if !adopts.Model().Equal(alone.Model()) {
			t.Fatalf("sample %d: the node's own model differs", i)
		}
	}
}

// axes returns a model with given directions in the plane.
func axes(t *testing.T, u ...float64) svd.Model {
	t.Helper()
	s := svd.State{Dim: 2, Block: 10, Mass: 1, U: u, Mean: []float64{0, 0}}
	for j := range len(u) / 2 {
		s.Sigma = append(s.Sigma, 3-2*float64(j))
	}
	m, err := svd.FromState(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func adopt(t *testing.T, tracker *pronto.Tracker, m svd.Model) {
	t.Helper()
	if err := tracker.Adopt(m); err != nil {
		t.Fatal(err)
	}
}

// TestNewDirectionRemembers: a new direction of the basis inherits the memory of the former ones.
func TestNewDirectionRemembers(t *testing.T) {
	tracker := newTracker(t, pronto.Config{Detector: pronto.DetectorConfig{Lag: 4, Threshold: 3}})
	adopt(t, tracker, axes(t, 1, 0))
	for i, v := range []float64{.1, -.1, .1, -.1, .1, -.1} {
		if s := step(t, tracker, i, []float64{v, 0}); len(s.Flags) != 1 || s.R != 0 {
			t.Fatalf("%+v", s)
		}
	}
	h := math.Sqrt(.5)
	adopt(t, tracker, axes(t, h, h, h, -h))
	if s := step(t, tracker, 6, []float64{.1, 0}); !cmp.Equal(s.Flags, []int8{0, 0}) {
		t.Errorf("sample like the earlier ones: got flags %v", s.Flags)
	}
	if s := step(t, tracker, 7, []float64{1, 0}); !cmp.Equal(s.Flags, []int8{1, 1}) || s.R != 1 {
		t.Errorf("jump: got flags %v", s.Flags)
	}
}

// TestTurnedMidway: a window that was turned halfway through a block of the detector still counts each
// value once. It then holds 0, 0, 1, 1, with mean and deviation ½.
func TestTurnedMidway(t *testing.T) {
	tracker := newTracker(t, pronto.Config{Detector: pronto.DetectorConfig{Lag: 4, Threshold: 1.2}})
	adopt(t, tracker, axes(t, 1, 0))
	for i, v := range []float64{2, -2, 0, 0, 1, 1} {
		if s := step(t, tracker, i, []float64{v, 0}); s.R != 0 {
			t.Fatalf("%+v", s)
		}
	}
	adopt(t, tracker, axes(t, .6, .8))
	if s := step(t, tracker, 6, []float64{1.15, 0}); s.R != 1 {
		t.Errorf("%+v", s)
	}
}

// TestNothingRememberedWithoutBasis: a change from a model to none keeps no memory.
func TestNothingRememberedWithoutBasis(t *testing.T) {
	tracker := newTracker(t, pronto.Config{Model: svd.Options{Block: 6}, Detector: pronto.DetectorConfig{Lag: 2}})
	adopt(t, tracker, axes(t, 1, 0, 0, 1))
	for i := range 4 {
		step(t, tracker, i, []float64{.1, .2})
	}
	adopt(t, tracker, svd.Model{})
	for i := range 4 {
		s := step(t, tracker, 4+i, []float64{9 + float64(i), 9})
		if want := map[bool]int{false: 0, true: 2}[i >= 2]; len(s.Flags) != want || s.R != 0 {
			t.Errorf("sample %d: %+v", 4+i, s)
		}
	}
}

// TestFleetSpansPooledData: the merge of the nodes' models has the principal directions of all their
// samples.
func TestFleetSpansPooledData(t *testing.T) {
	const d, b, nodes, keep = 8, 40, 16, 3
	var fleet svd.Model
	pooled := mat.NewDense(nodes*b, d, nil)
	for n := range nodes {
		src := newSource(uint64(n), d, 1, .8, .6, .2, .1, .05, .02, .01)
		tracker := newTracker(t, pronto.Config{Model: svd.Options{Block: b}})
		for i := range b {
			y := src.draw()
			y[n%d] += .3 // each node has its own base load
			step(t, tracker, i, y)
			pooled.SetRow(n*b+i, y)
		}
		merged, err := svd.Merge(fleet, tracker.Model())
		if err != nil {
			t.Fatal(err)
		}
		fleet = merged
	}
	for j := range d {
		var mean float64
		for i := range nodes * b {
			mean += pooled.At(i, j) / (nodes * b)
		}
		for i := range nodes * b {
			pooled.Set(i, j, pooled.At(i, j)-mean)
		}
	}
	var whole mat.SVD
	if !whole.Factorize(pooled, mat.SVDThin) {
		t.Fatal("no decomposition")
	}
	var v mat.Dense
	whole.VTo(&v)
	overlap := mat.NewDense(keep, keep, nil)
	for i := range keep {
		u := fleet.VectorTo(nil, i)
		for j := range keep {
			var dot float64
			for k := range d {
				dot += u[k] * v.At(k, j)
			}
			overlap.Set(i, j, dot)
		}
	}
	// The sine comes from the part of the fleet's directions outside the pooled ones: the cosine of so
	// small an angle is 1.
	var gram mat.Dense
	gram.Mul(overlap, overlap.T())
	for i := range keep {
		if outside := 1 - gram.At(i, i); outside > 1e-12 {
			t.Errorf("direction %d differs by an angle of %g", i, math.Sqrt(outside))
		}
	}
}

// scripted returns a tracker whose directions are the axes, with standard deviations 3 and 1, and whose
// windows are full of noise about 0.
func scripted(t *testing.T, c pronto.Config) *pronto.Tracker {
	t.Helper()
	c.Detector = pronto.DetectorConfig{Lag: 4, Threshold: 3}
	tracker := newTracker(t, c)
	adopt(t, tracker, axes(t, 1, 0, 0, 1))
	for i, v := range []float64{-.1, .1, -.1, .1} {
		if s := step(t, tracker, i, []float64{v, v}); s.R != 0 || len(s.Flags) != 2 {
			t.Fatalf("signal %+v", s)
		}
	}
	return tracker
}

func TestSignal(t *testing.T) {
	for name, tc := range map[string]struct {
		config  pronto.Config
		y       []float64
		want    pronto.Signal
		decided int // −1: none
	}{
		"none":             {y: []float64{.2, -.2}, want: pronto.Signal{Flags: []int8{0, 0}}, decided: -1},
		"first":            {y: []float64{1, 0}, want: pronto.Signal{R: .75, Raised: true, Reject: true, Flags: []int8{1, 0}}},
		"second":           {y: []float64{0, 1}, want: pronto.Signal{R: .25, Flags: []int8{0, 1}}, decided: 1},
		"below counts":     {y: []float64{-1, 0}, want: pronto.Signal{R: .75, Raised: true, Reject: true, Flags: []int8{-1, 0}}},
		"signed":           {config: pronto.Config{Signed: true}, y: []float64{1, -1}, want: pronto.Signal{R: .5, Raised: true, Reject: true, Flags: []int8{1, -1}}},
		"signed below":     {config: pronto.Config{Signed: true}, y: []float64{-1, 0}, want: pronto.Signal{R: -.75, Flags: []int8{-1, 0}}},
		"energy":           {config: pronto.Config{Weight: pronto.WeightEnergy}, y: []float64{1, 0}, want: pronto.Signal{R: .9, Raised: true, Reject: true, Flags: []int8{1, 0}}},
		"lower threshold":  {config: pronto.Config{Reject: .25}, y: []float64{0, 1}, want: pronto.Signal{R: .25, Raised: true, Reject: true, Flags: []int8{0, 1}}, decided: 1},
		"higher threshold": {config: pronto.Config{Reject: .8}, y: []float64{1, 0}, want: pronto.Signal{R: .75, Flags: []int8{1, 0}}},
		"both":             {config: pronto.Config{Reject: 1}, y: []float64{5, -5}, want: pronto.Signal{R: 1, Raised: true, Reject: true, Flags: []int8{1, -1}}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Projection = tc.y
			got := step(t, scripted(t, tc.config), 4, tc.y)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if j, ok := got.Decided(); ok != (tc.decided >= 0) || ok && j != tc.decided {
				t.Errorf("got decision by %d, %v", j, ok)
			}
		})
	}
}

// TestTruncatedEnergy: the trace includes the truncated energy.
func TestTruncatedEnergy(t *testing.T) {
	m, err := svd.FromState(svd.State{Dim: 2, Block: 10, Mass: 1, U: []float64{0, 1}, Sigma: []float64{2}, Residual: 4, Mean: []float64{0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	tracker := newTracker(t, pronto.Config{Weight: pronto.WeightEnergy, Detector: pronto.DetectorConfig{Lag: 2}})
	adopt(t, tracker, m)
	step(t, tracker, 0, []float64{0, 0})
	step(t, tracker, 1, []float64{0, .1})
	s := step(t, tracker, 2, []float64{0, 9})
	if want := (pronto.Signal{R: .5, Raised: true, Reject: true, Flags: []int8{1}, Projection: []float64{9}}); !cmp.Equal(s, want) {
		t.Errorf("%+v, want %+v", s, want)
	}
	if got := tracker.SigmaTo([]float64{7, 8}); !cmp.Equal(got, []float64{2}) {
		t.Errorf("got singular values %v", got)
	}
	if got := tracker.VectorTo([]float64{7, 8, 9}, 0); !cmp.Equal(got, []float64{0, 1}) {
		t.Errorf("direction %v", got)
	}
	for _, j := range []int{-1, 1} {
		if got := tracker.VectorTo(nil, j); len(got) != 0 {
			t.Errorf("direction %d is %v", j, got)
		}
	}
	// The later sample did not raise the standing rejection.
	tracker = newTracker(t, pronto.Config{Window: time.Minute, Detector: pronto.DetectorConfig{Lag: 2}})
	adopt(t, tracker, m)
	for i, raised := range []bool{false, false, true, false} {
		y := []float64{0, []float64{0, .1, 9, 9}[i]}
		if s := step(t, tracker, i, y); s.Raised != raised || s.Reject != (i >= 2) {
			t.Errorf("sample %d: %+v", i, s)
		}
	}
}

// TestWindow: a rejection stands for Window after the last sample that raised it.
func TestWindow(t *testing.T) {
	tracker := scripted(t, pronto.Config{Window: 300 * time.Millisecond})
	var got []bool
	for i, v := range []float64{0, 40, 0, 0, 0, 0, 90, 0} {
		got = append(got, step(t, tracker, 4+i, []float64{v, 0}).Reject)
	}
	if want := []bool{false, true, true, true, true, false, true, true}; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestNothingBeforeTheFirstBlock: without a model there is no projection.
func TestNothingBeforeTheFirstBlock(t *testing.T) {
	tracker, src := newTracker(t, pronto.Config{Model: svd.Options{Block: 7}}), newSource(1, 3, .1, .2, .3)
	for i := range 8 {
		s := step(t, tracker, i, src.draw())
		if got, want := len(s.Projection), map[bool]int{false: 0, true: 3}[i == 7]; got != want || len(s.Flags) != want || s.R != 0 {
			t.Fatalf("sample %d: %+v", i, s)
		}
		if got, want := tracker.Model().Dim() > 0, i >= 6; got != want {
			t.Fatalf("sample %d: a model: %v", i, got)
		}
	}
	if !tracker.Model().Centred() {
		t.Error("the model is not centred")
	}
}

// TestRank: a bounded rank limits the directions; a growing one keeps them consistent.
func TestRank(t *testing.T) {
	tracker := newTracker(t, pronto.Config{Model: svd.Options{EnergyLow: .9, EnergyHigh: .95}})
	flat, deep := newSource(1, 4, .3, .001, .001, .001), newSource(1, 4, .3, .3, .3, .3)
	ranks := map[int]bool{}
	for i := range 2000 {
		src := flat
		if i/500%2 == 1 {
			src = deep
		}
		s := step(t, tracker, i, src.draw())
		ranks[len(s.Projection)] = true
		if len(s.Flags) != len(s.Projection) || !(s.R >= 0 && s.R <= 1) {
			t.Fatalf("sample %d: %+v", i, s)
		}
	}
	if !ranks[1] || !ranks[3] && !ranks[4] {
		t.Errorf("ranks %v", ranks)
	}
}

func TestTrackerRejects(t *testing.T) {
	for field, c := range map[string]pronto.Config{
		"Model":              {Model: svd.Options{Rank: -1}},
		"Detector.Lag":       {Detector: pronto.DetectorConfig{Lag: 1}},
		"Detector.Threshold": {Detector: pronto.DetectorConfig{Threshold: math.Inf(1)}},
		"Weight":             {Weight: 2},
		"Reject":             {Reject: 1.01},
		"Window":             {Window: -1},
	} {
		if field == "Model" {
			wantFieldError(t, second(pronto.New(c)), field, svd.ErrRange)
			continue
		}
		wantFieldError(t, second(pronto.New(c)), field, pronto.ErrRange)
	}
	for field, c := range map[string]pronto.Config{
		"Weight": {Weight: -1}, "Reject": {Reject: math.NaN()}, "Window": {Window: pronto.MaxWindow + 1},
	} {
		wantFieldError(t, second(pronto.New(c)), field, pronto.ErrRange)
	}
	wantFieldError(t, second(newTracker(t, pronto.Config{Model: svd.Options{Rank: 3}}).Step(start, []float64{1, 2})), "Model.Rank", pronto.ErrRange)
	wantFieldError(t, second(newTracker(t, pronto.Config{}).Step(start, nil)), "len(y)", pronto.ErrLength)
	wantFieldError(t, second(newTracker(t, pronto.Config{}).Step(start, make([]float64, svd.MaxDim+1))), "len(y)", pronto.ErrLength)
	unit := newTracker(t, pronto.Config{Model: svd.Options{Unit: true}})
	wantFieldError(t, second(unit.Step(start, []float64{0, 1.1})), "y[1]", pronto.ErrRange)
}

// TestBoundsAreAccepted: a value at a bound is valid.
func TestBoundsAreAccepted(t *testing.T) {
	tracker := newTracker(t, pronto.Config{
		Model: svd.Options{Rank: svd.MaxDim, Unit: true}, Window: pronto.MaxWindow, Reject: 1, Weight: pronto.WeightEnergy,
		Detector: pronto.DetectorConfig{Lag: pronto.MaxLag, Threshold: pronto.MaxThreshold},
	})
	y := make([]float64, svd.MaxDim)
	for i := range y {
		y[i] = float64(i % 2)
	}
	step(t, tracker, 0, y)
	adopt(t, newTracker(t, pronto.Config{Model: svd.Options{Rank: 2}}), axes(t, 1, 0))
}

// TestRejectedChangesNothing: a tracker with some invalid inputs continues as one without.
func TestRejectedChangesNothing(t *testing.T) {
	src, other := newSource(6, 2, .1, .2), newTracker(t, pronto.Config{})
	for i := range 20 {
		step(t, other, i, []float64{1, 2, float64(i)})
	}
	plain, beset := newTracker(t, pronto.Config{}), newTracker(t, pronto.Config{})
	uncentred, err := svd.Update(svd.Model{}, [][]float64{{1, 2}}, svd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		y := src.draw()
		want, got := step(t, plain, i, y), step(t, beset, i, y)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("sample %d (-plain +beset):\n%s", i, diff)
		}
		wantFieldError(t, second(beset.Step(at(i), []float64{1, math.NaN()})), "y[1]", pronto.ErrNotFinite)
		wantFieldError(t, second(beset.Step(at(i), []float64{-2e100, 0})), "y[0]", pronto.ErrRange)
		wantFieldError(t, second(beset.Step(at(i), []float64{1, 1, 1})), "len(y)", pronto.ErrLength)
		wantFieldError(t, second(beset.Step(at(i).Add(-1), y)), "at", pronto.ErrTime)
		wantFieldError(t, beset.Adopt(uncentred), "m.Centred", pronto.ErrCentring)
		wantFieldError(t, beset.Adopt(other.Model()), "m.Dim", pronto.ErrLength)
	}
	ranked := newTracker(t, pronto.Config{Model: svd.Options{Rank: 4}})
	wantFieldError(t, ranked.Adopt(other.Model()), "m.Dim", pronto.ErrLength)
}

// TestSignalsShareNothing: the results of Step do not change later, and inputs are not retained.
func TestSignalsShareNothing(t *testing.T) {
	tracker, twin, src := newTracker(t, pronto.Config{}), newTracker(t, pronto.Config{}), newSource(8, 3, .1, .1, .1)
	var was, copies []pronto.Signal
	for i := range 60 {
		y := src.draw()
		mine := append([]float64(nil), y...)
		s := step(t, tracker, i, mine)
		for k := range mine {
			mine[k] = math.NaN()
		}
		was = append(was, s)
		copies = append(copies, step(t, twin, i, y))
	}
	if diff := cmp.Diff(copies, was); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestStepToDoesNotAllocate(t *testing.T) {
	tracker, src := newTracker(t, pronto.Config{Model: svd.Options{Rank: 4}}), newSource(3, 8, 1, .5, .3, .2, .1, .1, .1, .1)
	samples := make([][]float64, 100)
	for i := range samples {
		samples[i] = src.draw()
	}
	var s pronto.Signal
	i := 0
	next := func() {
		if err := tracker.StepTo(&s, at(i), samples[i%len(samples)]); err != nil {
			t.Fatal(err)
		}
		i++
	}
	for range 100 {
		next()
	}
	if n := testing.AllocsPerRun(1000, next); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
