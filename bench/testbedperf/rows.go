package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spazio-scheduler/spazio/bench/internal/process"
	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// slotSize is what a slot holds and each pod requests.
func slotSize() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")}
}

// bindGhosts makes the test bed, and says how long it takes until all ghosts are bound.
func (c *cluster) bindGhosts(ctx context.Context) (seconds float64, err error) {
	begin := time.Now()
	if err := c.apply(ctx, v1alpha1.Testbeds, "Testbed", &v1alpha1.Testbed{
		ObjectMeta: metav1.ObjectMeta{Name: testbedName, Namespace: namespace},
		Spec: v1alpha1.TestbedSpec{
			NodeLabel: nodeLabel, SlotsPerNode: intstr.FromInt(c.o.slots), ResourcesPerSlot: slotSize(),
		},
	}); err != nil {
		return 0, err
	}
	total := c.o.nodes * c.o.slots
	err = c.lives.until(ctx, "the ghosts are bound", func() bool { return len(c.lives.bound) == total })
	seconds = time.Since(begin).Seconds()
	fmt.Fprintf(c.progress, "%d ghosts bound in %.1f s\n", total, seconds)
	return seconds, err
}

// placePlain says how many pods a second the default profile binds, and removes them.
func (c *cluster) placePlain(ctx context.Context, label string) (rate float64, err error) {
	if rate, err = c.place(ctx, label, c.o.pods); err != nil {
		return 0, err
	}
	fmt.Fprintf(c.progress, "%s: %.0f pods a second\n", label, rate)
	return rate, c.remove(ctx, "batch="+label)
}

// place makes so many pods, and says how many a second were bound.
func (c *cluster) place(ctx context.Context, label string, count int) (rate float64, err error) {
	return c.submit(ctx, count, func(i int) *corev1.Pod {
		pod := plainPod(fmt.Sprintf("%s-%d", label, i))
		pod.Labels = map[string]string{"batch": label}
		return pod
	})
}

func plainPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: slotSize()},
		}}},
	}
}

// submit makes pods as fast as it can, and says how many a second were bound, from the first
// one's creation to the last one's binding: of that the time to make them is a part.
func (c *cluster) submit(ctx context.Context, count int, pod func(i int) *corev1.Pod) (rate float64, err error) {
	if err := c.ready(ctx); err != nil {
		return 0, err
	}
	begin, used, before := time.Now(), c.use(), c.requests.now()
	names := make([]string, count)
	if err := inParallel(ctx, count, func(i int) error {
		p := pod(i)
		names[i] = p.Name
		_, err := c.client.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	}); err != nil {
		return 0, err
	}
	made := time.Since(begin)
	err = c.lives.until(ctx, "the pods are bound", func() bool {
		for len(names) > 0 {
			if _, bound := c.lives.bound[names[len(names)-1]]; !bound {
				return false
			}
			names = names[:len(names)-1]
		}
		return true
	})
	rate = float64(count) / time.Since(begin).Seconds()
	fmt.Fprintf(c.progress, "%d pods, made within %.1f s: %v; watches of pods ended: %d\n", count, made.Seconds(), used, c.requests.now().since(before).ended("pods"))
	return rate, err
}

// remove deletes pods, and returns when they are gone.
func (c *cluster) remove(ctx context.Context, labels string) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	if err := c.client.CoreV1().Pods(namespace).DeleteCollection(ctx, now, metav1.ListOptions{LabelSelector: labels}); err != nil {
		return err
	}
	left, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return c.lives.until(ctx, "the pods are gone", func() bool { return len(c.lives.there) == len(left.Items) })
}

// keepStill sees what spazio-testbed does while there is nothing to do.
func (c *cluster) keepStill(ctx context.Context, operator *started, r *result) error {
	const settle = 15 * time.Second
	fmt.Fprintf(c.progress, "nothing happens for %v\n", c.o.still)
	if err := program.Sleep(ctx, settle); err != nil {
		return err
	}
	pid := operator.process.Process.Pid
	before, err := process.CPU(pid)
	if err != nil {
		return err
	}
	written := c.writes.Load()
	if err := program.Sleep(ctx, c.o.still); err != nil {
		return err
	}
	after, err := process.CPU(pid)
	if err != nil {
		return err
	}
	resident, _, err := process.Memory(pid)
	if err != nil {
		return err
	}
	r.add(
		row{What: fmt.Sprintf("writes in %v in which nothing happens", c.o.still), Unit: "requests", Value: float64(c.writes.Load() - written), Bar: barWrites},
		row{What: "spazio-testbed meanwhile", Unit: "cores", Value: (after - before).Seconds() / c.o.still.Seconds(), Bar: barCores},
		row{What: "spazio-testbed resident", Unit: "MiB", Value: resident, Bar: barResident},
	)
	return nil
}

// acquire has schedulings compete, and sees how soon the jobs of each have what runs
// them; what is there is written after their claims.
func (c *cluster) acquire(ctx context.Context, r *result) error {
	fmt.Fprintf(c.progress, "making %d jobs\n", c.o.jobs)
	uids := make([]types.UID, c.o.jobs)
	if err := inParallel(ctx, c.o.jobs, func(i int) error {
		job := plainJob(jobName(i))
		err := c.apply(ctx, v1alpha1.BatchJobs, "BatchJob", job)
		uids[i] = job.UID
		return err
	}); err != nil {
		return err
	}
	if err := c.settled(ctx); err != nil {
		return err
	}
	seconds, asked, err := c.competeAll(ctx, uids)
	if len(seconds) > 0 {
		r.add(
			row{What: "a scheduling's jobs have what runs them, median", Unit: "s", Value: median(seconds), Bar: barAcquire50, Of: slices.Sorted(slices.Values(seconds))},
			row{What: "the same, 99 %", Unit: "s", Value: quantile(seconds, .99), Bar: barAcquire99},
			row{What: "requests of spazio-testbed meanwhile, for a job, median", Unit: "requests", Value: median(asked), Bar: barRequests, Of: slices.Sorted(slices.Values(asked))},
		)
	}
	if err != nil {
		return err
	}
	return c.removeAll(ctx, v1alpha1.BatchJobs)
}

// settled returns when spazio-testbed has seen every job: what a scheduling meets are jobs
// that are there, not such as come with it.
func (c *cluster) settled(ctx context.Context) error {
	for {
		jobs, err := c.resource(v1alpha1.BatchJobs).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(jobs.Items, func(o unstructured.Unstructured) bool {
			state, _, _ := unstructured.NestedString(o.Object, "status", "state")
			return state == ""
		}) {
			return nil
		}
		if err := program.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// competeAll has a round after the other, and returns what it found of those that it could
// have: how long each scheduling took, and how many requests of each round a job took.
func (c *cluster) competeAll(ctx context.Context, uids []types.UID) (seconds, asked []float64, err error) {
	for round := range c.o.rounds {
		found, requests, err := c.compete(ctx, round, uids)
		if err != nil {
			return seconds, asked, err
		}
		asked = append(asked, float64(requests)/float64(c.o.competing*c.o.perRound))
		fmt.Fprintf(c.progress, "round %d of %d: jobs have what runs them within %.3g s\n", round+1, c.o.rounds, slices.Max(found))
		seconds = append(seconds, found...)
	}
	return seconds, asked, nil
}

// plainJob is a job of one pod.
func plainJob(name string) *v1alpha1.BatchJob {
	return &v1alpha1.BatchJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: v1alpha1.BatchJobSpec{JobSpec: &runtime.RawExtension{
			Raw: []byte(`{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"none"}]}}}`),
		}},
	}
}

func jobName(i int) string { return "job-" + strconv.Itoa(i) }

// compete makes schedulings at once, of other jobs in each round, and removes them.
func (c *cluster) compete(ctx context.Context, round int, uids []types.UID) (seconds []float64, asked int, err error) {
	if err := c.ready(ctx); err != nil {
		return nil, 0, err
	}
	used, before := c.use(), c.requests.now()
	begins, mine := make([]time.Time, c.o.competing), make([][]types.UID, c.o.competing)
	if err := inParallel(ctx, c.o.competing, func(k int) error {
		s := &v1alpha1.Scheduling{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("round-%d-%d", round, k), Namespace: namespace},
			Spec:       v1alpha1.SchedulingSpec{Testbed: testbedReference},
		}
		for n := range c.o.perRound {
			i := (round*c.o.perRound*c.o.competing + k*c.o.perRound + n) % len(uids)
			s.Spec.QueueBased = append(s.Spec.QueueBased, v1alpha1.JobReference{Name: jobName(i)})
			mine[k] = append(mine[k], uids[i])
		}
		begins[k] = time.Now()
		return c.apply(ctx, v1alpha1.Schedulings, "Scheduling", s)
	}); err != nil {
		return nil, 0, err
	}
	if seconds, err = c.since(ctx, begins, func(k int) []types.UID { return mine[k] }); err != nil {
		return nil, 0, err
	}
	now := c.requests.now()
	taking := now.since(before)
	fmt.Fprintf(c.progress, "taking slots: %v; %s\n", used, taking.text(operatorUser))
	begin, used, before := time.Now(), c.use(), now
	if err := c.removeAll(ctx, v1alpha1.Schedulings); err != nil {
		return nil, 0, err
	}
	err = c.lives.until(ctx, "nothing runs jobs", func() bool { return len(c.lives.made) == 0 })
	fmt.Fprintf(c.progress, "giving them back: %.1f s; %v; %s\n", time.Since(begin).Seconds(), used, c.requests.now().since(before).text(operatorUser))
	return seconds, taking.by(operatorUser), err
}

// since returns how long after its beginning each scheduling's jobs have what runs them.
func (c *cluster) since(ctx context.Context, begins []time.Time, jobs func(k int) []types.UID) (seconds []float64, err error) {
	for k, begin := range begins {
		var last time.Time
		if err := c.lives.until(ctx, "the jobs have what runs them", func() bool {
			for _, uid := range jobs(k) {
				at, made := c.lives.made[uid]
				if !made {
					return false
				}
				if at.After(last) {
					last = at
				}
			}
			return true
		}); err != nil {
			return nil, err
		}
		seconds = append(seconds, last.Sub(begin).Seconds())
	}
	return seconds, nil
}

// removeAll deletes all objects of a kind, and returns when they are gone.
func (c *cluster) removeAll(ctx context.Context, kind string) error {
	resource := c.resource(kind)
	if err := resource.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	for {
		left, err := resource.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil || len(left.Items) == 0 {
			return err
		}
		if err := program.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// intoSlots has pods take the places of ghosts, one at a time and then all at once, and
// says how many a second do.
func (c *cluster) intoSlots(ctx context.Context, first bool, r *result) (rate float64, err error) {
	object, err := c.resource(v1alpha1.Testbeds).Get(ctx, testbedName, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	total := c.o.single + c.o.pods
	slots := make([]string, total)
	for i := range slots {
		slots[i] = c.slot(i)
	}
	job := &v1alpha1.BatchJob{
		ObjectMeta: metav1.ObjectMeta{Name: "swaps", Namespace: namespace},
		Spec:       v1alpha1.BatchJobSpec{JobSpec: &runtime.RawExtension{Raw: []byte(`{}`)}},
		Status: v1alpha1.BatchJobStatus{State: "Submitted", CreationRequest: &v1alpha1.CreationRequest{
			Testbed: v1alpha1.ObjectReference{Namespace: namespace, Name: testbedName, UID: object.GetUID()}, Slots: slots, Resources: slotSize(), Replication: int32(total), Attempt: 1,
		}},
	}
	if err := c.apply(ctx, v1alpha1.BatchJobs, "BatchJob", job); err != nil {
		return 0, err
	}
	tenant := func(name string) *corev1.Pod {
		pod := plainPod(name)
		pod.Labels = map[string]string{
			labelRole: v1alpha1.RoleSlot, v1alpha1.LabelTestbedUID: string(object.GetUID()),
			v1alpha1.LabelBatchJobUID: string(job.UID), v1alpha1.LabelAttempt: "1",
		}
		pod.Annotations = map[string]string{v1alpha1.AnnotationOptOut: "true"}
		pod.Spec.SchedulerName, pod.Spec.PriorityClassName = v1alpha1.SchedulerName, v1alpha1.PriorityClassSlot
		return pod
	}
	latencies, unguarded, err := c.oneByOne(ctx, tenant, slots[:c.o.single])
	if err != nil {
		return 0, err
	}
	if first {
		r.add(
			row{What: "a pod alone, made to bound in its slot, 99 %", Unit: "s", Value: quantile(latencies, .99), Bar: barSingle},
			row{What: "a slot's resources unguarded meanwhile, 99 %", Unit: "s", Value: quantile(unguarded, .99), Bar: barUnguarded},
		)
	}
	rate, err = c.submit(ctx, c.o.pods, func(i int) *corev1.Pod { return tenant(fmt.Sprintf("swap-%d", i)) })
	fmt.Fprintf(c.progress, "into slots: %.0f pods a second\n", rate)
	return rate, err
}

// oneByOne has a pod after the other take a slot, the lowest first.
func (c *cluster) oneByOne(ctx context.Context, tenant func(string) *corev1.Pod, slots []string) (latencies, unguarded []float64, err error) {
	for i, id := range slots {
		name := fmt.Sprintf("single-%d", i)
		begin := time.Now()
		if _, err := c.client.CoreV1().Pods(namespace).Create(ctx, tenant(name), metav1.CreateOptions{}); err != nil {
			return nil, nil, err
		}
		var bound, gone time.Time
		if err := c.lives.until(ctx, name+" has the place of a ghost", func() bool {
			bound, gone = c.lives.bound[name], c.lives.gone[c.lives.ghosts[id]]
			return !bound.IsZero() && !gone.IsZero()
		}); err != nil {
			return nil, nil, err
		}
		latencies = append(latencies, bound.Sub(begin).Seconds())
		unguarded = append(unguarded, max(bound.Sub(gone).Seconds(), 0))
	}
	return latencies, unguarded, nil
}

// clear removes pods, jobs and the test bed while nobody sees to them.
func (c *cluster) clear(ctx context.Context) error {
	for _, kind := range []string{v1alpha1.Schedulings, v1alpha1.BatchJobs, v1alpha1.Testbeds} {
		all, err := c.resource(kind).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, o := range all.Items {
			patch := []byte(`{"metadata":{"finalizers":null}}`)
			if _, err := c.resource(kind).Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		if err := c.removeAll(ctx, kind); err != nil {
			return err
		}
	}
	return c.remove(ctx, "")
}
