package workload

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

func TestBatch(t *testing.T) {
	equal, err := Batch(1, 2000, 10, Equal)
	if err != nil {
		t.Fatal(err)
	}
	exponential, err := Batch(1, 2000, 10, Exponential)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.
	for i, p := range equal {
		if p.Work != 10 || p.Created != 0 {
			t.Fatalf("pod %+v", p)
		}
		if p.Startup != exponential[i].Startup {
			t.Fatal("the law of work changes the start-up latencies")
		}
		sum += exponential[i].Work
	}
	if mean := sum / 2000; math.Abs(mean-10) > 1 {
		t.Errorf("mean work %g, want 10", mean)
	}
}

func TestPoisson(t *testing.T) {
	pods, err := Poisson(3, .8, 76, 10, 1000, Exponential)
	if err != nil {
		t.Fatal(err)
	}
	work, last := 0., 0.
	for _, p := range pods {
		if p.Created < last || p.Created > 1000 {
			t.Fatalf("created at %g after %g", p.Created, last)
		}
		last = p.Created
		work += p.Work
	}
	if load := work / (76 * 1000); math.Abs(load-.8) > .04 {
		t.Errorf("load %.3f, want .8", load)
	}
}

func TestMixed(t *testing.T) {
	pods, err := Mixed(1, 3000, 10, Equal, 1000, Mix{MemoryShare: 1. / 3, WaitingShare: 1. / 3})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, p := range pods {
		if solo := p.Solo(); math.Abs(solo-10) > 1e-9 {
			t.Fatalf("%+v runs %g s alone", p, solo)
		}
		p.Startup = 0
		kinds[fmt.Sprint(p)]++
	}
	for _, p := range []sim.Pod{{Work: 10, Workload: "cpu"}, {Work: 1, Cores: .1, Memory: 120, Ramp: 5, Workload: "memory"}, {Work: 2, Cores: .2, Workload: "waiting"}} {
		if n := kinds[fmt.Sprint(p)]; n < 900 || n > 1100 {
			t.Errorf("%d pods like %+v, want a third of 3000", n, p)
		}
	}
}

var machine = baseline.Resources{CPU: 4, Memory: 1000}

// Right is each pod's own need, P98 the 98th percentile of its owner's pods, Mean the mean of all;
// none asks for more than a node has, and servers are unchanged.
func TestDeclareNeeds(t *testing.T) {
	server := sim.Pod{On: 1, Server: node.Server{Rate: 1, Work: 1}}
	pods := []sim.Pod{{Work: 1}, {Work: 1, Cores: 8, Memory: 2000, Workload: "wide"}, {Work: 1, Cores: .1, Workload: "wide"}, server}
	for i := range 100 { // 1 to 100 bytes
		pods = append(pods, sim.Pod{Work: 1, Cores: float64(i+1) / 100, Memory: float64(100 - i), Workload: "many"})
	}
	for request, want := range map[Requests][]baseline.Resources{
		RequestRight: {{CPU: 1}, {CPU: 4, Memory: 1000}, {CPU: .1}, {}, {CPU: .01, Memory: 100}},
		RequestP98:   {{CPU: 1}, {CPU: 4, Memory: 1000}, {CPU: 4, Memory: 1000}, {}, {CPU: .98, Memory: 98}},
		// 59.6 cores and 7,050 bytes over 103 pods.
		RequestMean: {{CPU: .579, Memory: 69}, {CPU: .579, Memory: 69}, {CPU: .579, Memory: 69}, {}, {CPU: .579, Memory: 69}},
	} {
		declared, err := Declare(1, pods, request, machine)
		if err != nil {
			t.Fatal(err)
		}
		var got []baseline.Resources
		for _, p := range declared[:5] {
			got = append(got, p.Request)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", request, diff)
		}
	}
}

// Pods of Wide are of four widths, run alone for the same time, and take memory by
// their width.
func TestWide(t *testing.T) {
	pods, err := Wide(1, 4000, 10, Equal)
	if err != nil {
		t.Fatal(err)
	}
	count := map[float64]int{}
	low, high := math.Inf(1), 0.
	for _, p := range pods {
		count[p.Cores]++
		if math.Abs(p.Solo()-10) > 1e-9 || p.Ramp != 5 {
			t.Fatalf("%+v runs %g s alone", p, p.Solo())
		}
		if p.Memory > 12*(1<<30) {
			t.Fatalf("%+v fits on no node of 4 cores", p)
		}
		low, high = min(low, p.Memory/p.Cores), max(high, p.Memory/p.Cores)
	}
	for cores, want := range map[float64]int{.25: 1600, 1: 1600, 4: 600, 8: 200} {
		if n := count[cores]; math.Abs(float64(n-want)) > 80 {
			t.Errorf("%d of 4000 pods of %g cores, want about %d", n, cores, want)
		}
	}
	if gi := float64(1 << 30); low < .5*gi-10 || low > .6*gi || high < 3.4*gi || high > 3.5*gi+10 {
		t.Errorf("memory from %g to %g bytes a core", low, high)
	}
	owners := map[string]float64{}
	for _, p := range pods {
		if cores, ok := owners[p.Workload]; ok && cores != p.Cores {
			t.Fatalf("owner %q has pods of %g and %g cores", p.Workload, cores, p.Cores)
		}
		owners[p.Workload] = p.Cores
	}
}

func TestDeclare(t *testing.T) {
	pods := make([]sim.Pod, 300)
	for i := range pods {
		pods[i] = sim.Pod{Work: 1}
	}
	for request, want := range map[Requests]float64{RequestNone: 0, "over": 3, "under": .333} {
		got, err := Declare(1, pods, request, machine)
		if err != nil {
			t.Fatal(err)
		}
		if got[7].Request.CPU != want || got[7].Weight != 0 {
			t.Errorf("%s: %+v", request, got[7])
		}
	}
	mixed, err := Declare(1, pods, RequestMixed, machine)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[float64]int{}
	for _, p := range mixed {
		counts[p.Request.CPU]++
	}
	for _, request := range []float64{0, 3, .333} {
		if n := counts[request]; n < 70 || n > 130 {
			t.Errorf("%d of 300 pods request %g", n, request)
		}
	}
	if pods[0].Request.CPU != 0 {
		t.Error("the given pods were modified")
	}
}

func TestServers(t *testing.T) {
	server := node.Server{Rate: 1, Work: 2}
	want := []sim.Pod{{Server: server, On: 1}, {Server: server, On: 4}, {Server: server, On: 7}}
	if diff := cmp.Diff(want, Servers(7, server)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefuses(t *testing.T) {
	var err [8]error
	_, err[0] = Batch(1, 0, 1, Equal)
	_, err[1] = Batch(1, 1, math.NaN(), Equal)
	_, err[2] = Batch(1, 1, 1, "normal")
	_, err[3] = Poisson(1, 1, 1e9, 1e-3, 1e9, Equal)
	_, err[4] = Mixed(1, 1, 1, Equal, 1, Mix{MemoryShare: 2})
	_, err[5] = Declare(1, make([]sim.Pod, 1), "lies", machine)
	_, err[6] = Background(1, make([]Utilisation, 1), []int{4}, -1, 1, 1)
	_, err[7] = Invocations(1, nil, 0, 1, 1)
	for i, e := range err {
		var name *field.Error
		if !errors.As(e, &name) || !errors.Is(e, errInvalid) {
			t.Errorf("case %d: error %v", i, e)
		}
	}
}

const (
	ec2       = "timestamp,value\n2014-02-14 14:30:00,10\n2014-02-14 14:35:00,150\n2014-02-14 14:40:00,20\n"
	bitbrains = "Timestamp [ms];\tCPU cores;\tCPU usage [%]\n1372629804;\t2;\t1.5\n1372630104;\t2;\t0.5\n"
)

func TestReadUtilisations(t *testing.T) {
	dir := fstest.MapFS{
		"b.csv": {Data: []byte(ec2)}, "a.csv": {Data: []byte(bitbrains)}, "README": {Data: []byte("not a trace")},
	}
	got, err := ReadUtilisations(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []Utilisation{
		{step: 300, share: []float64{.015, .005}},
		{step: 300, share: []float64{.1, 1, .2}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Utilisation{}), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{
		"empty": "", "no such columns": "a,b\n1,2\n", "one row": "timestamp,value\n1,2\n",
		"no number": "timestamp,value\n1,x\n2,3\n", "negative": "timestamp,value\n1,-1\n2,3\n",
		"backwards": "timestamp,value\n2,1\n1,3\n", "a short row": "timestamp,value\n1\n2,3\n", "one column": "timestamp,other\n1,2\n2,3\n",
	} {
		_, err := ReadUtilisations(fstest.MapFS{"x.csv": {Data: []byte(text)}})
		if !errors.Is(err, ErrTrace) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := ReadUtilisations(fstest.MapFS{}); !errors.Is(err, ErrTrace) {
		t.Errorf("no files: error %v", err)
	}
}

// The mean is that of what the nodes take, after each series is cut at the node's
// cores, and the seed draws which node plays what.
func TestBackground(t *testing.T) {
	traces := []Utilisation{
		{step: 300, share: []float64{.01, .9, .02}}, // scaled to .4 on average it is cut
		{step: 300, share: []float64{.2, .2}},
		{step: 300, share: []float64{.05, .3}},
	}
	sizes := []int{4, 4, 16, 64, 4, 4, 16, 4}
	for _, mean := range []float64{.1, .4, .7} {
		series, err := Background(1, traces, sizes, mean, 10, 3000)
		if err != nil {
			t.Fatal(err)
		}
		taken, cores := 0., 0.
		for i, s := range series {
			if s.Step != 30 || len(s.Cores) != 101 {
				t.Fatalf("step %g, %d values", s.Step, len(s.Cores))
			}
			for _, c := range s.Cores {
				if c > float64(sizes[i]) {
					t.Fatalf("%g cores on a node of %d", c, sizes[i])
				}
				taken += c / float64(len(s.Cores))
			}
			cores += float64(sizes[i])
		}
		if got := taken / cores; math.Abs(got-mean) > 1e-6 {
			t.Errorf("mean %g of all cores, want %g", got, mean)
		}
	}
	one := func(seed uint64) []bool { // which nodes play the constant trace
		series, err := Background(seed, traces[:2], sizes, .2, 10, 3000)
		if err != nil {
			t.Fatal(err)
		}
		var constant []bool
		for _, s := range series {
			constant = append(constant, s.Cores[0] == s.Cores[1] && s.Cores[1] == s.Cores[2])
		}
		return constant
	}
	if cmp.Equal(one(1), one(2)) && cmp.Equal(one(2), one(3)) {
		t.Errorf("whatever the seed the same nodes play the same traces: %v", one(1))
	}
	silent := []Utilisation{{step: 300, share: []float64{0, 0, 0, 1}}}
	if _, err := Background(1, silent, sizes, .5, 10, 3000); !errors.Is(err, ErrTrace) {
		t.Errorf("a trace that cannot take a half: error %v", err)
	}
}

func functions() fstest.MapFS {
	name := "HashOwner,HashApp,HashFunction,"
	return fstest.MapFS{
		"invocations.csv": {Data: []byte(name + "Trigger,1,2\no,a,f,http,60,0\no,a,g,timer,0,120\no,a,unknown,timer,9,9\n")},
		"durations.csv": {Data: []byte(name + "Average,percentile_Average_0,percentile_Average_50,percentile_Average_100\n" +
			"o,a,f,1,1000,1000,1000\no,a,g,1,0,500,1000\n")},
		"memory.csv": {Data: []byte(name + "SampleCount,AverageAllocatedMb_pct1,AverageAllocatedMb_pct100\no,a,f,1,100,100\n")},
	}
}

func TestFunctions(t *testing.T) {
	got, err := ReadFunctions(functions())
	if err != nil {
		t.Fatal(err)
	}
	mb := float64(100 << 20)
	want := []Function{
		{
			name: "o/a/f", invocations: []float64{60, 0},
			duration: []quantile{{0, 1}, {.5, 1}, {1, 1}}, memory: []quantile{{.01, mb}, {1, mb}},
		},
		{name: "o/a/g", invocations: []float64{0, 120}, duration: []quantile{{0, 0}, {.5, .5}, {1, 1}}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Function{}, quantile{})); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	// 60 s + 120·.5 s of work in two minutes of 10 cores at half load: 600 are
	// wanted, so counts are five times as large.
	pods, err := Invocations(1, got, .5, 10, 120)
	if err != nil {
		t.Fatal(err)
	}
	early, work := 0, 0.
	for _, p := range pods {
		work += p.Work
		if p.Created < 60 {
			early++
			if p.Work != 1 || p.Memory != mb {
				t.Fatalf("%+v is none of the first function", p)
			}
		}
	}
	if math.Abs(float64(early)-300) > 60 || math.Abs(work-600) > 90 {
		t.Errorf("%d pods in the first minute, want about 300; work %g, want about 600", early, work)
	}
}

func TestReadFunctionsRefuses(t *testing.T) {
	for name, change := range map[string]func(fstest.MapFS){
		"no durations": func(fs fstest.MapFS) { fs["durations.csv"] = &fstest.MapFile{Data: []byte("HashOwner,a,b,c\n")} },
		"too few columns": func(fs fstest.MapFS) {
			fs["invocations.csv"] = &fstest.MapFile{Data: []byte("HashOwner,HashApp,HashFunction\no,a,f\n")}
		},
		"no owner": func(fs fstest.MapFS) {
			fs["invocations.csv"] = &fstest.MapFile{Data: []byte("Owner,HashApp,HashFunction,1\no,a,f,2\n")}
		},
		"another table": func(fs fstest.MapFS) { fs["invocations.csv"] = &fstest.MapFile{Data: []byte("a,b\n1,2\n")} },
		"twice": func(fs fstest.MapFS) {
			fs["invocations.csv"].Data = append(fs["invocations.csv"].Data, "o,a,f,x,1,2\n"...)
		},
		"a negative count": func(fs fstest.MapFS) {
			fs["invocations.csv"].Data = []byte("HashOwner,HashApp,HashFunction,1\no,a,f,-1\n")
		},
		"a quantile of 200": func(fs fstest.MapFS) {
			fs["durations.csv"].Data = []byte("HashOwner,HashApp,HashFunction,percentile_Average_200\no,a,f,1\n")
		},
	} {
		dir := functions()
		change(dir)
		if _, err := ReadFunctions(dir); !errors.Is(err, ErrTrace) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := ReadFunctions(fstest.MapFS{}); err == nil {
		t.Error("an empty directory")
	}
}

// The halves share no row and leave none out.
func TestHalves(t *testing.T) {
	for _, rows := range [][]float64{nil, {1}, {1, 2}, {1, 2, 3, 4, 5}} {
		u := Utilisation{step: 300, share: rows}
		padded := append(append([]float64(nil), rows...), 0, 0, 0)
		f := []Function{{name: "f", invocations: padded}, {name: "g", invocations: []float64{0}}}
		joined := append(append([]float64(nil), u.Half(First).share...), u.Half(Second).share...)
		if diff := cmp.Diff(rows, joined); diff != "" {
			t.Errorf("series of %v (-want +got):\n%s", rows, diff)
		}
		joined = append(append([]float64(nil), HalfOf(f, First)[0].invocations...), HalfOf(f, Second)[0].invocations...)
		if diff := cmp.Diff(rows, joined); diff != "" {
			t.Errorf("function of %v (-want +got):\n%s", rows, diff)
		}
		if !cmp.Equal(padded, f[0].invocations) {
			t.Errorf("the given function became %v", f[0].invocations)
		}
		if first := u.Half(First); first.step != 300 || len(first.share) != (len(rows)+1)/2 {
			t.Errorf("the first half of %v is %+v", rows, first)
		}
	}
}

// The quantiles may end below the whole: what is above lasts as long as the last.
func TestInvocationsKeepTheLoad(t *testing.T) {
	// Half of the calls last 1 to 3 s, evenly, the others 3: 2.5 s on average.
	long := []quantile{{p: 0, value: 1}, {p: .5, value: 3}}
	functions := []Function{
		{name: "f", invocations: []float64{1, 3}, duration: long},
		{name: "g", invocations: []float64{2, 2}, duration: long},
	}
	pods, err := Invocations(1, functions, .5, 100, 120)
	if err != nil {
		t.Fatal(err)
	}
	work := 0.
	for _, p := range pods {
		work += p.Work
	}
	if math.Abs(work-6000) > 400 {
		t.Errorf("%g core-seconds, want about half of 100 cores for 120 s", work)
	}
	if !slices.IsSortedFunc(pods, func(a, b sim.Pod) int {
		if a.Created < b.Created {
			return -1
		}
		return 1
	}) {
		t.Error("the pods of two functions are not in order of time")
	}
}

// backwards is a directory that lists its files in no good order.
type backwards struct{ fstest.MapFS }

func (b backwards) Glob(pattern string) ([]string, error) {
	names, err := fs.Glob(b.MapFS, pattern)
	slices.Reverse(names)
	return names, err
}

func TestReadUtilisationsByName(t *testing.T) {
	dir := backwards{fstest.MapFS{"a.csv": {Data: []byte(bitbrains)}, "b.csv": {Data: []byte(ec2)}}}
	got, err := ReadUtilisations(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || len(got[0].share) != 2 || len(got[1].share) != 3 {
		t.Errorf("not by name: %+v", got)
	}
}

func TestBadRowIsNamed(t *testing.T) {
	_, err := ReadUtilisations(fstest.MapFS{"a.csv": {Data: []byte("timestamp,value\n1,2\n2,x\n")}})
	if !errors.Is(err, ErrTrace) || !strings.Contains(err.Error(), "row 2:") {
		t.Errorf("error %v, want one of row 2", err)
	}
}
