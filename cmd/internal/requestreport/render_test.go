package requestreport

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

func TestText(t *testing.T) {
	var b strings.Builder
	if err := newReport(t, small()).WriteText(&b, text.Terminal); err != nil {
		t.Fatal(err)
	}
	want := `
Requests and measured use of a test, 2026-11-29T12:00:00Z.
Use was measured from 2026-11-29T12:00:00Z to 2026-11-29T12:16:40Z on 2 nodes of 3.
6 pods of 3 workloads; pods that declare no requests: 3.
Of the CPU 48% is requested and 67% is used or waited for on average, of the memory 32% and 48%.
1 node full by requests but idle by measurement; 1 node at risk.
A note.
Nodes of which nothing was measured: 1 of 3. Their use and room are unknown, and totals of use and room are of the
others.
Workloads without a profile: 1 of 3. Their need is unknown.
Fewer than 100 spans of 10s have a value of nine of ten nodes: the p99 of the total is unknown.

Total: saving is what pods would request less by recommendations, shortfall what others would request more; uncertain
savings are in neither
RESOURCE      ALLOCATABLE  REQUESTED  MEAN USE    P95  P99   ROOM  SAVING  SHORTFALL  UNCERTAIN
CPU, cores          10.00       4.75      4.00   4.00    -   2.50    2.25       0.00       0.38
memory, GiB         40.00      13.00     11.50  11.50    -  11.12    6.00       0.00       0.00
typical pods                                                  6.0

Nodes full by requests but idle by measurement
NODE  PODS  CPU REQUESTED  MEAN USE  P95  P99  MEMORY REQUESTED  MEAN USE  P95  P99  ROOM PODS  CORES    GIB
full     2            94%       25%  25%  25%               75%       25%  25%  25%        6.0   2.50  11.00

Nodes at risk
NODE  PODS        CPU  MEAN   P95  P99     MEMORY  MEAN  P95  P99  ROOM  CORES   GIB  REASON
            REQUESTED   USE             REQUESTED   USE            PODS
hot      3         0%  150%  150%    -         0%   94%  94%    -  -2.0  -1.00  0.12  tasks wait for a CPU; memory is
                                                                                      nearly full; requests leave space
                                                                                      where there is no room

Workloads that request most above their need: cores and MiB of a pod, and of all its pods the saving
NAMESPACE  WORKLOAD        PODS        CPU   NEED  RECOMMENDED  SAVING     MEMORY  NEED  RECOMMENDED  SAVING  CONFIDENCE
                                   REQUEST                                REQUEST
shop       Deployment/web     2      1.875  0.500        0.750    2.25       6144  2048         3072    6144        0.75
data       StatefulSet/db     1      1.000  0.500        0.625    0.38       1024  2048         2304   -1280       stale

Namespaces: cores and GiB
NAMESPACE  PODS  NO REQUESTS  PROFILED  CPU REQUESTED  SAVING  SHORTFALL  MEMORY REQUESTED  SAVING  SHORTFALL
shop          5            3    1 of 2           3.75    2.25       0.00             12.00    6.00       0.00
data          1            0    1 of 1           1.00       -          -              1.00       -          -

Pods that declare no requests: cores and MiB of a pod
NAMESPACE  WORKLOAD       PODS  CPU NEED  RECOMMENDED  MEMORY NEED  RECOMMENDED  CONFIDENCE
shop       CronJob/batch     3         -            -            -            -           -

Nodes
NODE  PODS  CPU REQUESTED  MEAN USE   P95  P99  MEMORY REQUESTED  MEAN USE  P95  P99  ROOM PODS  CORES    GIB
full     2            94%       25%   25%  25%               75%       25%  25%  25%        6.0   2.50  11.00
hot      3             0%      150%  150%    -                0%       94%  94%    -       -2.0  -1.00   0.12
new      1            25%         -     -    -                6%         -    -    -          -      -      -
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), b.String()); diff != "" {
		t.Error(diff)
	}
}

// Of nodes that were not measured, or once only, the report does not say that none is idle or at risk.
func TestNoVerdict(t *testing.T) {
	for name, spans := range map[string]int{"none": 0, "one": 1, "two": 2} {
		in := small()
		in.nodes = in.nodes[:1]
		if spans > 0 {
			in.nodes[0].Use = steady(spans, amounts(1, 1), nodeRoom{})
		}
		in.pods, in.profiles = nil, nil
		var b strings.Builder
		if err := newReport(t, in).WriteText(&b, 0); err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(b.String(), "0 nodes at risk"); said != (spans > 1) {
			t.Errorf("%s: %s", name, b.String())
		}
	}
}

// A spreadsheet gets a row for everything, numbers as they are, and empty cells for what is unknown.
func TestRows(t *testing.T) {
	var b bytes.Buffer
	if err := newReport(t, small()).Rows().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, column := range rows[0] {
		at[column] = i
	}
	cells := func(row []string, columns ...string) (all []string) {
		for _, c := range columns {
			i, ok := at[c]
			if !ok {
				t.Fatalf("no column %s", c)
			}
			all = append(all, row[i])
		}
		return all
	}
	var got [][]string
	for _, row := range rows[1:] {
		got = append(got, cells(row, "kind", "node", "namespace", "workload", "pods", "requested_cpu", "used_cpu_p99", "used_memory_mean", "room_pods", "excess_cpu", "recommended_cpu", "saving_memory", "remark"))
	}
	want := [][]string{
		{"total", "", "", "", "6", "4.75", "", "12348030976", "6", "", "2.5", "6442450944", ""},
		{"node", "full", "", "", "2", "3.75", "1", "4294967296", "6", "", "", "", "full by requests, idle by measurement"},
		{"node", "hot", "", "", "3", "0", "", "8053063680", "-2", "", "", "", "tasks wait for a CPU; memory is nearly full; requests leave space where there is no room"},
		{"node", "new", "", "", "1", "1", "", "", "", "", "", "", ""},
		{"namespace", "", "data", "", "1", "1", "", "", "", "0.5", "", "", ""},
		{"namespace", "", "shop", "", "5", "3.75", "", "", "", "2.75", "", "6442450944", ""},
		{"workload", "", "shop", "web", "2", "3.75", "", "", "", "2.75", "", "6442450944", ""},
		{"workload", "", "data", "db", "1", "1", "", "", "", "0.5", "", "-1342177280", "stale"},
		{"workload", "", "shop", "batch", "3", "0", "", "", "", "", "", "", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What others name is text to a spreadsheet, which runs formulas.
func TestRowsAreNoFormulas(t *testing.T) {
	for name, want := range map[string]string{
		"=HYPERLINK(1)": "'=HYPERLINK(1)", "+1+cmd|x": "'+1+cmd|x", "-1+1": "'-1+1", "@sum(1)": "'@sum(1)", "\t=1": "' =1", "\r=1": "' =1",
		"web": "web", "a=1": "a=1", "\x1b[31mred": "\ufffd[31mred", "": "",
	} {
		in := small()
		for i := range in.pods {
			in.pods[i].Workload.Namespace = name
		}
		in.nodes[0].Name = name + " "
		in.profiles[1].Workload.Namespace, in.profiles[1].HorizontallyScaled = name, true
		rows := newReport(t, in).Rows().Rows
		nodes, spaces, last := []string{}, []string{}, map[string]bool{}
		for _, row := range rows {
			nodes, spaces, last[row[len(row)-1]] = append(nodes, row[1]), append(spaces, row[2]), true
		}
		if !slices.Contains(nodes, want+" ") || !slices.Contains(spaces, want) || want != name && slices.Contains(spaces, name) {
			t.Errorf("%q: nodes %q, namespaces %q, want %q", name, nodes, spaces, want)
		}
		if !slices.Contains(nodes, "hot") || !last["stale; scaled by utilisation"] {
			t.Errorf("nodes %q, remarks %v", nodes, last)
		}
	}
	for _, row := range newReport(t, small()).Rows().Rows {
		if row[1] == "hot" && row[17] != "-2" { // a number below 0 stays one
			t.Errorf("%q", row)
		}
	}
}

// The page needs no other file or site, has its pictures within, and shows others' names as text.
func TestPage(t *testing.T) {
	in, long := small(), strings.Repeat("<b>long", 30_000) // an annotation may name a workload
	for i := range in.pods {
		switch w := &in.pods[i].Workload; *w {
		case web:
			w.Name = "<img src=x onerror=alert(1)>"
		case db:
			w.Name = long
		}
	}
	in.profiles[0].Workload.Name, in.profiles[1].Workload.Name = "<img src=x onerror=alert(1)>", long
	var b strings.Builder
	if err := newReport(t, in).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if n := strings.Count(page, "<svg"); n != 3 {
		t.Errorf("%d pictures", n)
	}
	if foreign := regexp.MustCompile(`(?i)<(img|script|link|iframe)|@import|url\((?:[^#])`).FindString(page); foreign != "" {
		t.Errorf("the page has %q", foreign)
	}
	for _, part := range []string{"Nodes at risk", "requests leave space where there is no room", "&lt;img src=x", "&lt;b&gt;long"} {
		if !strings.Contains(page, part) {
			t.Errorf("no %q", part)
		}
	}
	drawn := 0
	for picture := range strings.SplitSeq(page, "<svg") {
		picture, _, _ = strings.Cut(picture, "</svg>")
		if strings.Contains(picture, "onerror") {
			drawn++
		}
	}
	if drawn == 0 || len(page) > 100<<10 {
		t.Errorf("%d pictures have the name, in a page of %d bytes", drawn, len(page))
	}
}

// Nodes with more reasons to be at risk come first.
func TestRisksAreInOrder(t *testing.T) {
	in := small()
	in.nodes = append(in.nodes, clusterNode{Name: "calm", Capacity: of(2, 8), Allocatable: of(2, 8), Use: steady(2, amounts(1, 7.5), nodeRoom{})})
	var b strings.Builder
	if err := newReport(t, in).WriteText(&b, 0); err != nil {
		t.Fatal(err)
	}
	_, risks, _ := strings.Cut(b.String(), "Nodes at risk")
	if hot, calm := strings.Index(risks, "\nhot "), strings.Index(risks, "\ncalm "); hot < 0 || calm < hot {
		t.Errorf("%s", risks)
	}
}

// Without anything measured there is a page all the same.
func TestPageOfNothing(t *testing.T) {
	if err := newReport(t, Input{}).WriteHTML(io.Discard); err != nil {
		t.Error(err)
	}
	if err := newReport(t, Input{}).WriteText(io.Discard, 0); err != nil {
		t.Error(err)
	}
}

// fleet is a cluster of so many nodes, of thirty pods each, measured for an hour.
func fleet(nodes int) Input {
	in := Input{madeAt: noon, source: "a fleet", requests: true}
	const workloads, podsOfNode, spans = 3000, 30, 360
	all := make([]profile.Workload, workloads)
	for i := range all {
		all[i] = profile.Workload{Namespace: fmt.Sprint("team-", i%100), Kind: "Deployment", Name: fmt.Sprint("service-", i)}
		in.profiles = append(in.profiles, knownProfile{
			Workload: all[i], Need: need(.1+float64(i%7)/10, .5), Containers: []containerAdvice{{Container: "main", Target: of(.2+float64(i%7)/10, .75)}},
		})
	}
	containers := []string{"main"}
	for i := range nodes {
		n := clusterNode{Name: fmt.Sprintf("node-%04d", i), Capacity: of(32, 128), Allocatable: of(31, 120), Use: &nodeUse{}}
		for s := range spans {
			n.Use.add(useSample{
				At: noon.Add(time.Duration(s) * 10 * time.Second), CPU: Is(float64(4 + (i+s)%17)), Memory: Is(float64(30+(i*s)%61) * gibibyte),
				Room: nodeRoom{Pods: Is(20), resourceAmounts: amounts(16, 40)},
			})
		}
		in.nodes = append(in.nodes, n)
		for p := range podsOfNode {
			in.pods = append(in.pods, boundPod{Workload: all[(i*podsOfNode+p)%workloads], Node: n.Name, Requests: of(float64(p%4)/2, float64(p%5)), Containers: containers})
		}
	}
	return in
}

// Of thousands of nodes tables for people are short, rows have all, and the page can be mailed.
func TestLargeReports(t *testing.T) {
	const nodes = 500
	r := newReport(t, fleet(nodes))
	var words, page strings.Builder
	if err := r.WriteText(&words, text.Terminal); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(words.String(), "\n"); lines > 250 {
		t.Errorf("%d lines", lines)
	}
	if rows := len(r.Rows().Rows); rows != 1+nodes+100+3000 {
		t.Errorf("%d rows", rows)
	}
	if page.Len() > 2<<20 {
		t.Errorf("a page of %d bytes", page.Len())
	}
}

// BenchmarkReport makes and writes the report of the largest clusters.
func BenchmarkReport(b *testing.B) {
	for _, nodes := range []int{100, 5000} {
		in := fleet(nodes)
		b.Run("n="+strconv.Itoa(nodes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := New(in)
				if err != nil {
					b.Fatal(err)
				}
				if err := r.WriteHTML(io.Discard); err != nil {
					b.Fatal(err)
				}
				if err := r.Rows().WriteCSV(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
