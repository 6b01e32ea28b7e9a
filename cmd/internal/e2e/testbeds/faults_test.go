package testbeds

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// fail makes a job's application fail in the eyes of the jobs' controller.
func fail(s *v1alpha1.BatchJobSpec) {
	text := strings.Replace(string(s.JobSpec.Raw), `{"template"`, `{"activeDeadlineSeconds":1,"template"`, 1)
	s.JobSpec.Raw = []byte(text)
}

// pods edits a job's pods.
func pods(pairs ...string) func(*v1alpha1.BatchJobSpec) {
	return func(s *v1alpha1.BatchJobSpec) {
		s.JobSpec.Raw = []byte(strings.NewReplacer(pairs...).Replace(string(s.JobSpec.Raw)))
	}
}

// nowhere keeps a job's pods from being bound, slow from being started.
func nowhere(s *v1alpha1.BatchJobSpec) {
	pods(`"spec":{`, `"spec":{"nodeSelector":{"example.com/none":"none"},`)(s)
}
func slow(s *v1alpha1.BatchJobSpec) { pods(`startup-seconds":"0.01"`, `startup-seconds":"100000"`)(s) }

var everyWrite = flag.Bool("every-write", false, "kill the controllers after each write of theirs, not after some")

// carries matches writes to a path whose body has the text.
func carries(path, text string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if r.GetBody == nil || !strings.Contains(r.URL.Path, path) {
			return false
		}
		body, err := r.GetBody()
		if err != nil {
			return false
		}
		output, err := io.ReadAll(body)
		return err == nil && bytes.Contains(output, []byte(text))
	}
}

// Whichever write of the controllers is the last before they are killed, the next ones finish the work:
// a job of two slots, from its Scheduling to its release. They are killed after the claim, the creation
// request and the child, and after each fifth write.
func TestControllerKilledBetweenWrites(t *testing.T) {
	r := newRig(t, 2)
	r.schedule(nil)
	steady := r.control(controller.Options{}, nil)
	r.testbed("bed", 1)
	r.waitCounts("bed", 2, 0, 0)
	steady.stop()
	for i, fatal := range []func(*http.Request) bool{
		carries("/testbeds/bed/status", `"claims":[{`), carries("/batchjobs/", `"creationRequest":{`), carries("/jobs", `"template":{`),
	} {
		if !r.killed(fmt.Sprint("named-", i), fatal) {
			t.Errorf("write %d of claim, creation request and child has not been seen", i)
		}
	}
	step := 5
	if *everyWrite {
		step = 1
	}
	n := 1
	for r.killed(fmt.Sprint("job-", n), afterWrites(n)) {
		n += step
	}
	if n < 10 {
		t.Errorf("got everything done in less than %d writes", n)
	}
	r.control(controller.Options{}, nil)
	r.finish()
}

// killed runs a job with controllers that are killed after a write, and then with others, and reports
// whether that write occurred.
func (r *rig) killed(name string, fatal func(*http.Request) bool) bool {
	r.Helper()
	g := newGate(fatal)
	doomed := r.control(controller.Options{}, g)
	r.job(name, "0.05")
	r.queue(name, "bed", []string{name, name})
	r.eventually("done, or killed", func() (bool, any) {
		s := r.getScheduling(name).Status
		return g.isClosed() || s.State == v1alpha1.SchedulingCompleted, s
	})
	if !g.isClosed() { // their writes for its deletion count too
		r.delete(&v1alpha1.Scheduling{}, name)
		r.eventually("released, or killed", func() (bool, any) {
			s := r.getJob(name).Status
			return g.isClosed() || s.State == v1alpha1.BatchJobReady, s
		})
	}
	died := g.isClosed()
	doomed.kill(g)
	next := r.control(controller.Options{}, nil)
	var s v1alpha1.Scheduling
	if err := r.objects.Get(r.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, &s); client.IgnoreNotFound(err) != nil {
		r.Fatal(err)
	} else if err == nil && s.DeletionTimestamp == nil {
		r.waitScheduling(name, v1alpha1.SchedulingCompleted)
		r.delete(&v1alpha1.Scheduling{}, name)
	}
	r.waitJob(name, v1alpha1.BatchJobReady)
	if runs := r.getJob(name).Status.Runs; len(runs) != 1 || runs[0].Outcome != v1alpha1.Succeeded {
		r.Errorf("%s, killed after %s: runs %+v", name, last(g.writes), runs)
	}
	r.delete(&v1alpha1.BatchJob{}, name)
	r.waitCounts("bed", 2, 0, 0)
	r.settle()
	next.stop()
	if r.Failed() {
		r.Fatalf("%s, killed after %v", name, last(g.writes))
	}
	return died
}

func last(writes []string) string {
	if len(writes) == 0 {
		return "none"
	}
	return writes[len(writes)-1]
}

// Two controllers that both lead do no harm, and only work twice: eight jobs of six Schedulings compete
// for four slots.
func TestTwoLeaders(t *testing.T) {
	r := newRig(t, 2)
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 2)
	for i := range 6 {
		var jobs []string
		for j := range 2 {
			name := fmt.Sprintf("job-%d-%d", i, j)
			r.job(name, "0.3")
			jobs = append(jobs, slices.Repeat([]string{name}, 1+(i+j)%3)...)
		}
		r.queue(fmt.Sprint("scheduling-", i), "bed", jobs, func(s *v1alpha1.SchedulingSpec) { s.Priority = int32(i % 2) })
	}
	for i := range 6 {
		r.waitScheduling(fmt.Sprint("scheduling-", i), v1alpha1.SchedulingCompleted)
		for j := range 2 {
			job := r.getJob(fmt.Sprintf("job-%d-%d", i, j))
			if runs := job.Status.Runs; job.Status.State != v1alpha1.BatchJobCompleted || len(runs) != 1 || runs[0].Outcome != v1alpha1.Succeeded || len(runs[0].Slots) != 1+(i+j)%3 {
				t.Errorf("%s is %s: %+v", job.Name, job.Status.State, runs)
			}
		}
	}
	r.waitCounts("bed", 4, 0, 0)
	r.finish()
}

// A scheduler is killed after it deleted a slot's placeholder and before it bound the slot's pod. The
// next one binds it, also if the bind was done without the scheduler's knowledge.
func TestSchedulerKilledInSwap(t *testing.T) {
	r := newRig(t, 1)
	stop := r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 2)
	r.waitCounts("bed", 2, 0, 0)
	stop()
	for _, fatal := range []struct {
		write string
		is    func(*http.Request) bool
	}{
		{"the placeholder's deletion", func(r *http.Request) bool {
			return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/pods/placeholder-")
		}},
		{"the bind", func(r *http.Request) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/binding")
		}},
	} {
		g := newGate(fatal.is)
		stop := r.schedule(g)
		name := "job-" + strings.Fields(fatal.write)[1][:4]
		name = strings.TrimRight(strings.ReplaceAll(name, "'", ""), "-")
		r.job(name, "0.1")
		r.queue(name, "bed", []string{name, name})
		<-g.dead
		stop()
		stop = r.schedule(nil)
		r.waitJob(name, v1alpha1.BatchJobCompleted)
		r.waitCounts("bed", 2, 0, 0)
		if runs := r.getJob(name).Status.Runs; len(runs) != 1 || runs[0].Outcome != v1alpha1.Succeeded {
			t.Errorf("killed at %s: got runs %+v", fatal.write, runs)
		}
		stop()
	}
	r.schedule(nil)
	r.finish()
}

// childOf returns the Job that runs a BatchJob.
func (r *rig) childOf(job string) *batchv1.Job {
	r.Helper()
	application := r.getJob(job).Status.Application
	if application == nil {
		r.Fatalf("%s has no application", job)
	}
	return fetch(r, application.Name, &batchv1.Job{})
}

// A child that is deleted by hand is a failed run: another follows if the job may be retried, otherwise
// it has failed and its slots are free.
func TestChildDeleted(t *testing.T) {
	r := newRig(t, 1)
	r.schedule(nil)
	r.control(controller.Options{}, nil)
	r.testbed("bed", 2)
	r.job("again", forever, retries(1))
	r.job("once", forever)
	r.queue("first", "bed", []string{"again"})
	r.queue("second", "bed", []string{"once"})
	r.waitJob("again", v1alpha1.BatchJobRunning)
	r.waitJob("once", v1alpha1.BatchJobRunning)
	r.delete(&batchv1.Job{}, r.childOf("again").Name)
	r.delete(&batchv1.Job{}, r.childOf("once").Name)
	r.waitJob("once", v1alpha1.BatchJobFailed)
	r.eventually("the other runs again", func() (bool, any) {
		s := r.getJob("again").Status
		return s.State == v1alpha1.BatchJobRunning && len(s.Runs) == 2 && s.Runs[0].Outcome == v1alpha1.Failed && s.Runs[1].Attempt == 2, s
	})
	r.waitScheduling("second", v1alpha1.SchedulingCompleted)
	r.waitCounts("bed", 1, 0, 1)
	r.delete(&batchv1.Job{}, r.childOf("again").Name)
	r.waitJob("again", v1alpha1.BatchJobFailed)
	r.waitCounts("bed", 2, 0, 0)
	r.finish()
}

// quota limits the pods of a priority class. No controller here counts what is freed: the test does,
// with the status in used.
func (r *rig) quota(class, pods, used string) {
	r.Helper()
	hard := corev1.ResourceList{corev1.ResourcePods: resource.MustParse(pods)}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: corev1.ResourceQuotaSpec{
		Hard: hard, ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
			ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{class},
		}}},
	}}
	quotas := r.plain.CoreV1().ResourceQuotas(r.namespace)
	if _, err := quotas.Create(r.Context(), q, metav1.CreateOptions{}); err != nil {
		patch := []byte(`{"spec":{"hard":{"pods":"` + pods + `"}}}`)
		if _, err := quotas.Patch(r.Context(), class, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			r.Fatal(err)
		}
	}
	status := []byte(`{"status":{"hard":{"pods":"` + pods + `"},"used":{"pods":"` + used + `"}}}`)
	if _, err := quotas.Patch(r.Context(), class, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		r.Fatal(err)
	}
	// The API server's admission follows with a delay.
	r.eventually("the quota counts", func() (bool, any) {
		probe := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}, Spec: corev1.PodSpec{
			PriorityClassName: class, Containers: []corev1.Container{{Name: "main", Image: "spazio.invalid/none"}},
		}}
		_, err := r.plain.CoreV1().Pods(r.namespace).Create(r.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return (err == nil) == (pods != used), err
	})
}

// Pods that a quota refuses are retried: of four slots there are two until it is raised, and a job that
// never gets its pods releases its slots in time.
func TestQuotaTooSmall(t *testing.T) {
	r := newRig(t, 2)
	r.schedule(nil)
	r.quota(v1alpha1.PriorityClassPlaceholder, "2", "0")
	r.control(controller.Options{}, nil)
	r.testbed("bed", 2)
	r.eventually("two placeholders stand", func() (bool, any) {
		got := r.standing(v1alpha1.RolePlaceholder)
		return len(got) == 2, got
	})
	r.waitCondition("bed", v1alpha1.TestbedReady, "False", v1alpha1.ReasonWaitingForCapacity, r.testbedConditions("bed"))
	r.quota(v1alpha1.PriorityClassPlaceholder, "100", "2")
	r.waitCounts("bed", 4, 0, 0)

	r.quota(v1alpha1.PriorityClassSlot, "1", "1")
	r.job("job", "0.1", func(s *v1alpha1.BatchJobSpec) { s.SubmitTimeout = &metav1.Duration{Duration: 2 * time.Second} })
	r.queue("first", "bed", []string{"job", "job"})
	r.waitJob("job", v1alpha1.BatchJobFailed)
	r.waitCounts("bed", 4, 0, 0)
	r.quota(v1alpha1.PriorityClassSlot, "100", "0")
	r.delete(&v1alpha1.Scheduling{}, "first")
	r.waitJob("job", v1alpha1.BatchJobReady)
	update(r, "job", &v1alpha1.BatchJob{}, func(j *v1alpha1.BatchJob) { j.Spec.SubmitTimeout = nil }) // a loaded machine may take long
	r.queue("second", "bed", []string{"job", "job"})
	r.waitJob("job", v1alpha1.BatchJobCompleted)
	r.finish()
}
