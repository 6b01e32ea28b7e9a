package workload

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

func generated(t *testing.T, name string) []sim.Pod {
	t.Helper()
	return generator(t, name)(1, First)
}

func generator(t *testing.T, name string) Trace {
	t.Helper()
	trace, err := Generate(name)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// podQuantile returns that of a value of each pod.
func podQuantile(pods []sim.Pod, p float64, of func(sim.Pod) float64) float64 {
	values := make([]float64, len(pods))
	for i := range pods {
		values[i] = of(pods[i])
	}
	slices.Sort(values)
	return values[int(p*float64(len(values)-1))]
}

// The generated pods have the traces' quantiles, taken here from the public files.
func TestGenerateHasTheTracesQuantiles(t *testing.T) {
	life := sim.Pod.Solo
	cores := func(p sim.Pod) float64 { return p.Cores }
	memory := func(p sim.Pod) float64 { return p.Memory }
	plannedMemory := func(p sim.Pod) float64 { return p.Request.Memory }
	const percent = .96 * (4 << 30) // of the largest machine's memory, at 4 GiB a core
	for _, test := range []struct {
		trace, what string
		p           float64
		of          func(sim.Pod) float64
		want        float64
	}{
		{Alibaba2018, "life", .5, life, 10.237},
		{Alibaba2018, "life", .9, life, 86.2577},
		{Alibaba2018, "life", .99, life, 372.799},
		{Alibaba2018, "cores", .1, cores, .135826},
		{Alibaba2018, "cores", .5, cores, .668567},
		{Alibaba2018, "cores", .99, cores, 1.67489},
		{Alibaba2018, "memory", .5, memory, .0409 * percent},
		{Alibaba2018, "memory", .9, memory, .3242 * percent},
		{Alibaba2018, "planned memory", .5, plannedMemory, .2962 * percent},
		{OpenB2023, "life, a twentieth", .5, life, 616. / 20},
		{OpenB2023, "life, a twentieth", .75, life, 2246. / 20},
		{OpenB2023, "life, a twentieth", .9, life, 7764. / 20},
		{OpenB2023, "planned memory, an eighth", .5, plannedMemory, 41560. / 8 * (1 << 20)},
		{ZipfOwners, "life", .5, life, 10},
	} {
		got, tolerance := podQuantile(generated(t, test.trace), test.p, test.of), .05
		switch test.trace {
		case OpenB2023: // the rarest requests are left out
			tolerance = .15
		case ZipfOwners: // few owners have most pods
			tolerance = .9
		}
		if math.Abs(got/test.want-1) > tolerance {
			t.Errorf("%s: %s, quantile %g: %.4g, want %.4g", test.trace, test.what, test.p, got, test.want)
		}
	}
}

// Few owners have many pods, those of one owner are similar, and there is one generated trace.
func TestGenerateOwners(t *testing.T) {
	for _, name := range Traces() {
		pods := generated(t, name)
		if diff := cmp.Diff(pods[:50], generated(t, name)[:50]); diff != "" {
			t.Errorf("%s is another the second time:\n%s", name, diff)
		}
		owners, sums, total := map[string]int{}, map[string]float64{}, 0.
		for i, p := range pods {
			owners[p.Workload]++
			sums[p.Workload] += math.Log(p.Cores)
			total += math.Log(p.Cores)
			if i > 0 && p.Created < pods[i-1].Created || p.Work <= 0 || p.Cores > 4 || p.Memory > 12<<30 || p.Request.CPU <= 0 {
				t.Fatalf("%s: pod %d is %+v", name, i, p)
			}
		}
		between, within, largest := 0., 0., 0
		for _, p := range pods {
			mean := sums[p.Workload] / float64(owners[p.Workload])
			within += (math.Log(p.Cores) - mean) * (math.Log(p.Cores) - mean)
			between += (mean - total/float64(len(pods))) * (mean - total/float64(len(pods)))
			largest = max(largest, owners[p.Workload])
		}
		if share := float64(largest) / float64(len(pods)); len(owners) != 40 || share < .15 || share > .35 || between < within {
			t.Errorf("%s: %d owners, the largest with %.2f of the pods; variance %.3g between them, %.3g within", name, len(owners), share, between, within)
		}
	}
	if _, err := Generate("none"); field.By(err, "workload") == nil {
		t.Errorf("no such trace: %v", err)
	}
}

// Another seed, or the held-out half, has other owners: the mean demands of owners' pods differ.
func TestOwnersAreOfTheSeed(t *testing.T) {
	memory := func(pods []sim.Pod) map[string]float64 {
		logs, n := map[string]float64{}, map[string]float64{}
		for _, p := range pods {
			logs[p.Workload] += math.Log(1 + p.Memory)
			n[p.Workload]++
		}
		for owner := range logs {
			logs[owner] /= n[owner]
		}
		return logs
	}
	read, err := ReadTrace(Alibaba2018, quantileFiles())
	if err != nil {
		t.Fatal(err)
	}
	traces := map[string]Trace{"read": read}
	for _, name := range Traces() {
		traces[name] = generator(t, name)
	}
	for name, trace := range traces {
		first := memory(trace(1, First))
		for other, pods := range map[string][]sim.Pod{"seed": trace(2, First), "half": trace(1, Second)} {
			differ := 0
			for owner, mean := range memory(pods) {
				if math.Abs(mean-first[owner]) > .1 { // a tenth of it
					differ++
				}
			}
			if differ < 20 {
				t.Errorf("%s: another %s has %d of 40 owners of its own", name, other, differ)
			}
		}
	}
}

// A replay has its load, within its time, from one half of the trace.
func TestReplay(t *testing.T) {
	trace := generated(t, ZipfOwners)
	for i := range trace {
		trace[i].Revision = map[bool]string{true: "first", false: "second"}[i < len(trace)/2]
	}
	for half, want := range map[Half]string{First: "first", Second: "second"} {
		for seed := range uint64(5) {
			pods, err := Replay(seed, trace, half, .8, 76, 600)
			if err != nil {
				t.Fatal(err)
			}
			work := 0.
			for i, p := range pods {
				work += p.Work
				if p.Revision != want || p.Created < 0 || p.Created > 600 || i > 0 && p.Created < pods[i-1].Created || p.Startup <= 0 {
					t.Fatalf("pod %d is %+v", i, p)
				}
			}
			if most := .8*76*600 + 4*1000; work < .8*76*600 || work > most {
				t.Errorf("work of %g core-seconds, want %g", work, .8*76*600.)
			}
		}
	}
	if _, err := Replay(1, trace[:3], First, .8, 76, 600); !errors.Is(err, ErrTrace) {
		t.Errorf("a trace of a pod: %v", err)
	}
	if _, err := Replay(1, trace, First, 0, 76, 600); field.By(err, "workload") == nil {
		t.Errorf("no load: %v", err)
	}
}

// quantileFiles are in the format of the public histograms.
func quantileFiles() fstest.MapFS {
	dir := fstest.MapFS{}
	for name, text := range map[string]string{
		"instance_cpu": "p,value\n0.000,-1\n0.500,50\n1.000,100\n", "instance_mem": "p,value\n0.000,-1\n0.500,0.05\n1.000,1\n",
		"instance_duration": "p,value\n0,-1\n.5,10\n1,100\n", "instance_num": "p,value\n0,0\n.5,.7\n1,3\n",
		"task_cpu": "p,value\n0,50\n1,100\n", "task_mem": "p,value\n0,.1\n1,1\n",
	} {
		dir[name+".csv"] = &fstest.MapFile{Data: []byte(text)}
	}
	return dir
}

func TestReadTrace(t *testing.T) {
	trace, err := ReadTrace(Alibaba2018, quantileFiles())
	if err != nil {
		t.Fatal(err)
	}
	pods := trace(1, First)
	if got := podQuantile(pods, .5, sim.Pod.Solo); math.Abs(got-10) > .1 {
		t.Errorf("median life %g s, want 10", got)
	}
	list := func(text string) fstest.MapFS {
		return fstest.MapFS{"openb_pod_list_default.csv": {Data: []byte(text)}}
	}
	header := "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
	trace, err = ReadTrace(OpenB2023, list(header+
		"openb-pod-0001,8000,16384,1,460,,LS,Running,30,2040,40\nopenb-pod-0002,8000,16384,0,0,,BE,Pending,35,99,\nopenb-pod-0000,4000,8192,1,1000,,LS,Running,0,200,0\n"))
	if err != nil {
		t.Fatal(err)
	}
	if pods = trace(1, First); len(pods) != 2 {
		t.Fatalf("%d pods", len(pods))
	}
	for i, want := range []struct{ created, solo, cores, memory float64 }{{0, 10, .5, 1 << 30}, {30, 100, 1, 2 << 30}} {
		p := pods[i]
		if p.Created != want.created || math.Abs(p.Solo()-want.solo) > 1e-9 || p.Request.CPU != want.cores || p.Request.Memory != want.memory ||
			p.Cores > want.cores || p.Memory > want.memory {
			t.Errorf("pod %d is %+v, want %+v", i, p, want)
		}
	}
	for name, bad := range map[string]fstest.MapFS{
		"nothing": {}, "no columns": list("name\na\n"), "no number": list(header + "a,x,1,0,0,,LS,Running,0,1,0\n"), "nobody": list(header),
	} {
		if _, err := ReadTrace(OpenB2023, bad); err == nil || name != "nothing" && !errors.Is(err, ErrTrace) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{"out of order": "p,value\n.5,1\n.2,2\n", "one": "p,value\n0,1\n", "no number": "p,value\n0,NaN\n1,1\n"} {
		dir := quantileFiles()
		dir["task_cpu.csv"].Data = []byte(text)
		if _, err := ReadTrace(Alibaba2018, dir); !errors.Is(err, ErrTrace) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadTrace(ZipfOwners, fstest.MapFS{}); field.By(err, "workload") == nil {
		t.Errorf("a trace that is no recording: %v", err)
	}
}

// A day's load has its peak and its night, and enough pods for the peak.
func TestServices(t *testing.T) {
	services, pods, err := Services(1, 3, 86_400)
	if err != nil || len(services) != 3 || len(pods) != 36 {
		t.Fatalf("%d services of %d pods, %v", len(services), len(pods), err)
	}
	for _, s := range services {
		peak, night := slices.Max(s.Rates), slices.Min(s.Rates)
		if math.Abs(peak/night-4) > .01 || s.Step*float64(len(s.Rates)) != 86_400 {
			t.Errorf("%s: %g to %g requests a second in %d steps of %g s", s.Workload, night, peak, len(s.Rates), s.Step)
		}
		if pods := peak * .1 / s.Target; pods > 12 {
			t.Errorf("%s wants %g pods at its peak", s.Workload, pods)
		}
	}
	if _, _, err := sim.LowerBound(sim.Config{Services: services}, pods); err != nil {
		t.Error(err)
	}
	if _, _, err := Services(1, 0, 1); field.By(err, "workload") == nil {
		t.Errorf("no services: %v", err)
	}
}

// The pods of an owner have the same phases within a fifth of times and bytes.
func TestPhased(t *testing.T) {
	pods, err := Phased(2, 2000, 16<<30)
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]sim.Pod{}
	for _, p := range pods {
		of, known := first[p.Workload]
		if !known {
			first[p.Workload] = p
			continue
		}
		if len(p.Phases) != len(of.Phases) {
			t.Fatalf("%s has %d and %d phases", p.Workload, len(of.Phases), len(p.Phases))
		}
		for i, s := range p.Phases {
			if r := s.Seconds / of.Phases[i].Seconds; r < 2./3 || r > 1.5 || s.Cores != of.Phases[i].Cores {
				t.Fatalf("%s: phase %d is %+v and %+v", p.Workload, i, of.Phases[i], s)
			}
		}
	}
	if len(first) != 12 {
		t.Errorf("%d owners", len(first))
	}
	if _, _, err := sim.LowerBound(sim.Config{}, pods); err != nil {
		t.Error(err)
	}
	if _, err := Phased(2, 10, 0); field.By(err, "workload") == nil {
		t.Errorf("nodes without memory: %v", err)
	}
}

func TestReadPodsWithPhases(t *testing.T) {
	got, err := ReadPods(strings.NewReader("arrival,work,owner,phases,limit_cores,limit_memory\n0,,a,3x1x1e8; 30 x .8 x 5e8 x 2e8 x 5;10x0x1e8,1,2e9\n1,5,b,,,\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []sim.Pod{
		{Workload: "a", Phases: []node.Stage{{Seconds: 3, Cores: 1, Memory: 1e8}, {Seconds: 30, Cores: .8, Memory: 5e8, Garbage: 2e8, Period: 5}, {Seconds: 10, Memory: 1e8}}},
		{Created: 1, Work: 5, Workload: "b"},
	}
	want[0].Limit.CPU, want[0].Limit.Memory = 1, 2e9
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, phases := range []string{"3", "3x1", "3x1x1x1", "3x1xy", "3x1x-1", ";"} {
		if _, err := ReadPods(strings.NewReader("arrival,work,phases\n0,," + phases + "\n")); !errors.Is(err, ErrPods) {
			t.Errorf("%q: %v", phases, err)
		}
	}
	if _, err := ReadPods(strings.NewReader("arrival,work,phases\n0,,\n")); !errors.Is(err, ErrPods) {
		t.Errorf("neither work nor phases: %v", err)
	}
}
