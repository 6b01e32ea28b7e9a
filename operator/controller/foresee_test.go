package controller

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// foresee returns the problems that a trial finds in a queue of the jobs.
func (l *lab) foresee(live client.Reader, jobs ...string) Foreseen {
	l.t.Helper()
	s := &v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{Name: "trial", Namespace: "lab"}, Spec: v1alpha1.SchedulingSpec{Testbed: v1alpha1.TestbedReference{Name: "small"}}}
	for _, job := range jobs {
		s.Spec.QueueBased = append(s.Spec.QueueBased, v1alpha1.JobReference{Name: job})
	}
	before := l.state()
	found, err := Foresee(l.t.Context(), Question{
		Scheduling: s, Cached: l.api, Live: live, Client: l.api, Mapper: l.kinds, Now: l.now,
		Slots: func(tb *v1alpha1.Testbed) (*slot.Order, []slot.ID, error) {
			order, err := presentOrder(tb)
			return order, order.Slots(), err
		},
		Sees: func(client.Object) (bool, error) { return true, nil },
	})
	l.must(err)
	if l.state() != before {
		l.t.Error("a question has written something")
	}
	return found
}

const sparkPi = `{"type":"Scala"}`

func (l *lab) withSpark(name string) *lab {
	put(l, &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.BatchJobSpec{SparkSpec: &runtime.RawExtension{Raw: []byte(sparkPi)}}})
	return l
}

// A trial and the Scheduling itself name the same job with the same reason, whether or not the job
// was tried before.
func TestForeseenIsWhatComes(t *testing.T) {
	for name, test := range map[string]struct {
		job, reason, says string
		prepare           func(*lab)
	}{
		"no operator": {"spark", v1alpha1.ReasonOperatorMissing, "SparkApplication", func(*lab) {}},
		"two cores in a slot of 900m": {"large", v1alpha1.ReasonSlotTooSmall, "cpu 2", func(l *lab) {
			amend(l, "large", func(j *v1alpha1.BatchJob) {
				j.Spec.JobSpec.Raw = []byte(`{"template":{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"2"}}}]}}}`)
			})
		}},
		"in an init container": {"large", v1alpha1.ReasonSlotTooSmall, "memory 2Gi", func(l *lab) {
			amend(l, "large", func(j *v1alpha1.BatchJob) {
				j.Spec.JobSpec.Raw = []byte(`{"template":{"spec":{"initContainers":[{"name":"i","resources":{"limits":{"memory":"2Gi"}}}],"containers":[{"name":"main"}]}}}`)
			})
		}},
		"a field that there is not": {"large", v1alpha1.ReasonInvalidApplication, "tmplate", func(l *lab) {
			l.trial = func(u *unstructured.Unstructured) error {
				if strings.HasPrefix(u.GetName(), "large") {
					return apierrors.NewBadRequest(`unknown field "spec.tmplate"`)
				}
				return nil
			}
		}},
		"a slot that is too small for a JVM": {"spark", v1alpha1.ReasonSlotTooSmall, "450", func(l *lab) {
			l.kinds.Add(sparkKind, meta.RESTScopeNamespace)
		}},
	} {
		for _, tried := range []bool{false, true} {
			l := newLab(t).withTestbed(2).withJobs("fine", "large").withSpark("spark")
			amend(l, "small", func(tb *v1alpha1.Testbed) {
				tb.Spec.ResourcesPerSlot = corev1.ResourceList{"cpu": resource.MustParse("900m"), "memory": resource.MustParse("512Mi")}
			})
			test.prepare(l)
			if tried {
				l.settle()
			}
			found := l.foresee(l.api, "fine", test.job)
			refused := found.Jobs[1].Refused
			if refused.Reason != test.reason || !strings.Contains(refused.Message, test.says) || found.Jobs[1].Now || !found.Jobs[0].Refused.OK() || !found.Jobs[0].Now {
				t.Errorf("%s, tried %v: %+v", name, tried, found)
			}
			l.withQueue("s", "fine", test.job).settle()
			valid := meta.FindStatusCondition(l.job(test.job).Status.Conditions, v1alpha1.BatchJobValid)
			if valid.Reason != refused.Reason || valid.Message != refused.Message {
				t.Errorf("%s, tried %v: foreseen is %+v, and it came to %+v", name, tried, refused, valid)
			}
		}
	}
}

// withoutSpark is an API server from which Spark's operator was removed.
type withoutSpark struct{ client.Reader }

// List implements client.Reader.
func (r withoutSpark) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if list.GetObjectKind().GroupVersionKind().Group == sparkKind.Group {
		return apierrors.NewNotFound(schema.GroupResource{Group: sparkKind.Group}, "")
	}
	return r.Reader.List(ctx, list, opts...)
}

// An operator that was removed after the job was accepted is reported although the mapper still
// knows its kind.
func TestForeseenWithoutRemovedOperator(t *testing.T) {
	l := newLab(t).withTestbed(1).withSpark("spark")
	l.kinds.Add(sparkKind, meta.RESTScopeNamespace)
	l.settle()
	if found := l.foresee(l.api, "spark"); !found.Jobs[0].Refused.OK() || !found.Jobs[0].Now {
		t.Errorf("while it is there: %+v", found)
	}
	if found := l.foresee(withoutSpark{l.api}, "spark"); found.Jobs[0].Refused.Reason != v1alpha1.ReasonOperatorMissing || found.Jobs[0].Now {
		t.Errorf("%+v", found)
	}
}

// A missing operator is reported although no Scheduling wants the job, and no more once it is
// installed.
func TestMissingOperatorOfIdleJob(t *testing.T) {
	l := newLab(t).withTestbed(1).withSpark("a")
	l.settle()
	valid := func() *metav1.Condition {
		return meta.FindStatusCondition(l.job("a").Status.Conditions, v1alpha1.BatchJobValid)
	}
	if c := valid(); c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonOperatorMissing {
		t.Fatalf("%+v", c)
	}
	if told := l.events(); !slices.ContainsFunc(told, func(e string) bool { return strings.HasPrefix(e, "Warning OperatorMissing") }) {
		t.Errorf("told is %q", told)
	}
	after, err := l.act(l.jobs, "a")
	if err != nil || after <= 0 || after > idleOperatorPoll {
		t.Fatalf("it is looked at again after %v, %v", after, err)
	}
	l.kinds.Add(sparkKind, meta.RESTScopeNamespace)
	l.now = l.now.Add(after)
	l.settle()
	if c := valid(); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("the operator is there: %+v", c)
	}
	if after, err := l.act(l.jobs, "a"); after != 0 || err != nil {
		t.Errorf("a job that waits for nothing is looked at after %v, %v", after, err)
	}
}
