package controller

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

func at(seconds int) metav1.Time {
	return metav1.Time{Time: epoch.Add(time.Duration(seconds) * time.Second)}
}

// newJob returns a BatchJob of a Kubernetes Job in namespace lab.
func newJob(name string) *v1alpha1.BatchJob {
	return &v1alpha1.BatchJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: types.UID("uid-" + name), Generation: 1, CreationTimestamp: at(0)},
		Spec:       v1alpha1.BatchJobSpec{JobSpec: &runtime.RawExtension{Raw: []byte(`{"template":{"spec":{"containers":[{"name":"main"}]}}}`)}},
	}
}

// newTestbed returns one of that many nodes, node-a and on, of two slots.
func newTestbed(nodes int) *v1alpha1.Testbed {
	tb := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "small", UID: "uid-small"}}
	for i := range nodes {
		tb.Status.Nodes = append(tb.Status.Nodes, v1alpha1.TestbedNode{Name: fmt.Sprintf("node-%c", 'a'+i), ID: int32(i), Slots: 2, Wanted: 2})
	}
	return tb
}

// newQueue returns a Scheduling of a queue.
func newQueue(jobs ...string) *v1alpha1.Scheduling {
	s := &v1alpha1.Scheduling{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "first", UID: "uid-first", Generation: 1, CreationTimestamp: at(0), Finalizers: []string{v1alpha1.FinalizerJobs}},
		Spec:       v1alpha1.SchedulingSpec{Testbed: v1alpha1.TestbedReference{Name: "small"}},
	}
	for _, name := range jobs {
		s.Spec.QueueBased = append(s.Spec.QueueBased, v1alpha1.JobReference{Name: name})
	}
	return s
}

// newPlaced returns a Scheduling that names slots: pairs of a job and a list of slots.
func newPlaced(jobs ...v1alpha1.SlotJob) *v1alpha1.Scheduling {
	s := newQueue()
	s.Spec.SlotBased = &v1alpha1.SlotBased{Mode: v1alpha1.Strict, Jobs: jobs}
	return s
}

func slotJob(name string, slots ...any) v1alpha1.SlotJob {
	j := v1alpha1.SlotJob{Name: name}
	for _, s := range slots {
		switch s := s.(type) {
		case int:
			j.Slots = append(j.Slots, v1alpha1.SlotIndex(s))
		case string:
			j.Slots = append(j.Slots, v1alpha1.SlotID(s))
		}
	}
	return j
}

// acquired gives a job to the Scheduling, in a state.
func acquired(job *v1alpha1.BatchJob, state v1alpha1.BatchJobState) *v1alpha1.BatchJob {
	job.Status.State = state
	job.Status.ActiveScheduling = &v1alpha1.ObjectReference{Namespace: "lab", Name: "first", UID: "uid-first"}
	return job
}

// lookup finds jobs by their names.
func lookup(jobs ...*v1alpha1.BatchJob) func(types.NamespacedName) *v1alpha1.BatchJob {
	return func(name types.NamespacedName) *v1alpha1.BatchJob {
		for _, j := range jobs {
			if j.Namespace == name.Namespace && j.Name == name.Name {
				return j
			}
		}
		return nil
	}
}

// slotPod returns a job's pod of an attempt.
func slotPod(job string, attempt, number int) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "lab", Name: fmt.Sprintf("%s-r%d-%d", job, attempt, number), UID: types.UID(fmt.Sprintf("uid-%s-%d-%d", job, attempt, number)),
			Labels: map[string]string{
				v1alpha1.LabelRole: v1alpha1.RoleSlot, v1alpha1.LabelBatchJobUID: "uid-" + job, v1alpha1.LabelAttempt: strconv.Itoa(attempt),
			},
		},
		Spec:   corev1.PodSpec{SchedulerName: v1alpha1.SchedulerName, Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

// bind binds a pod, start starts its containers, end ends them.
func bind(p corev1.Pod, node string, seconds int) corev1.Pod {
	p.Spec.NodeName = node
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(seconds)}}
	return p
}

func start(p corev1.Pod, seconds ...int) corev1.Pod {
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = nil
	for _, s := range seconds {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(s)}}})
	}
	return p
}

func end(p corev1.Pod, phase corev1.PodPhase) corev1.Pod {
	p.Status.Phase = phase
	for i := range p.Status.ContainerStatuses {
		s := &p.Status.ContainerStatuses[i].State
		if s.Running != nil {
			s.Terminated = &corev1.ContainerStateTerminated{StartedAt: s.Running.StartedAt, FinishedAt: at(999)}
			s.Running = nil
		}
	}
	return p
}
