package colocate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/colocate"
)

func refused(t *testing.T, err error, name string) {
	t.Helper()
	var fe *field.Error
	if !errors.As(err, &fe) || !errors.Is(err, testbed.ErrInvalid) || fe.Field != name {
		t.Errorf("got error %v, want a *field.Error of %s", err, name)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) }

// The moments equal those of two passes over all runs, for any partition of them.
func TestCellMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var all []float64
		var parts [3]colocate.Cell
		for range rng.IntN(40) {
			x := 1e3*rng.Float64() + 1e6*float64(rng.IntN(2))
			all = append(all, x)
			i := rng.IntN(3)
			var err error
			if parts[i], err = parts[i].Add(x); err != nil {
				t.Fatal(err)
			}
		}
		got := parts[0].Merge(parts[1]).Merge(parts[2])
		mean, squares := 0.0, 0.0
		for _, x := range all {
			mean += x / float64(max(1, len(all)))
		}
		for _, x := range all {
			squares += (x - mean) * (x - mean)
		}
		sd := 0.0
		if len(all) > 1 {
			sd = math.Sqrt(squares / float64(len(all)-1))
		}
		if got.Count != len(all) || !near(got.Mean, mean) || math.Abs(got.Squares-squares) > 1e-6*(1+squares) || math.Abs(got.SD()-sd) > 1e-6*(1+sd) {
			t.Fatalf("got %+v, sd %g; want %d runs of %g, %g, sd %g", got, got.SD(), len(all), mean, squares, sd)
		}
		if err := got.Validate(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCellRefuses(t *testing.T) {
	c := colocate.Cell{Count: 1, Mean: 2}
	for _, x := range []float64{-1, math.NaN(), math.Inf(1)} {
		got, err := c.Add(x)
		refused(t, err, "seconds")
		if got != c {
			t.Errorf("%+v", got)
		}
	}
	if _, err := c.Add(0); err != nil {
		t.Error(err)
	}
	for field, cells := range map[string][]colocate.Cell{
		"Cell.Count":   {{Count: -1}, {Mean: 1}, {Squares: 1}},
		"Cell.Mean":    {{Count: 2, Mean: -1}, {Count: 2, Mean: math.NaN()}, {Count: 2, Mean: math.Inf(1)}},
		"Cell.Squares": {{Count: 2, Squares: -1}, {Count: 2, Squares: math.NaN()}, {Count: 2, Squares: math.Inf(1)}, {Count: 1, Squares: 1}},
	} {
		for _, c := range cells {
			refused(t, c.Validate(), field)
		}
	}
	for _, c := range []colocate.Cell{{}, {Count: 1}, {Count: math.MaxInt32, Mean: 1, Squares: 1}} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestCellText(t *testing.T) {
	for text, want := range map[string]colocate.Cell{
		`"24 (16)"`:                          {Count: 16, Mean: 24},
		`"0.5 (1)"`:                          {Count: 1, Mean: .5},
		`"0 (0)"`:                            {},
		`{"count":3,"mean":2.5,"squares":1}`: {Count: 3, Mean: 2.5, Squares: 1},
		`{"mean":2,"count":1}`:               {Count: 1, Mean: 2},
	} {
		var got colocate.Cell
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		written, err := json.Marshal(got)
		var back colocate.Cell
		if err != nil || json.Unmarshal(written, &back) != nil || back != want {
			t.Errorf("%s: got text %s, decoded %+v", text, written, back)
		}
	}
	for _, text := range []string{
		`"24"`, `"24 16"`, `"24 (16"`, `"24 (1.5)"`, `"24 (-1)"`, `"-24 (1)"`, `"x (1)"`, `"24 (99999999999)"`, `"1 (0)"`,
		`"NaN (2)"`, `"Inf (2)"`, `"" `, `{"count":-1}`, `{"count":"1"}`, `3`, `"24 (1)x"`, `"\x"`,
	} {
		got := colocate.Cell{Count: 7, Mean: 7}
		if err := json.Unmarshal([]byte(text), &got); err == nil || got != (colocate.Cell{Count: 7, Mean: 7}) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	_, err := colocate.ParseCell("24 (16")
	refused(t, err, "Cell")
}

func TestParseRow(t *testing.T) {
	want := colocate.Row{"flink-wordcount": {Count: 16, Mean: 24}, "spark-pi": {Count: 2, Mean: 3, Squares: 2}}
	for _, text := range []string{
		`{"flink-wordcount": "24 (16)", "spark-pi": {"count": 2, "mean": 3, "squares": 2}}`,
		` [{"flink-wordcount": "24 (16)", "spark-pi": {"count": 1, "mean": 2}}, {"spark-pi": "4 (1)"}]`,
	} {
		got, err := colocate.ParseRow([]byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Error(err, diff)
		}
	}
	for _, text := range []string{``, `{`, `["a"]`, `{"a": 1}`, `[{"a": "1 (2147483647)"}, {"a": "1 (1)"}]`} {
		if row, err := colocate.ParseRow([]byte(text)); err == nil {
			t.Errorf("%s: %v", text, row)
		}
	}
	if row, err := colocate.ParseRow([]byte(`[]`)); err != nil || row == nil || len(row) != 0 {
		t.Error(row, err)
	}
}

// add takes a run of a job beside another, or alone if that is the job itself, into the matrix.
func add(m *colocate.Matrix, job, beside string, seconds float64) error {
	cell, err := m.At(job, beside).Add(seconds)
	if err != nil {
		return err
	}
	row := m.Row(job)
	row[beside] = cell
	return m.Set(job, row)
}

func TestMatrix(t *testing.T) {
	var m colocate.Matrix
	if row := m.Row("a"); row == nil || len(row) != 0 || m.At("a", "b") != (colocate.Cell{}) {
		t.Errorf("empty matrix: got %v", row)
	}
	for _, x := range []float64{2, 4} {
		if err := add(&m, "a", "b", x); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, add(&m, "a", "b", -1), "seconds")
	refused(t, m.Set("a", colocate.Row{"b": {Count: -1}}), "Cell.Count")
	if got, want := m.At("a", "b"), (colocate.Cell{Count: 2, Mean: 3, Squares: 2}); got != want || m.At("b", "a") != (colocate.Cell{}) {
		t.Errorf("%+v", got)
	}
	row := m.Row("a")
	row["b"] = colocate.Cell{}
	if m.At("a", "b").Count != 2 {
		t.Error("Row is not a copy")
	}
	row["b"] = colocate.Cell{Count: 1, Mean: 9}
	if err := m.Set("b", row); err != nil {
		t.Fatal(err)
	}
	row["b"] = colocate.Cell{}
	if m.At("b", "b").Mean != 9 {
		t.Error("Set retains its argument")
	}
}

func TestNext(t *testing.T) {
	var m colocate.Matrix
	more := func(a, b string, n int) {
		for range n {
			if err := add(&m, a, b, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	jobs := []string{"c", "a", "b", "a"}
	var order []string
	for range 6 {
		p, ok := m.Next(jobs)
		if !ok {
			t.Fatal("none")
		}
		order = append(order, p.A+p.B)
		more(p.A, p.B, 1)
		more(p.B, p.A, 1)
	}
	if want := []string{"ab", "ac", "bc", "ab", "ac", "bc"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	// The less sampled direction counts.
	more("a", "b", 5)
	more("a", "c", 1)
	more("c", "a", 1)
	if p, _ := m.Next(jobs); p != (colocate.Pair{A: "a", B: "b"}) {
		t.Errorf("%v", p)
	}
	for _, few := range [][]string{nil, {"a"}, {"a", "a"}} {
		if p, ok := m.Next(few); ok {
			t.Errorf("%v of %v", p, few)
		}
	}
}

// random returns a matrix of run times, some unknown, some equal.
func random(rng *rand.Rand, jobs []string, unknown float64) *colocate.Matrix {
	m := &colocate.Matrix{}
	for _, a := range jobs {
		row := make(colocate.Row)
		for _, b := range jobs {
			if rng.Float64() >= unknown {
				row[b] = colocate.Cell{Count: 1, Mean: float64(rng.IntN(12))}
			}
		}
		if err := m.Set(a, row); err != nil {
			panic(err)
		}
	}
	return m
}

func names(n int) []string {
	var jobs []string
	for i := range n {
		jobs = append(jobs, string(rune('a'+i)))
	}
	return jobs
}

// value rates a pairing by the run times.
func value(m *colocate.Matrix, pairs []colocate.Pair) (unknown int, longest, sum float64) {
	count := func(c colocate.Cell) {
		if c.Count == 0 {
			unknown++
		}
		longest, sum = max(longest, c.Mean), sum+c.Mean
	}
	for _, p := range pairs {
		if p.B == "" {
			count(m.At(p.A, p.A))
		} else {
			count(m.At(p.A, p.B))
			count(m.At(p.B, p.A))
		}
	}
	return unknown, longest, sum
}

// pairings calls f with every pairing of the jobs.
func pairings(jobs []string, so []colocate.Pair, f func([]colocate.Pair)) {
	if len(jobs) == 0 {
		f(so)
		return
	}
	for i := 1; i < len(jobs); i++ {
		rest := append(slices.Clone(jobs[1:i]), jobs[i+1:]...)
		pairings(rest, append(slices.Clone(so), colocate.Pair{A: jobs[0], B: jobs[i]}), f)
	}
	if len(jobs)%2 == 1 {
		pairings(jobs[1:], append(slices.Clone(so), colocate.Pair{A: jobs[0]}), f)
	}
}

func holdToPairing(t *testing.T, m *colocate.Matrix, jobs []string, p colocate.Plan) {
	t.Helper()
	var of []string
	for i, pair := range p.Pairs {
		of = append(of, pair.A)
		if pair.B != "" {
			of = append(of, pair.B)
		} else if i != len(p.Pairs)-1 {
			t.Fatalf("got a single job in the middle of %v", p.Pairs)
		}
	}
	slices.Sort(of)
	want := slices.Sorted(slices.Values(jobs))
	if !slices.Equal(of, want) || len(p.Pairs) != (len(jobs)+1)/2 {
		t.Fatalf("%v is not a pairing of %v", p.Pairs, jobs)
	}
	if unknown, longest, sum := value(m, p.Pairs); unknown != p.Unknown || longest != p.Longest || sum != p.Sum {
		t.Fatalf("%+v: want value %d, %g, %g", p, unknown, longest, sum)
	}
}

// TestPlanIsOptimal compares the plan with all pairings.
func TestPlanIsOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	for range 600 {
		jobs := names(rng.IntN(9))
		m := random(rng, jobs, []float64{0, 0, .3}[rng.IntN(3)])
		rng.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
		given := slices.Clone(jobs)
		got, err := m.Plan(jobs)
		if err != nil {
			t.Fatal(err)
		}
		holdToPairing(t, m, jobs, got)
		if !got.Exact || !slices.Equal(given, jobs) {
			t.Fatalf("%+v of %v, given %v", got, jobs, given)
		}
		unknown, longest, sum := math.MaxInt, 0.0, 0.0
		pairings(jobs, nil, func(pairs []colocate.Pair) {
			u, l, s := value(m, pairs)
			if u < unknown || u == unknown && (l < longest || l == longest && s < sum) {
				unknown, longest, sum = u, l, s
			}
		})
		if got.Unknown != unknown || got.Longest != longest || got.Sum != sum {
			t.Fatalf("got %+v, want %d, %g, %g", got, unknown, longest, sum)
		}
		greedy, err := m.Greedy(jobs)
		if err != nil {
			t.Fatal(err)
		}
		holdToPairing(t, m, jobs, greedy)
		// The reference of greedy: of all pairings the first, by the run time of each first job.
		if want := naiveGreedy(m, jobs); greedy.Exact || !slices.Equal(greedy.Pairs, want) {
			t.Fatalf("%v, want %v", greedy.Pairs, want)
		}
	}
}

func naiveGreedy(m *colocate.Matrix, jobs []string) []colocate.Pair {
	if len(jobs) == 0 {
		return nil
	}
	if len(jobs) == 1 {
		return []colocate.Pair{{A: jobs[0]}}
	}
	rest := slices.Clone(jobs[1:])
	slices.SortStableFunc(rest, func(b, c string) int {
		x, y := m.At(jobs[0], b), m.At(jobs[0], c)
		if (x.Count == 0) != (y.Count == 0) {
			return y.Count - x.Count
		}
		return int(x.Mean - y.Mean)
	})
	left := slices.DeleteFunc(slices.Clone(jobs[1:]), func(name string) bool { return name == rest[0] })
	return append([]colocate.Pair{{A: jobs[0], B: rest[0]}}, naiveGreedy(m, left)...)
}

// With three CPU-bound and three idle jobs, greedy pairs two CPU-bound ones if it uses the idle ones
// first; the exact plan never does.
func TestGreedyIsWorse(t *testing.T) {
	var m colocate.Matrix
	jobs := []string{"cpu1", "cpu2", "cpu3", "idle1", "idle2", "idle3"}
	for _, a := range jobs {
		for _, b := range jobs {
			seconds := 10.0
			if strings.HasPrefix(a, "cpu") && strings.HasPrefix(b, "cpu") {
				seconds = 20
			}
			if strings.HasPrefix(a, "idle") && strings.HasPrefix(b, "idle") {
				seconds = 9
			}
			if err := add(&m, a, b, seconds); err != nil {
				t.Fatal(err)
			}
		}
	}
	greedy, _ := m.Greedy([]string{"idle1", "idle2", "idle3", "cpu1", "cpu2", "cpu3"})
	exact, _ := m.Plan(jobs)
	if greedy.Longest != 20 || exact.Longest != 10 || exact.Sum != 60 {
		t.Errorf("greedy %+v, exact %+v", greedy, exact)
	}
}

// The largest exactly planned number of jobs, and one more.
func TestPlanOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, n := range []int{colocate.MostExact - 1, colocate.MostExact, colocate.MostExact + 1} {
		jobs := names(n)
		m := random(rng, jobs, .1)
		plan, err := m.Plan(jobs)
		if err != nil {
			t.Fatal(err)
		}
		holdToPairing(t, m, jobs, plan)
		if plan.Exact != (n <= colocate.MostExact) {
			t.Errorf("%d jobs: got an exact plan %v", n, plan.Exact)
		}
		greedy, _ := m.Greedy(jobs)
		if plan.Unknown > greedy.Unknown || plan.Unknown == greedy.Unknown && plan.Longest > greedy.Longest {
			t.Errorf("%d jobs: %+v is worse than greedy's %+v", n, plan, greedy)
		}
	}
}

// Of equal pairings it is the first by name, for any order of the jobs.
func TestPlanOfEquals(t *testing.T) {
	m := &colocate.Matrix{}
	for _, a := range names(4) {
		for _, b := range names(4) {
			if err := add(m, a, b, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	plan, err := m.Plan([]string{"d", "b", "c", "a"})
	if want := []colocate.Pair{{A: "a", B: "b"}, {A: "c", B: "d"}}; err != nil || !slices.Equal(plan.Pairs, want) {
		t.Errorf("%v, %v", plan.Pairs, err)
	}
}

func TestPlanRefuses(t *testing.T) {
	var m colocate.Matrix
	for _, jobs := range [][]string{{"a", ""}, {"a", "b", "a"}} {
		_, err := m.Plan(jobs)
		refused(t, err, "jobs")
		_, err = m.Greedy(jobs)
		refused(t, err, "jobs")
	}
}

// FuzzRow: a decoded row is encoded and decoded again the same.
func FuzzRow(f *testing.F) {
	for _, text := range []string{`{"a":"24 (16)"}`, `[{"a":{"count":2,"mean":1.5,"squares":0.5}},{"a":"1 (1)"}]`, `{}`, `[`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		row, err := colocate.ParseRow(data)
		if err != nil {
			return
		}
		var m colocate.Matrix
		if err := m.Set("job", row); err != nil {
			t.Fatalf("%s: got decoded %v: %v", data, row, err)
		}
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		back, err := colocate.ParseRow(text)
		if err != nil || !cmp.Equal(row, back) {
			t.Errorf("%s, then %s: %v", data, text, err)
		}
	})
}

// FuzzCell: a decoded cell is one that runs can have led to.
func FuzzCell(f *testing.F) {
	f.Add("24 (16)")
	f.Add("1e300 (1)")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := colocate.ParseCell(text); err == nil && (c.Validate() != nil || !strings.HasSuffix(text, ")")) {
			t.Errorf("%q is %+v", text, c)
		}
	})
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{6, 20} {
		b.Run(fmt.Sprint("jobs=", n), func(b *testing.B) {
			jobs := names(n)
			m := random(rand.New(rand.NewPCG(1, 1)), jobs, 0)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Plan(jobs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
