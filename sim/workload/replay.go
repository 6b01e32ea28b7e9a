package workload

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
)

// The traces of clusters that are read or generated.
const (
	// Alibaba2018 has the marginal distributions of the instances of Alibaba's batch jobs:
	// cluster-trace-v2018 of github.com/alibaba/clusterdata, by the histograms of
	// github.com/All-less/trace-generator. For research, with citation.
	Alibaba2018 = "alibaba-2018"
	// OpenB2023 has the requests and lives of a Kubernetes cluster's pods: cluster-trace-gpu-v2023
	// of github.com/alibaba/clusterdata (Weng et al., "Beware of Fragmentation", USENIX ATC 2023).
	// For research, with citation. What they use is drawn from Alibaba2018's use over plan.
	OpenB2023 = "alibaba-openb-2023"
	// ZipfOwners is of no cluster: forty owners, log-normal in all they take, under a load
	// that rises and falls.
	ZipfOwners = "zipf-owners"
)

// Traces lists their names, recorded those of which there are public files.
func Traces() []string { return append(recorded(), ZipfOwners) }

func recorded() []string { return []string{Alibaba2018, OpenB2023} }

// CheckTraces returns an ErrTrace if a directory lacks the folder of a trace that has public files.
func CheckTraces(dir fs.FS) error {
	for _, name := range recorded() {
		if info, err := fs.Stat(dir, name); err != nil || !info.IsDir() {
			return fmt.Errorf("%w: no folder %s", ErrTrace, name)
		}
	}
	return nil
}

// The machines of the traces are larger than nodes of 4 cores: pods of OpenB2023 are taken for
// an eighth of what they are, their lives for a twentieth, and no pod takes more than these.
// A per cent of the memory of Alibaba2018's largest machine, of 96 cores, is of 4 GiB a core.
const (
	openbShrink, openbSpeed = 8, 20
	longestLife             = 1000.
	mostTraceCores          = 3.5
	mostTraceMemory         = 12 << 30
	leastTraceCores         = .01
	shortestLife            = .1
	machinePercent          = .01 * 96 * (4 << 30)
	tracePods               = 20_000
	traceOwners             = 40
	mostInstances           = 200
)

// usage is what Alibaba2018 holds about pods: quantiles of the CPU in per cent of a core, memory
// in per cent of the largest machine's, both as used and as planned, of the life in seconds,
// and of how many instances a task has.
type usage struct{ cpu, memory, plannedCPU, plannedMemory, life, instances []Quantile }

// shape is a request of OpenB2023: thousandths of a core, MiB, and how many pods have it.
type shape struct {
	cpu, memory float64
	pods        int
}

// Trace draws the pods of a trace by a seed. Owners are not those of another seed or half, except
// OpenB2023's, which are the trace's requests: what they use is drawn.
type Trace func(seed uint64, half Half) []sim.Pod

// drawn is a trace of which so much is drawn.
func drawn(draw func(rng *rand.Rand) []sim.Pod) Trace {
	return func(seed uint64, half Half) []sim.Pod {
		return draw(rand.New(rand.NewPCG(seed^uint64(half)<<63, 106)))
	}
}

// Generate is a trace by what is fitted to it here.
func Generate(name string) (Trace, error) {
	switch name {
	case Alibaba2018:
		return drawn(func(rng *rand.Rand) []sim.Pod { return alibaba(rng, fitted) }), nil
	case OpenB2023:
		return drawn(openb), nil
	case ZipfOwners:
		return drawn(zipfOwners), nil
	}
	return nil, refuse("trace", name, fmt.Sprint("one of ", Traces()))
}

// ReadTrace reads Alibaba2018 or OpenB2023 from a directory of the public files: of the first
// the quantiles as CSV of p and value (instance_cpu.csv, instance_mem.csv, instance_duration.csv,
// instance_num.csv, task_cpu.csv, task_mem.csv), of the second openb_pod_list_default.csv, of whose
// pods only what they use is drawn. A malformed file is ErrTrace.
func ReadTrace(name string, dir fs.FS) (Trace, error) {
	switch name {
	case Alibaba2018:
		var u usage
		for _, f := range []struct {
			name string
			to   *[]Quantile
		}{
			{"instance_cpu.csv", &u.cpu}, {"instance_mem.csv", &u.memory}, {"instance_duration.csv", &u.life},
			{"instance_num.csv", &u.instances}, {"task_cpu.csv", &u.plannedCPU}, {"task_mem.csv", &u.plannedMemory},
		} {
			var err error
			if *f.to, err = readFile(dir, f.name, readQuantiles); err != nil {
				return nil, err
			}
		}
		return drawn(func(rng *rand.Rand) []sim.Pod { return alibaba(rng, u) }), nil
	case OpenB2023:
		read, err := readFile(dir, "openb_pod_list_default.csv", readOpenB)
		if err != nil {
			return nil, err
		}
		return drawn(func(rng *rand.Rand) []sim.Pod {
			pods := slices.Clone(read)
			useOfPlan(rng, pods)
			return pods
		}), nil
	}
	return nil, refuse("trace", name, fmt.Sprintf("%s or %s", Alibaba2018, OpenB2023))
}

// readCSV calls row with each row of a file, by the names of its columns.
func readCSV(r io.Reader, columns []string, row func(cells map[string]string) error) error {
	lines := csv.NewReader(r)
	header, err := lines.Read()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTrace, err)
	}
	for _, c := range columns {
		if !slices.Contains(header, c) {
			return fmt.Errorf("%w: no column %q", ErrTrace, c)
		}
	}
	for n := 0; ; n++ {
		values, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrTrace, err)
		}
		line, _ := lines.FieldPos(0)
		if n == maxTraceRows {
			return fmt.Errorf("%w: more than %d rows", ErrTrace, maxTraceRows)
		}
		cells := map[string]string{}
		for i, c := range header {
			cells[c] = values[i]
		}
		if err := row(cells); err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrTrace, line, err)
		}
	}
}

// readQuantiles takes values below 0, which come from the bins of a histogram, for 0.
func readQuantiles(r io.Reader) ([]Quantile, error) {
	var all []Quantile
	err := readCSV(r, []string{"p", "value"}, func(cells map[string]string) error {
		p, err := number(cells["p"])
		if err != nil || p > 1 || len(all) > 0 && p <= all[len(all)-1].P {
			return fmt.Errorf("%q is not the next share", cells["p"])
		}
		v, err := strconv.ParseFloat(cells["value"], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("value %q", cells["value"])
		}
		all = append(all, Quantile{p, math.Max(v, 0)})
		return nil
	})
	if err == nil && len(all) < 2 {
		err = fmt.Errorf("%w: %d quantiles", ErrTrace, len(all))
	}
	return all, err
}

// readOpenB reads the pods that were scheduled; those of one request are one owner's.
func readOpenB(r io.Reader) ([]sim.Pod, error) {
	var pods []sim.Pod
	columns := []string{"cpu_milli", "memory_mib", "creation_time", "deletion_time", "scheduled_time"}
	err := readCSV(r, columns, func(cells map[string]string) error {
		if cells["scheduled_time"] == "" {
			return nil
		}
		var v [5]float64
		for i, c := range columns {
			var err error
			if v[i], err = number(cells[c]); err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
		}
		pods = append(pods, planned(v[0], v[1], v[2], v[3]-v[4]))
		return nil
	})
	if err == nil && len(pods) < 2 {
		err = fmt.Errorf("%w: %d pods that were scheduled", ErrTrace, len(pods))
	}
	slices.SortStableFunc(pods, func(a, b sim.Pod) int { return cmp.Compare(a.Created, b.Created) })
	return pods, err
}

// planned is a pod of OpenB2023, which takes all it requests until useOfPlan.
func planned(milli, mib, created, life float64) sim.Pod {
	return sized(sim.Pod{
		Created: created, Workload: fmt.Sprintf("%gm-%gMi", milli, mib),
		Request: baseline.Resources{CPU: milli / 1000 / openbShrink, Memory: mib * (1 << 20) / openbShrink},
	}, milli/1000/openbShrink, mib*(1<<20)/openbShrink, life/openbSpeed)
}

// sized gives a pod what it takes and for how long, within what nodes have.
func sized(p sim.Pod, cores, memory, life float64) sim.Pod {
	p.Cores = min(max(cores, leastTraceCores), mostTraceCores)
	p.Memory = math.Round(min(memory, mostTraceMemory))
	p.Work = p.Cores * min(max(life, shortestLife), longestLife)
	p.Request.CPU = min(p.Request.CPU, mostTraceCores)
	p.Request.Memory = math.Round(min(p.Request.Memory, mostTraceMemory))
	return p
}

// Replay plays a half of a trace for so many seconds, from a moment drawn by the seed on and
// once more from its beginning where it ends: as many pods as take the share load of the
// cores, the times between them in proportion.
func Replay(seed uint64, trace []sim.Pod, half Half, load, cores, duration float64) ([]sim.Pod, error) {
	if err := checked(Equal, "load", load, "cores", cores, "duration", duration); err != nil {
		return nil, err
	}
	if half == Second {
		trace = trace[len(trace)/2:]
	} else {
		trace = trace[:len(trace)/2]
	}
	if len(trace) < 2 || !(trace[len(trace)-1].Created > trace[0].Created) {
		return nil, fmt.Errorf("%w: half of it has %d pods, which come at one time", ErrTrace, len(trace))
	}
	span := trace[len(trace)-1].Created - trace[0].Created
	span += span / float64(len(trace)) // until it begins again
	from := rand.New(rand.NewPCG(seed, 108)).IntN(len(trace))
	var pods []sim.Pod
	for work, i := 0., from; work < load*cores*duration; i++ {
		if len(pods) == maxPods {
			return nil, refuse("load·cores·duration", load*cores*duration, fmt.Sprintf("the work of at most %d pods", maxPods))
		}
		p := trace[i%len(trace)]
		p.Created += float64(i/len(trace))*span - trace[from].Created
		work += p.Work
		pods = append(pods, p)
	}
	scale := 0. // all at once, if they are in the trace
	if last := pods[len(pods)-1].Created; last > 0 {
		scale = duration / last
	}
	for i := range pods {
		pods[i].Created = math.Min(pods[i].Created*scale, duration)
	}
	return StartUp(seed, pods), nil
}

// ranks are latent normal numbers of pods that were drawn with so much in common among the
// pods of an owner and of a task. Their ranks, as shares, have an even distribution whatever
// the owners' are, so that what is taken of quantiles at them has the quantiles' distribution.
func ranks(rng *rand.Rand, owner, task []int, ownersPart, tasksPart float64) []float64 {
	normal := func(of []int) []float64 {
		z := make([]float64, slices.Max(of)+1)
		for i := range z {
			z[i] = rng.NormFloat64()
		}
		return z
	}
	owners, tasks := normal(owner), normal(task)
	latent, order := make([]float64, len(owner)), make([]int, len(owner))
	for i := range latent {
		own := math.Sqrt(1 - ownersPart - tasksPart)
		latent[i] = math.Sqrt(ownersPart)*owners[owner[i]] + math.Sqrt(tasksPart)*tasks[task[i]] + own*rng.NormFloat64()
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(latent[a], latent[b]) })
	shares := make([]float64, len(owner))
	for rank, i := range order {
		shares[i] = (float64(rank) + .5) / float64(len(order))
	}
	return shares
}

// zipf draws an owner, the first with twice the pods of the second.
func zipf(rng *rand.Rand) int {
	sum := 0.
	for i := range traceOwners {
		sum += 1 / float64(i+1)
	}
	u := rng.Float64() * sum
	for i := range traceOwners {
		if u -= 1 / float64(i+1); u < 0 {
			return i
		}
	}
	return traceOwners - 1
}

// alibaba generates tasks of owners that follow each other at random, the instances of each
// at once. What is planned has the rank of what is used, and memory is planned for it at least.
func alibaba(rng *rand.Rand, u usage) []sim.Pod {
	var owner, task []int
	var created []float64
	now := 0.
	for tasks := 0; len(owner) < tracePods; tasks++ {
		now += rng.ExpFloat64()
		of := zipf(rng)
		for range min(max(1, int(math.Ceil(draw(u.instances, rng.Float64())))), mostInstances, tracePods-len(owner)) {
			owner, task, created = append(owner, of), append(task, tasks), append(created, now)
		}
	}
	cpu, memory, life := ranks(rng, owner, task, .6, .2), ranks(rng, owner, task, .6, .2), ranks(rng, owner, task, .4, .3)
	pods := make([]sim.Pod, len(owner))
	for i := range pods {
		used := machinePercent * draw(u.memory, memory[i])
		pods[i] = sized(sim.Pod{
			Created: created[i], Workload: fmt.Sprintf("owner-%02d", owner[i]),
			Request: baseline.Resources{
				CPU:    draw(u.plannedCPU, cpu[i]) / 100,
				Memory: math.Max(machinePercent*draw(u.plannedMemory, memory[i]), used),
			},
		}, draw(u.cpu, cpu[i])/100, used, draw(u.life, life[i]))
	}
	return pods
}

// openb generates pods of the requests and the lives of the trace.
func openb(rng *rand.Rand) []sim.Pod {
	all := 0
	for _, s := range openbShapes {
		all += s.pods
	}
	owner := make([]int, tracePods)
	for i := range owner {
		for n := rng.IntN(all); n >= openbShapes[owner[i]].pods; owner[i]++ {
			n -= openbShapes[owner[i]].pods
		}
	}
	life := ranks(rng, owner, owner, .3, 0)
	pods, now := make([]sim.Pod, tracePods), 0.
	for i := range pods {
		now += rng.ExpFloat64()
		s := openbShapes[owner[i]]
		pods[i] = planned(s.cpu, s.memory, now, draw(openbLives, life[i]))
	}
	useOfPlan(rng, pods)
	return pods
}

// useOfPlan has pods of OpenB2023 take that part of their requests which those of Alibaba2018
// do, at most all.
func useOfPlan(rng *rand.Rand, pods []sim.Pod) {
	numbers := map[string]int{}
	owner := make([]int, len(pods))
	for i, p := range pods {
		if _, known := numbers[p.Workload]; !known {
			numbers[p.Workload] = len(numbers)
		}
		owner[i] = numbers[p.Workload]
	}
	cpu, memory := ranks(rng, owner, owner, .8, 0), ranks(rng, owner, owner, .8, 0)
	part := func(used, planned []Quantile, u float64) float64 { return math.Min(draw(used, u)/draw(planned, u), 1) }
	for i := range pods {
		p := &pods[i]
		p.Memory = math.Round(p.Memory * part(fitted.memory, fitted.plannedMemory, memory[i]))
		cores := math.Max(p.Cores*part(fitted.cpu, fitted.plannedCPU, cpu[i]), leastTraceCores)
		p.Work *= cores / p.Cores
		p.Cores = cores
	}
}

// What ZipfOwners draws: seconds of a life, cores and bytes, log-normal with these medians
// and deviations of the logarithm between owners and between pods of one; and how much the
// load rises and falls about its mean, in a period of so many pods.
const (
	zipfLife, zipfLifeSpread, zipfLifeWithin       = 10, 1, .6
	zipfCores, zipfCoresSpread, zipfCoresWithin    = .3, .8, .2
	zipfMemory, zipfMemorySpread, zipfMemoryWithin = 300 << 20, 1.2, .2
	zipfSwing, zipfPeriod                          = .8, 1000
)

func zipfOwners(rng *rand.Rand) []sim.Pod {
	var owners [traceOwners][3]float64
	for i := range owners {
		for k, spread := range []float64{zipfLifeSpread, zipfCoresSpread, zipfMemorySpread} {
			owners[i][k] = math.Exp(spread * rng.NormFloat64())
		}
	}
	pods, now := make([]sim.Pod, tracePods), 0.
	for i := range pods {
		now += rng.ExpFloat64() / (1 + zipfSwing*math.Sin(2*math.Pi*now/zipfPeriod))
		of := zipf(rng)
		within := func(k int, median, spread float64) float64 {
			return median * owners[of][k] * math.Exp(spread*rng.NormFloat64())
		}
		life, cores, memory := within(0, zipfLife, zipfLifeWithin), within(1, zipfCores, zipfCoresWithin), within(2, zipfMemory, zipfMemoryWithin)
		pods[i] = sized(sim.Pod{Created: now, Workload: fmt.Sprintf("owner-%02d", of)}, cores, memory, life)
		pods[i].Request = baseline.Resources{CPU: pods[i].Cores, Memory: pods[i].Memory}
	}
	return pods
}
