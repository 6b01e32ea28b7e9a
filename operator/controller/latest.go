package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// reader is where a job's controller reads. What it returns is not to be modified.
type reader interface {
	client.Reader
	// live says that it is the API server's own answer.
	live() bool
	testbed(ctx context.Context, name types.NamespacedName) (*v1alpha1.Testbed, error)
	scheduling(ctx context.Context, name types.NamespacedName) (*v1alpha1.Scheduling, error)
	// podsOf returns the pods with the label of the job.
	podsOf(ctx context.Context, job *v1alpha1.BatchJob) ([]corev1.Pod, error)
}

// stored reads from a cache with the indexes. Safe for concurrent use.
type stored struct{ client.Reader }

func (stored) live() bool { return false }

func (c stored) testbed(ctx context.Context, name types.NamespacedName) (*v1alpha1.Testbed, error) {
	tb := &v1alpha1.Testbed{}
	return tb, c.Get(ctx, name, tb, client.UnsafeDisableDeepCopy)
}

func (c stored) scheduling(ctx context.Context, name types.NamespacedName) (*v1alpha1.Scheduling, error) {
	s := &v1alpha1.Scheduling{}
	return s, c.Get(ctx, name, s, client.UnsafeDisableDeepCopy)
}

func (c stored) podsOf(ctx context.Context, job *v1alpha1.BatchJob) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingFields{podBatchJob: string(job.UID)}, client.UnsafeDisableDeepCopy)
	return pods.Items, err
}

// latest reads from the API server. What many jobs look at when one thing happens, their
// Testbed, their Scheduling and the pods of their namespace, is read together for all
// that ask at once: a Testbed is long, and of a namespace's pods most are none of a job's.
// Safe for concurrent use.
type latest struct {
	client.Reader
	testbeds    joint[types.NamespacedName, struct{}, *v1alpha1.Testbed]
	versions    joint[types.NamespacedName, struct{}, *metav1.PartialObjectMetadata]
	schedulings joint[types.NamespacedName, struct{}, *v1alpha1.Scheduling]
	pods        joint[string, types.UID, map[types.UID][]corev1.Pod]
	// heard is what it has said of Testbeds lately.
	heard *answers
}

func newLatest(from client.Reader) *latest {
	l := &latest{Reader: from, heard: &answers{}}
	l.testbeds.do = func(ctx context.Context, name types.NamespacedName, _ []struct{}) (*v1alpha1.Testbed, error) {
		tb := &v1alpha1.Testbed{}
		return tb, from.Get(ctx, name, tb)
	}
	l.versions.do = func(ctx context.Context, name types.NamespacedName, _ []struct{}) (*metav1.PartialObjectMetadata, error) {
		of := &metav1.PartialObjectMetadata{}
		of.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Testbed"))
		return of, from.Get(ctx, name, of)
	}
	l.schedulings.do = func(ctx context.Context, name types.NamespacedName, _ []struct{}) (*v1alpha1.Scheduling, error) {
		s := &v1alpha1.Scheduling{}
		return s, from.Get(ctx, name, s)
	}
	l.pods.do = l.listPods
	return l
}

func (*latest) live() bool { return true }

func (l *latest) testbed(ctx context.Context, name types.NamespacedName) (*v1alpha1.Testbed, error) {
	tb, err := l.testbeds.ask(ctx, name, struct{}{})
	if err == nil {
		l.heard.note(tb, time.Time{}) // what was said before counts no more
	}
	return tb, err
}

// confirmed returns the Testbed as the API server has it: the one given, of a cache, if it
// is that, or was a moment ago. A Testbed is long, and its version is not.
func (l *latest) confirmed(ctx context.Context, tb *v1alpha1.Testbed, now time.Time) (*v1alpha1.Testbed, error) {
	name := client.ObjectKeyFromObject(tb)
	if l.heard.lately(tb, now) {
		return tb, nil
	}
	switch is, err := l.versions.ask(ctx, name, struct{}{}); {
	case err != nil:
		l.heard.forget(name)
		return nil, err
	case is.UID == tb.UID && is.ResourceVersion == tb.ResourceVersion:
		l.heard.note(is, now)
		return tb, nil
	}
	return l.testbed(ctx, name)
}

func (l *latest) scheduling(ctx context.Context, name types.NamespacedName) (*v1alpha1.Scheduling, error) {
	return l.schedulings.ask(ctx, name, struct{}{})
}

func (l *latest) podsOf(ctx context.Context, job *v1alpha1.BatchJob) ([]corev1.Pod, error) {
	pods, err := l.pods.ask(ctx, job.Namespace, job.UID)
	return pods[job.UID], err
}

// listPods lists the pods with the labels of jobs.
func (l *latest) listPods(ctx context.Context, namespace string, jobs []types.UID) (map[types.UID][]corev1.Pod, error) {
	values := make([]string, len(jobs))
	for i, uid := range jobs {
		values[i] = string(uid)
	}
	of, err := labels.NewRequirement(v1alpha1.LabelBatchJobUID, selection.In, values)
	if err != nil {
		return nil, err
	}
	role, err := labels.NewRequirement(v1alpha1.LabelRole, selection.Equals, []string{v1alpha1.RoleSlot})
	if err != nil {
		return nil, err
	}
	var list corev1.PodList
	if err := l.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*role, *of)}); err != nil {
		return nil, err
	}
	pods := make(map[types.UID][]corev1.Pod)
	for i := range list.Items {
		uid := types.UID(list.Items[i].Labels[v1alpha1.LabelBatchJobUID])
		pods[uid] = append(pods[uid], list.Items[i])
	}
	return pods, nil
}
