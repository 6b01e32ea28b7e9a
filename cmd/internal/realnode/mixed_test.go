//go:build realnode && linux

package realnode

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spazio-scheduler/spazio/profile"
)

// An owner has pods that are alike.
type owner struct {
	name          string
	arguments     []string
	cores, memory string // what a pod takes at most, which is what a correct request declares
}

// owners have little in common, and each has eight pods of a mixed batch.
var owners = []owner{
	{"quarter", []string{"-memory=64Mi", "-cpu=2s", "-share=0.25"}, "250m", "80Mi"},
	{"core", []string{"-memory=256Mi", "-cpu=6s"}, "1", "272Mi"},
	{"large", []string{"-memory=1536Mi", "-grow=2s", "-cpu=6s"}, "1", "1552Mi"},
	{"waiting", []string{"-memory=64Mi", "-cpu=200ms", "-share=0.1", "-sleep=8s"}, "100m", "80Mi"},
}

// TestMixedPairs runs a batch of unlike pods four times: under the default scheduler without and with
// correct requests, and under Spazio when it knows nothing of the workloads and when it has seen them
// run, of which none may be killed. The order changes from round to round.
func TestMixedPairs(t *testing.T) {
	install(t)
	// Profiles may be learnt from pods of any scheduler, so the default's workloads have other names.
	type side struct{ name, scheduler, workloads string }
	sides := []side{{"default", defaults, "default"}, {"requests", defaults, "requests"}, {"unknown", spazio, "spazio"}, {"known", spazio, "spazio"}}
	type result struct {
		Side   string
		Killed int
		Batch  batch
	}
	var all [][]result
	for i := range *pairs {
		round := make([]result, len(sides))
		// The workloads of a round are new to Spazio in the first of its two batches, "unknown".
		for k := range sides {
			at := k
			if i%2 == 1 {
				at = []int{2, 3, 0, 1}[k]
			}
			s := sides[at]
			label := fmt.Sprintf("mixed-%d-%s", i, s.name)
			load := quiet(t)
			t.Run(label, func(t *testing.T) {
				m, f := readMeter(t), newFates()
				count := 8 * len(owners)
				workloads := fmt.Sprintf("%s-%d", s.workloads, i)
				f.submit(t, label, count, func(name string) *corev1.Pod { return ofOwner(t, name, s.scheduler, workloads, s.name == "requests") })
				f.wait(t, count)
				r := result{Side: s.name, Killed: f.killed()}
				r.Batch = f.figures(t)
				m.since(t, &r.Batch)
				r.Batch.Scheduler, r.Batch.Load = s.name, load
				t.Logf("%d killed; %+v", r.Killed, r.Batch)
				if s.name == "known" && r.Killed > 0 {
					t.Errorf("%d of %d pods were killed, though Spazio had seen their workloads", r.Killed, count)
				}
				round[at] = r
			})
		}
		all = append(all, round)
	}
	note(t, "mixed", all)
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tkilled\tmakespan s\trun s\tsojourn s\tsojourn to requests\tat once\tbusy\t")
	for _, round := range all {
		for _, r := range round {
			b := r.Batch
			fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.2f\t%d\t%.2f\t\n", r.Side, r.Killed, b.Makespan, b.Run, b.Sojourn, b.Sojourn/round[1].Batch.Sojourn, b.AtOnce, b.Busy)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", text.String())
}

// ofOwner returns the pod of a mixed batch that its name ends with the number of, among workloads of a name.
func ofOwner(t *testing.T, name, scheduler, workloads string, declares bool) *corev1.Pod {
	t.Helper()
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil {
		t.Fatal(err)
	}
	o := owners[n%len(owners)]
	pod := worker(name, scheduler, o.arguments...)
	pod.Annotations = map[string]string{profile.WorkloadAnnotation: fmt.Sprintf("Job/%s-%s", o.name, workloads)}
	if declares {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(o.cores), corev1.ResourceMemory: resource.MustParse(o.memory),
		}
	}
	return pod
}
