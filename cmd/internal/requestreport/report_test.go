package requestreport

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

const gibibyte = 1 << 30

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// amounts are known cores and GiB.
func amounts(cores, memory float64) resourceAmounts {
	return resourceAmounts{CPU: Is(cores), Memory: Is(memory * gibibyte)}
}

// of are cores and GiB of an input.
func of(cores, memory float64) profile.Amounts {
	return profile.Amounts{CPU: cores, Memory: memory * gibibyte}
}

// steady is a use that does not change, over so many spans of ten seconds.
func steady(spans int, used resourceAmounts, room nodeRoom) *nodeUse {
	u := &nodeUse{}
	for i := range spans {
		u.add(useSample{At: noon.Add(time.Duration(i) * 10 * time.Second), CPU: used.CPU, Memory: used.Memory, Room: room})
	}
	return u
}

func need(cores, memory float64) profile.Demand {
	return profile.Demand{CPU: profile.Share{Amount: cores, Confidence: .75}, Memory: profile.Share{Amount: memory * gibibyte, Confidence: 1}}
}

var (
	web      = profile.Workload{Namespace: "shop", Kind: "Deployment", Name: "web"}
	batchJob = profile.Workload{Namespace: "shop", Kind: "CronJob", Name: "batch"}
	db       = profile.Workload{Namespace: "data", Kind: "StatefulSet", Name: "db"}
)

// small is a cluster of three nodes: one full by requests and idle, one that is overloaded by pods
// that declare nothing, and one of which nothing is known.
func small() Input {
	room := func(pods, cores, memory float64) nodeRoom {
		return nodeRoom{Pods: Is(pods), resourceAmounts: amounts(cores, memory)}
	}
	in := Input{
		madeAt: noon, source: "a test", requests: true, notes: []string{"A note."},
		nodes: []clusterNode{
			{Name: "new", Capacity: of(4, 16), Allocatable: of(4, 16)},
			{Name: "hot", Capacity: of(2, 8), Allocatable: of(2, 8), Use: steady(20, amounts(3, 7.5), room(-2, -1, .125))},
			{Name: "full", Capacity: of(4, 16), Allocatable: of(4, 16), Use: steady(100, amounts(1, 4), room(6, 2.5, 11))},
		},
		profiles: []knownProfile{
			{Workload: web, Need: need(.5, 2), Containers: []containerAdvice{
				{Container: "main", Target: of(.5, 2.5)}, {Container: "proxy", Target: of(.25, .5)}, {Container: "gone", Target: of(1, 1)},
			}},
			{Workload: db, Need: need(.5, 2), Stale: true, Containers: []containerAdvice{{Target: of(.625, 2.25)}}},
			{Workload: profile.Workload{Namespace: "shop", Kind: "Deployment", Name: "scaled-to-zero"}, Need: need(9, 9)},
		},
	}
	pod := func(w profile.Workload, node string, requests profile.Amounts, containers ...string) {
		in.pods = append(in.pods, boundPod{Workload: w, Node: node, Requests: requests, Containers: containers})
	}
	pod(batchJob, "hot", of(0, 0), "job")
	pod(web, "full", of(1.875, 6), "main", "proxy")
	pod(db, "new", of(1, 1), "db")
	pod(batchJob, "hot", of(0, 0), "job")
	pod(web, "full", of(1.875, 6), "main", "proxy")
	pod(batchJob, "hot", of(0, 0), "job")
	return in
}

func newReport(t testing.TB, in Input) *Report {
	t.Helper()
	r, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ignored leaves out fields that are no result.
var ignored = cmp.Options{cmpopts.IgnoreUnexported(workloadRow{}), cmp.AllowUnexported(nodeRoom{}, clusterTotal{}, namespaceRow{})}

func TestNodes(t *testing.T) {
	unknown := resourceAmounts{}
	want := []nodeRow{
		{Name: "full", Pods: 2, Capacity: amounts(4, 16), Allocatable: amounts(4, 16), Requested: amounts(3.75, 12), Spans: 100, Idle: new(true),
			Used: usageSummary{Mean: amounts(1, 4), P95: amounts(1, 4), P99: amounts(1, 4)},
			Room: nodeRoom{Pods: Is(6), resourceAmounts: amounts(2.5, 11)}},
		{Name: "hot", Pods: 3, Undeclared: 3, Capacity: amounts(2, 8), Allocatable: amounts(2, 8), Requested: amounts(0, 0), Spans: 20, Idle: new(false),
			Used:  usageSummary{Mean: amounts(3, 7.5), P95: amounts(3, 7.5), P99: unknown},
			Room:  nodeRoom{Pods: Is(-2), resourceAmounts: amounts(-1, .125)},
			Risks: []risk{tasksWait, memoryFull, noRoom}},
		{Name: "new", Pods: 1, Capacity: amounts(4, 16), Allocatable: amounts(4, 16), Requested: amounts(1, 1)},
	}
	if diff := cmp.Diff(want, newReport(t, small()).Nodes, ignored); diff != "" {
		t.Error(diff)
	}
}

func TestWorkloads(t *testing.T) {
	want := []workloadRow{
		{Namespace: "shop", Kind: "Deployment", Name: "web", Pods: 2, Requested: amounts(3.75, 12), Request: amounts(1.875, 6),
			Need: amounts(.5, 2), Confidence: Is(.75), Excess: amounts(2.75, 8), Recommended: amounts(.75, 3), Saving: amounts(2.25, 6)},
		{Namespace: "data", Kind: "StatefulSet", Name: "db", Pods: 1, Requested: amounts(1, 1), Request: amounts(1, 1), Stale: true,
			Need: amounts(.5, 2), Confidence: Is(.75), Excess: amounts(.5, 0), Recommended: amounts(.625, 2.25), Saving: amounts(.375, -1.25)},
		{Namespace: "shop", Kind: "CronJob", Name: "batch", Pods: 3, Undeclared: 3, Requested: amounts(0, 0)},
	}
	r := newReport(t, small())
	if diff := cmp.Diff(want, r.Workloads, ignored); diff != "" {
		t.Error(diff)
	}
	spaces := []namespaceRow{
		{Namespace: "data", Pods: 1, Workloads: 1, Profiled: 1, Requested: amounts(1, 1), Excess: amounts(.5, 0), savings: savings{UncertainSaving: amounts(.375, 0)}},
		{Namespace: "shop", Pods: 5, Undeclared: 3, Workloads: 2, Profiled: 1, Requested: amounts(3.75, 12), Excess: amounts(2.75, 8), savings: savings{Saving: amounts(2.25, 6), Shortfall: amounts(0, 0)}},
	}
	if diff := cmp.Diff(spaces, r.Namespaces, ignored); diff != "" {
		t.Error(diff)
	}
}

func TestTotal(t *testing.T) {
	r := newReport(t, small())
	want := clusterTotal{
		Nodes: 3, MeasuredNodes: 2, IdleNodes: Is(1), NodesAtRisk: Is(1), Pods: 6, Undeclared: 3, Workloads: 3, Profiled: 2,
		Allocatable: amounts(10, 40), Measured: amounts(6, 24), Requested: amounts(4.75, 13),
		// Of 100 spans 20 have both nodes, where the sum is what it is on average.
		Used: usageSummary{Mean: amounts(4, 11.5), P95: amounts(4, 11.5)},
		// A node without room takes none from others.
		Room: nodeRoom{Pods: Is(6), resourceAmounts: amounts(2.5, 11.125)},
		// The profile of db is stale.
		savings: savings{Saving: amounts(2.25, 6), Shortfall: amounts(0, 0), UncertainSaving: amounts(.375, 0)}, Recommended: amounts(2.5, 7),
	}
	if diff := cmp.Diff(want, r.Total, ignored); diff != "" {
		t.Error(diff)
	}
	if want := noon.Add(1000 * time.Second); !r.From.Equal(noon) || !r.To.Equal(want) {
		t.Errorf("measured from %v to %v, want %v to %v", r.From, r.To, noon, want)
	}
	notes := []string{
		"A note.", "Nodes of which nothing was measured: 1 of 3. Their use and room are unknown, and totals of use and room are of the others.",
		"Workloads without a profile: 1 of 3. Their need is unknown.", "Fewer than 100 spans of 10s have a value of nine of ten nodes: the p99 of the total is unknown.",
	}
	if diff := cmp.Diff(notes, r.Notes); diff != "" {
		t.Error(diff)
	}
}

// The room of a node that takes no pods is not the cluster's.
func TestRoomOfNodesThatTakeNoPods(t *testing.T) {
	in := small()
	in.nodes[2].Unschedulable = true
	r := newReport(t, in)
	if want := (nodeRoom{Pods: Is(0), resourceAmounts: amounts(0, .125)}); r.Total.Room != want || !r.Nodes[0].Unschedulable || r.Nodes[0].Room.Pods != Is(6) {
		t.Errorf("%+v, %+v", r.Total.Room, r.Nodes[0])
	}
}

// blind is the use of a node that does not count tasks that wait.
func blind(cores float64) *nodeUse {
	u := &nodeUse{}
	for i := range 2 {
		u.add(useSample{At: noon.Add(time.Duration(i) * 10 * time.Second), CPU: Is(cores), Memory: Is(gibibyte), NoPressure: true})
	}
	return u
}

// Nodes are judged by what is known of them alone.
func TestJudgement(t *testing.T) {
	roomy := nodeRoom{Pods: Is(9), resourceAmounts: amounts(1, 1)}
	yes, no, unknown := new(true), new(false), (*bool)(nil)
	for name, test := range map[string]struct {
		node      clusterNode
		requested profile.Amounts
		idle      *bool
		risks     []risk
	}{
		"full by memory, idle":     {clusterNode{Use: steady(2, amounts(.1, 1), roomy)}, of(.1, 9.5), yes, nil},
		"full and busy":            {clusterNode{Use: steady(2, amounts(3, 1), roomy)}, of(3.9, 1), no, nil},
		"full, half of it used":    {clusterNode{Use: steady(2, amounts(2, 1), roomy)}, of(3.9, 1), no, nil},
		"full, memory not known":   {clusterNode{Use: steady(2, resourceAmounts{CPU: Is(.1)}, roomy)}, of(3.9, 1), unknown, nil},
		"not full, idle":           {clusterNode{Use: steady(2, amounts(.1, 1), roomy)}, of(3, 1), no, nil},
		"full by 90 %, idle":       {clusterNode{Use: steady(2, amounts(.1, 1), roomy)}, profile.Amounts{CPU: 4 * .9}, yes, nil},
		"room for one":             {clusterNode{Use: steady(2, amounts(3, 1), nodeRoom{Pods: Is(1)})}, of(1, 1), no, nil},
		"a task on each CPU":       {clusterNode{Use: steady(2, amounts(4, 1), roomy)}, of(1, 1), no, nil},
		"memory 90 % full":         {clusterNode{Use: steady(2, amounts(1, 9), roomy)}, of(1, 1), no, []risk{memoryFull}},
		"one value, no room":       {clusterNode{Use: steady(1, amounts(5, 9), nodeRoom{Pods: Is(0)})}, of(1, 1), unknown, nil},
		"one value, idle":          {clusterNode{Use: steady(1, amounts(.1, 1), roomy)}, of(3.9, 1), unknown, nil},
		"no pressure, 95 %":        {clusterNode{Use: blind(3.81)}, of(1, 1), no, []risk{cpuFull}},
		"no pressure, less":        {clusterNode{Use: blind(3.79)}, of(1, 1), no, nil},
		"95 % with pressure":       {clusterNode{Use: steady(2, amounts(3.9, 1), roomy)}, of(1, 1), no, nil},
		"nothing measured":         {clusterNode{}, of(3.9, 1), unknown, nil},
		"not full, no room":        {clusterNode{Use: steady(2, amounts(3, 1), nodeRoom{Pods: Is(.5)})}, of(1, 1), no, []risk{noRoom}},
		"cordoned, no room":        {clusterNode{Unschedulable: true, Use: steady(2, amounts(3, 1), nodeRoom{Pods: Is(.5)})}, of(1, 1), no, nil},
		"not full, room not known": {clusterNode{Use: steady(2, amounts(3, 1), nodeRoom{})}, of(1, 1), no, nil},
		"full, no room":            {clusterNode{Use: steady(2, amounts(3, 1), nodeRoom{Pods: Is(0)})}, of(3.9, 1), no, nil},
	} {
		test.node.Name, test.node.Capacity, test.node.Allocatable = "n", of(4, 10), of(4, 10)
		r := newReport(t, Input{requests: true, nodes: []clusterNode{test.node}, pods: []boundPod{{Workload: web, Node: "n", Requests: test.requested}}})
		if diff := cmp.Diff(test.idle, r.Nodes[0].Idle); diff != "" || !slices.Equal(r.Nodes[0].Risks, test.risks) {
			t.Errorf("%s: at risk for %v, want %v; idle (-want +got):\n%s", name, r.Nodes[0].Risks, test.risks, diff)
		}
	}
}

// What was not measured is unknown in every form, and 0 is what was measured as 0.
func TestUnknownIsNotZero(t *testing.T) {
	in := Input{madeAt: noon, nodes: []clusterNode{{Name: "n", Capacity: of(4, 16), Use: steady(1, amounts(0, 1), nodeRoom{})}}}
	r := newReport(t, in)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, &back, ignored); diff != "" {
		t.Errorf("read again: %s", diff)
	}
	total := back.Total
	if total.Used.Mean.CPU != Is(0) || total.Used.P95.CPU.Known || total.Requested.CPU.Known || total.Allocatable.CPU.Known || total.Room.Pods.Known || total.Saving.CPU.Known {
		t.Errorf("%+v", total)
	}
	var raw struct {
		Total struct{ Requested, Saving map[string]any }
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	for _, m := range []map[string]any{raw.Total.Requested, raw.Total.Saving} {
		if v, there := m["cpuCores"]; !there || v != nil {
			t.Errorf("unknown cores are %v", m)
		}
	}
}

// No node is idle or at risk where that was measured, and it is unknown where it was not.
func TestVerdictsOfTheTotal(t *testing.T) {
	zero, unknown := Is(0), Measured{}
	for name, test := range map[string]struct {
		use         *nodeUse
		requests    bool
		idle, risks Measured
		total, row  string
	}{
		"measured":         {steady(2, amounts(1, 1), nodeRoom{}), true, zero, zero, `"idleNodes":0,"nodesAtRisk":0`, `"idle":false`},
		"once":             {steady(1, amounts(1, 1), nodeRoom{}), true, unknown, unknown, `"idleNodes":null,"nodesAtRisk":null`, `"idle":null`},
		"not measured":     {nil, true, unknown, unknown, `"idleNodes":null,"nodesAtRisk":null`, `"idle":null`},
		"without requests": {steady(2, amounts(1, 1), nodeRoom{}), false, unknown, zero, `"idleNodes":null,"nodesAtRisk":0`, `"idle":null`},
	} {
		in := Input{requests: test.requests, nodes: []clusterNode{{Name: "n", Capacity: of(4, 16), Allocatable: of(4, 16), Use: test.use}}}
		r := newReport(t, in)
		if r.Total.IdleNodes != test.idle || r.Total.NodesAtRisk != test.risks {
			t.Errorf("%s: %v idle, %v at risk", name, r.Total.IdleNodes, r.Total.NodesAtRisk)
		}
		if text, err := json.Marshal(r); err != nil || !strings.Contains(string(text), test.total) || !strings.Contains(string(text), test.row) {
			t.Errorf("%s: %v, no %s or no %s in %s", name, err, test.total, test.row, text)
		}
	}
}

// A percentile needs so many spans that others are above it, and is one of the values.
func TestPercentiles(t *testing.T) {
	for spans, want := range map[int][2]Measured{
		1: {}, 19: {}, 20: {Is(19)}, 99: {Is(95)},
		100: {Is(95), Is(99)}, 360: {Is(342), Is(357)},
	} {
		u := &nodeUse{}
		for _, i := range rand.New(rand.NewPCG(1, uint64(spans))).Perm(spans) { // in any order
			for _, off := range []float64{-.5, .5} { // two samples in a span
				u.add(useSample{At: noon.Add(time.Duration(i)*10*time.Second + 3*time.Second), CPU: Is(float64(i+1) + off)})
			}
		}
		got := newReport(t, Input{nodes: []clusterNode{{Name: "n", Use: u}}}).Nodes[0]
		if mean := Is(float64(spans+1) / 2); got.Used.Mean.CPU != mean || got.Used.P95.CPU != want[0] || got.Used.P99.CPU != want[1] || got.Spans != spans {
			t.Errorf("%d spans: %+v, want mean %v and %v", spans, got.Used, mean, want)
		}
	}
}

// The total's use is the sum over nodes of each span, where nine of ten nodes have a value; and what the
// nodes are measured at in a table, row by row, says the same.
func TestTotalUseIsThatOfATable(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	for range 50 {
		nodes, spans := 1+random.IntN(25), 1+random.IntN(150)
		table := make([][]float64, nodes)
		in := Input{}
		for n := range table {
			u := &nodeUse{}
			table[n] = make([]float64, spans)
			for s := range table[n] {
				table[n][s] = math.NaN()
				if random.Float64() < .93 {
					table[n][s] = math.Round(random.ExpFloat64() * 1024)
					u.add(useSample{At: noon.Add(time.Duration(s) * 10 * time.Second), CPU: Is(table[n][s])})
				}
			}
			in.nodes = append(in.nodes, clusterNode{Name: fmt.Sprint(n), Use: u})
		}
		mean, p95, p99 := naive(table)
		got := newReport(t, in).Total.Used
		near := cmpopts.EquateApprox(1e-9, 1e-6)
		if diff := cmp.Diff([]Measured{mean, p95, p99}, []Measured{got.Mean.CPU, got.P95.CPU, got.P99.CPU}, near); diff != "" {
			t.Fatalf("%d nodes, %d spans: %s", nodes, spans, diff)
		}
	}
}

// naive fills the gaps of a table by the means of its rows and adds up its columns.
func naive(table [][]float64) (mean, p95, p99 Measured) {
	var filled [][]float64
	there := make([]int, len(table[0]))
	for _, row := range table {
		var known []float64
		for _, v := range row {
			if !math.IsNaN(v) {
				known = append(known, v)
			}
		}
		if known == nil {
			continue
		}
		average := 0.
		for _, v := range known {
			average += v / float64(len(known))
		}
		mean = Is(mean.Value + average)
		row = slices.Clone(row)
		for s, v := range row {
			if math.IsNaN(v) {
				row[s] = average
			} else {
				there[s]++
			}
		}
		filled = append(filled, row)
	}
	var sums []float64
	for s, n := range there {
		if float64(n) < .9*float64(len(filled)) || n == 0 {
			continue
		}
		sum := 0.
		for _, row := range filled {
			sum += row[s]
		}
		sums = append(sums, sum)
	}
	slices.Sort(sums)
	above := func(q float64) Measured { // the least with at most 1-q of the values above it
		for i, v := range sums {
			if float64(len(sums)-1-i) <= (1-q)*float64(len(sums))+1e-9 {
				if i == len(sums)-1 {
					break // none is above it
				}
				return Is(v)
			}
		}
		return Measured{}
	}
	return mean, above(.95), above(.99)
}

// The input stays as it is, and its order does not matter.
func TestOrderDoesNotMatter(t *testing.T) {
	in, kept := small(), small()
	want := newReport(t, in)
	for i := range in.pods {
		if diff := cmp.Diff(kept.pods[i], in.pods[i]); diff != "" {
			t.Errorf("pod %d changed: %s", i, diff)
		}
	}
	if diff := cmp.Diff(kept.profiles, in.profiles); diff != "" {
		t.Error(diff)
	}
	slices.Reverse(in.nodes)
	slices.Reverse(in.pods)
	slices.Reverse(in.profiles)
	if diff := cmp.Diff(want, newReport(t, in), ignored); diff != "" {
		t.Error(diff)
	}
}

func TestRefusals(t *testing.T) {
	for name, spoil := range map[string]func(*Input){
		"Nodes[2].Name":          func(in *Input) { in.nodes[2].Name = "" },
		"Nodes[0].Capacity":      func(in *Input) { in.nodes[0].Capacity.CPU = -1 },
		"Nodes[0].Allocatable":   func(in *Input) { in.nodes[0].Allocatable.Memory = math.Inf(1) },
		"Pods[3].Workload.Name":  func(in *Input) { in.pods[3].Workload.Name = "" },
		"Pods[2].Floor":          func(in *Input) { in.pods[2].Floor.CPU = -1 },
		"Pods[2].Overhead":       func(in *Input) { in.pods[2].Overhead.Memory = math.Inf(1) },
		"Pods[0].Requests":       func(in *Input) { in.pods[0].Requests.CPU = math.NaN() },
		"Profiles[0].Containers": func(in *Input) { in.profiles[0].Containers[0].Target.CPU = -1 },
	} {
		in := small()
		spoil(&in)
		_, err := New(in)
		if bad := field.By(err, "requestreport"); bad == nil || bad.Field != name || !errors.Is(err, errInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	in := small()
	in.profiles[0].Need.CPU.Amount = -1
	if _, err := New(in); !errors.Is(err, profile.ErrInvalid) {
		t.Errorf("a need below 0: %v", err)
	}
}

// Workloads of which the excess is unknown come after those without any, whatever they are called.
func TestUnknownExcessIsLast(t *testing.T) {
	names := func(pods ...boundPod) (all []string) {
		in := Input{requests: true, nodes: []clusterNode{{Name: "n", Allocatable: of(4, 4)}}, pods: pods,
			profiles: []knownProfile{{Workload: web, Need: need(1, 1)}, {Workload: db, Need: need(1, 1)}}}
		for _, w := range newReport(t, in).Workloads {
			all = append(all, w.Name)
		}
		return all
	}
	got := names(boundPod{Workload: batchJob, Requests: of(4, 4)}, boundPod{Workload: web, Requests: of(1, 1)}, boundPod{Workload: db, Requests: of(1, 1.5)})
	if want := []string{"db", "web", "batch"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Notes are about what is missing, and only that.
func TestNotes(t *testing.T) {
	known := Input{requests: true,
		nodes:    []clusterNode{{Name: "n", Capacity: of(4, 4), Allocatable: of(4, 4), Use: steady(100, amounts(1, 1), nodeRoom{})}},
		pods:     []boundPod{{Workload: web, Node: "n", Requests: of(1, 1)}},
		profiles: []knownProfile{{Workload: web, Need: need(1, 1)}}}
	if r := newReport(t, known); len(r.Notes) > 0 {
		t.Errorf("all is known, and there are notes %q", r.Notes)
	}
	short := known
	short.nodes = []clusterNode{{Name: "n", Use: steady(3, amounts(1, 1), nodeRoom{})}}
	for name, test := range map[string]struct {
		in   Input
		want []string
	}{
		"one value": {Input{requests: true, nodes: []clusterNode{{Name: "n", Use: steady(1, amounts(1, 1), nodeRoom{})}}}, []string{
			"Nodes of which there is one value: 1. That does not show whether they are idle or at risk.", "Use was measured for 10s: a p95 takes 3m20s, a p99 takes 16m40s."}},
		"no pressure, cordoned": {Input{requests: true, nodes: []clusterNode{{Name: "n", Unschedulable: true, Use: blind(1)}}}, []string{
			"Measured nodes that take no pods, since they are cordoned or not ready: 1. The total room is of the others.",
			"Nodes without pressure data: 1 of 1. Tasks that wait for a CPU are not counted there; 95 % of the CPU in use is a risk.",
			"Use was measured for 20s: a p95 takes 3m20s, a p99 takes 16m40s."}},
		"nothing":   {Input{}, []string{"No pods were read: what is requested is unknown."}},
		"few spans": {short, []string{"Use was measured for 30s: a p95 takes 3m20s, a p99 takes 16m40s."}},
	} {
		if diff := cmp.Diff(test.want, newReport(t, test.in).Notes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Numbers that are none are unknown.
func TestSamplesThatAreNone(t *testing.T) {
	u := &nodeUse{}
	for _, v := range []float64{math.NaN(), math.Inf(1), 2} {
		u.add(useSample{At: noon, CPU: Is(v), Room: nodeRoom{Pods: Is(v)}})
	}
	n := newReport(t, Input{nodes: []clusterNode{{Name: "n", Use: u}}}).Nodes[0]
	if n.Used.Mean.CPU != Is(2) || n.Room.Pods != Is(2) || n.Used.Mean.Memory.Known {
		t.Errorf("%+v", n)
	}
}
