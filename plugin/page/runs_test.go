package page_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/plugin/page"
	"github.com/spazio-scheduler/spazio/web"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func second(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }

func TestSum(t *testing.T) {
	courses := []page.Course{
		{Created: second(5), Bound: second(6), Running: second(7), Done: second(10)},
		{Created: second(2), Bound: second(6), Running: second(7), Done: second(9), Failed: true},
		{Created: second(3), Bound: second(6), Running: second(7)},
		{Created: second(3), Bound: second(6)},
		{Created: second(4)},
		{},
	}
	want := web.Run{Profile: "p", Started: second(2), Submitted: 5, Total: 6, Starting: 1, Running: 1, Done: 1, Failed: 1,
		Completions: []web.Completion{{Since: 8 * time.Second, Took: 5 * time.Second}}}
	if diff := cmp.Diff(want, page.Sum("p", 6, courses)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !page.Sum("p", 2, courses[:2]).Ended {
		t.Error("the run continues although all pods completed")
	}
	if got := page.Sum("p", 0, courses[:2]); got.Ended {
		t.Error("an open run counts as ended")
	}
	if diff := cmp.Diff(web.Run{Profile: "p", Total: 3}, page.Sum("p", 3, nil)); diff != "" {
		t.Errorf("run without pods (-want +got):\n%s", diff)
	}
}

// pod returns a pod of a profile on a node, whose containers ended at these seconds.
func pod(profile, node string, phase v1.PodPhase, created int, ended ...int) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(second(created))}}
	p.Spec.SchedulerName, p.Spec.NodeName, p.Status.Phase = profile, node, phase
	for _, s := range ended {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, v1.ContainerStatus{
			State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{FinishedAt: metav1.NewTime(second(s))}},
		})
	}
	return p
}

func isPlaceholder(uid types.UID) bool { return uid == "placeholder" }

// TestRuns: pods that a scheduler placed count by profile, and of the completed ones the latest.
func TestRuns(t *testing.T) {
	const now = 7200
	edited := func(edit func(*v1.Pod)) *v1.Pod {
		p := pod("spazio", "n", v1.PodRunning, now-1)
		edit(p)
		return p
	}
	yes := true
	pods := []*v1.Pod{
		pod("spazio", "n", v1.PodSucceeded, now-100, now-60, now-50),
		pod("spazio", "n", v1.PodSucceeded, now-5000, now-3601), // long ago
		pod("spazio", "n", v1.PodFailed, now-90, now-80),
		pod("spazio", "n", v1.PodRunning, now-5000, now-4000), // one of its containers has ended
		pod("spazio", "n", v1.PodPending, now-8),
		pod("spazio", "", v1.PodPending, now-7),
		pod("default-scheduler", "n", v1.PodSucceeded, now-40, now-30),
		edited(func(p *v1.Pod) { p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"} }),
		edited(func(p *v1.Pod) { p.UID = "placeholder" }),
		edited(func(p *v1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: &yes}}
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
					{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{"n"}},
				}}},
			}}}
		}),
	}
	want := []web.Run{
		{Profile: "default-scheduler", Started: second(now - 40), Submitted: 1, Done: 1, Resolution: time.Second,
			Completions: []web.Completion{{Since: 10 * time.Second, Took: 10 * time.Second}}},
		{Profile: "spazio", Started: second(now - 5000), Submitted: 5, Starting: 1, Running: 1, Done: 1, Failed: 1, Resolution: time.Second,
			Completions: []web.Completion{{Since: 4950 * time.Second, Took: 50 * time.Second}}},
	}
	if diff := cmp.Diff(want, page.Runs(pods, isPlaceholder, second(now))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRunsAreBounded to the latest completions, which the page shows.
func TestRunsAreBounded(t *testing.T) {
	var pods []*v1.Pod
	for i := range web.MaxCompletions + 10 {
		p := pod("spazio", "n", v1.PodSucceeded, 0, i%1000)
		p.Name = fmt.Sprint(i)
		pods = append(pods, p)
	}
	got := page.Runs(pods, isPlaceholder, second(1000))[0]
	if got.Done != len(pods) || len(got.Completions) != web.MaxCompletions {
		t.Errorf("%d done, %d completions", got.Done, len(got.Completions))
	}
	early := 0
	for _, c := range got.Completions {
		if c.Since == 0 {
			early++
		}
	}
	// 21 pods completed in each of the first ten seconds, 20 in every other.
	if early != 11 {
		t.Errorf("got %d pods of the first second, want 11", early)
	}
}
