package demo

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

var owners = []podOwner{
	{Name: "busy", Pods: 30, Cores: 1, Seconds: 10, Memory: 1 << 27},
	{Name: "large", Pods: 20, Cores: .1, Seconds: 10, Memory: 3 << 30},
}

// Pods lie within a fifth of their owner's average, run alone for its seconds, and are mixed. The same
// seed draws the same pods.
func TestUnlike(t *testing.T) {
	tasks, again, other := unlikeTasks(7, owners), unlikeTasks(7, owners), unlikeTasks(8, owners)
	if len(tasks) != 50 {
		t.Fatalf("%d pods, want 50", len(tasks))
	}
	count, changes, same := map[string]int{}, 0, 0
	for i, task := range tasks {
		o := owners[0]
		if task.Owner == "large" {
			o = owners[1]
		}
		count[task.Owner]++
		if math.Abs(task.Cores/o.Cores-1) > .2 || math.Abs(task.Memory/o.Memory-1) > .2 || math.Abs(task.Work.Seconds()/task.Cores-10) > 1e-6 || task.Startup <= 0 {
			t.Errorf("%+v, of %+v", task, o)
		}
		if i > 0 && task.Owner != tasks[i-1].Owner {
			changes++
		}
		if task != again[i] {
			t.Errorf("pod %d: got %+v, and then %+v", i, task, again[i])
		}
		if task == other[i] {
			same++
		}
	}
	if count["busy"] != 30 || count["large"] != 20 || changes < 10 || same > 0 {
		t.Errorf("%v: got %d changes of owner, and %d pods equal to another seed's", count, changes, same)
	}
}

// A killed pod is submitted again under another name, after ten seconds and then after twenty, and its
// time counts from the first submission. The run ends with its last attempt.
func TestKilledPodsAreSubmittedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		run := newBatchRun("act", "mine", []batchTask{{Owner: "large", Cores: .5, Work: time.Second}})
		submitted := make(chan error, 1)
		go func() { submitted <- run.submit(t.Context(), client, simnode.Clock{}) }()
		synctest.Wait()
		begin := time.Now()
		names := func() (all []string) {
			pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, pod := range pods.Items {
				all = append(all, pod.Name)
				if pod.Spec.SchedulerName != "mine" || pod.Annotations["spazio-scheduler.github.io/workload"] != "Job/large" || pod.Annotations[simnode.AnnotationCores] != "0.5" {
					t.Errorf("%s of %s, %v", pod.Name, pod.Spec.SchedulerName, pod.Annotations)
				}
			}
			slices.Sort(all)
			return all
		}
		observe := func(name string, phase simnode.Phase) {
			run.observe(simnode.Event{
				Pod:  types.NamespacedName{Namespace: namespace, Name: name},
				Node: "node", Transition: simnode.Transition{At: time.Now(), Phase: phase},
			})
			synctest.Wait()
		}
		live := func(name string, lives int, end simnode.Phase) {
			t.Helper()
			if got := names(); len(got) != lives || got[lives-1] != name {
				t.Fatalf("got pods %v, want %d with %s", got, lives, name)
			}
			observe(name, simnode.Bound)
			observe(name, simnode.Running)
			observe(name, end)
		}
		live("act-1", 1, simnode.Failed)
		time.Sleep(9 * time.Second)
		if got := names(); len(got) != 1 || closed(run.done) {
			t.Errorf("after nine seconds: got pods %v", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		live("act-1.1", 2, simnode.Failed)
		time.Sleep(19 * time.Second)
		if got := names(); len(got) != 2 {
			t.Errorf("after 19 more seconds: got pods %v", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		live("act-1.2", 3, simnode.Succeeded)
		if err := <-submitted; err != nil || !closed(run.done) {
			t.Fatalf("the run has not ended: %v", err)
		}
		r := run.snapshot()[0]
		if r.Kills != 2 || r.Failed || r.Node != "node" || r.Created.After(begin) || r.Done.Sub(r.Created) != 32*time.Second {
			t.Errorf("%+v", r)
		}
		if s := summarise(run.snapshot()); s.Kills != 2 || s.Pods != 1 || s.Failed != 0 || s.Sojourn.Mean != 32 {
			t.Errorf("%+v", s)
		}
	})
}
