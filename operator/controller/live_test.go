package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for !is() {
		if t.Context().Err() != nil {
			t.Fatalf("wait until %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// waiting returns how many callers wait at the place for the next call.
func waiting[P comparable, K, V any](g *callGroup[P, K, V], at P) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.next[at]; c != nil {
		return len(c.keys)
	}
	return 0
}

// Callers that come during a call share the next one; callers at another place do not wait.
func TestCallsAreShared(t *testing.T) {
	const others = 20
	type done struct {
		at   string
		keys []int
	}
	var mu sync.Mutex
	var all []done
	gate := make(chan struct{})
	j := &callGroup[string, int, int]{do: func(_ context.Context, at string, keys []int) (int, error) {
		mu.Lock()
		all = append(all, done{at, slices.Clone(keys)})
		n := len(all)
		mu.Unlock()
		if at == "here" {
			<-gate
		}
		return n, nil
	}}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(all)
	}
	var askers sync.WaitGroup
	ask := func(key, want int) {
		askers.Go(func() {
			if got, err := j.ask(t.Context(), "here", key); err != nil || got != want {
				t.Errorf("asked for %d: %d, %v, want %d", key, got, err, want)
			}
		})
	}
	ask(0, 1)
	until(t, "the first is under way", func() bool { return count() == 1 })
	for key := range others {
		ask(1+key, 3)
	}
	until(t, "the others wait", func() bool { return waiting(j, "here") == others })
	if got, err := j.ask(t.Context(), "there", 7); err != nil || got != 2 {
		t.Errorf("elsewhere: %d, %v", got, err)
	}
	close(gate)
	askers.Wait()
	slices.Sort(all[2].keys)
	want := []done{{"here", []int{0}}, {"there", []int{7}}, {"here", nil}}
	for key := range others {
		want[2].keys = append(want[2].keys, 1+key)
	}
	if diff := cmp.Diff(want, all, cmp.AllowUnexported(done{})); diff != "" {
		t.Error(diff)
	}
	if n := len(j.next) + len(j.last); n > 0 {
		t.Errorf("%d calls are remembered with no caller left", n)
	}
}

// A caller's result is of a call that began after the caller asked, and that had its key.
func TestSharedCallIsFresh(t *testing.T) {
	var clock atomic.Int64
	type result struct {
		begun int64
		keys  []string
	}
	j := &callGroup[int, string, result]{do: func(_ context.Context, _ int, keys []string) (result, error) {
		r := result{begun: clock.Add(1)}
		time.Sleep(time.Duration(clock.Load()%3) * 100 * time.Microsecond)
		r.keys = slices.Clone(keys)
		return r, nil
	}}
	var askers sync.WaitGroup
	for who := range 16 {
		askers.Go(func() {
			for n := range 100 {
				key, asked := fmt.Sprint(who, "/", n), clock.Add(1)
				got, err := j.ask(t.Context(), n%2, key)
				if err != nil || got.begun <= asked || !slices.Contains(got.keys, key) {
					t.Errorf("asked for %s at %d, got %+v, %v", key, asked, got, err)
				}
			}
		})
	}
	askers.Wait()
}

// A call that fails or panics ends for all who share it, and the next one is made.
func TestSharedCallFails(t *testing.T) {
	broken := errors.New("broken")
	gate, calls := make(chan struct{}), atomic.Int64{}
	j := &callGroup[int, int, int]{do: func(context.Context, int, []int) (int, error) {
		switch calls.Add(1) {
		case 1:
			<-gate
			return 0, nil
		case 2:
			return 0, broken
		case 3:
			panic("in the call")
		}
		return 4, nil
	}}
	var first sync.WaitGroup
	first.Go(func() { _, _ = j.ask(t.Context(), 0, 0) })
	until(t, "the first is under way", func() bool { return calls.Load() == 1 })
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := j.ask(t.Context(), 0, 1)
			errs <- err
		}()
	}
	until(t, "two wait", func() bool { return waiting(j, 0) == 2 })
	close(gate)
	for range 2 {
		if err := <-errs; !errors.Is(err, broken) {
			t.Errorf("one of two: %v", err)
		}
	}
	first.Wait()
	func() {
		defer func() { _ = recover() }()
		_, _ = j.ask(t.Context(), 0, 2)
	}()
	if got, err := j.ask(t.Context(), 0, 3); err != nil || got != 4 {
		t.Errorf("after a panic: %d, %v", got, err)
	}
}

// counted counts the requests to a lab's API server, and holds the first one for a Testbed until it
// is released.
func counted(l *lab) (api client.Client, reads, writes *atomic.Int64, letGo func()) {
	reads, writes = &atomic.Int64{}, &atomic.Int64{}
	gate := make(chan struct{})
	api = interceptor.NewClient(l.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*v1alpha1.Testbed); ok && reads.Add(1) == 1 {
				<-gate
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.PodList); ok && reads.Add(1) == 1 {
				<-gate
			}
			return c.List(ctx, list, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			writes.Add(1)
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
	})
	return api, reads, writes, func() { close(gate) }
}

// Jobs that free their slots at the same time write their Testbed once, and a claim that has
// changed since stays.
func TestReleasedTogether(t *testing.T) {
	const jobs = 12
	l := newLab(t).withTestbed(jobs)
	tb := l.testbed()
	for i := range jobs + 1 {
		tb.Status.Claims = append(tb.Status.Claims, v1alpha1.Claim{
			BatchJobUID: types.UID(fmt.Sprint("job-", i)), BatchJob: fmt.Sprint("lab/job-", i), Scheduling: "lab/s", SchedulingUID: "s",
			Slots: []string{fmt.Sprint("node/", i)}, Since: metav1.NewTime(l.now),
		})
	}
	tb.Status.Claims[jobs-1].SchedulingUID = "another"
	tb.Status.Claims[jobs-2].Slots = []string{"other/0"}
	l.must(l.api.Status().Update(t.Context(), tb))
	api, reads, writes, letGo := counted(l)
	r := newBatchJobs(api, api, api, l.kinds, l.recorded, l.metrics, l.jobs.logger)
	var all sync.WaitGroup
	name := client.ObjectKeyFromObject(tb)
	free := func(i int) {
		all.Go(func() {
			if _, err := r.releases.ask(t.Context(), name, release{types.UID(fmt.Sprint("job-", i)), "s", []string{fmt.Sprint("node/", i)}}); err != nil {
				t.Error(err)
			}
		})
	}
	free(0)
	until(t, "the first is under way", func() bool { return reads.Load() == 1 })
	for i := range jobs - 1 {
		free(1 + i)
	}
	until(t, "the others wait", func() bool { return waiting(&r.releases, name) == jobs-1 })
	letGo()
	all.Wait()
	if writes.Load() != 2 || reads.Load() != 2 {
		t.Errorf("%d jobs freed their slots by %d writes after %d reads, want 2 of each", jobs, writes.Load(), reads.Load())
	}
	var left []types.UID
	for _, c := range l.testbed().Status.Claims {
		left = append(left, c.BatchJobUID)
	}
	if diff := cmp.Diff([]types.UID{"job-10", "job-11", "job-12"}, left); diff != "" {
		t.Errorf("the claims that are left: %s", diff)
	}
}

// The pods of jobs that are reconciled together are listed once, and each job gets its own.
func TestPodsTogether(t *testing.T) {
	l := newLab(t)
	pod := func(namespace, name, role, job string) {
		l.must(l.api.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{v1alpha1.LabelRole: role, v1alpha1.LabelBatchJobUID: job},
		}}))
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		pod("lab", name+"-0", v1alpha1.RoleSlot, name)
		pod("lab", name+"-1", v1alpha1.RoleSlot, name)
		pod("lab", name+"-placeholder", v1alpha1.RolePlaceholder, name)
		pod("other", name+"-2", v1alpha1.RoleSlot, name)
	}
	api, reads, _, letGo := counted(l)
	from := newLiveReader(api)
	var all sync.WaitGroup
	look := func(name string) {
		all.Go(func() {
			job := &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: types.UID(name)}}
			pods, err := from.podsOf(t.Context(), job)
			var names []string
			for i := range pods {
				names = append(names, pods[i].Name)
			}
			slices.Sort(names)
			want := []string{name + "-0", name + "-1"}
			if name == "nobody" {
				want = nil
			}
			if diff := cmp.Diff(want, names); diff != "" || err != nil {
				t.Errorf("%s: %s%v", name, diff, err)
			}
		})
	}
	look("a")
	until(t, "the first is under way", func() bool { return reads.Load() == 1 })
	for _, name := range []string{"b", "c", "c", "nobody"} {
		look(name)
	}
	until(t, "the others wait", func() bool { return waiting(&from.pods, "lab") == 4 })
	letGo()
	all.Wait()
	if reads.Load() != 2 {
		t.Errorf("pods were listed %d times, want 2", reads.Load())
	}
}
