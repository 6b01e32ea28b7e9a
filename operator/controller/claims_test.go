package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// bedOf returns a Testbed with claims of jobs, each SCHEDULING/JOB with one slot.
func bedOf(jobs ...string) *v1alpha1.Testbed {
	tb := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "small"}}
	for i, name := range jobs {
		tb.Status.Claims = append(tb.Status.Claims, v1alpha1.Claim{
			BatchJobUID: types.UID(name), BatchJob: "lab/" + name[2:], SchedulingUID: types.UID(name[:1]), Scheduling: "lab/" + name[:1],
			Slots: []string{fmt.Sprintf("n%d/0", i)},
		})
	}
	return tb
}

// Jobs are reconciled in the order of their grants, so that a Scheduling does not wait for other
// jobs behind its own; jobs whose claims are unchanged are left out.
func TestClaimsAreFollowedInOrder(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after *v1alpha1.Testbed
		want          []string
	}{
		"granted": {
			bedOf("z/old", "z/gone"), bedOf("z/old", "b/j7", "b/j2", "b/j9", "a/j1", "a/j8", "a/j3", "c/j6", "c/j5", "c/j4"),
			[]string{"j7", "j2", "j9", "j1", "j8", "j3", "j6", "j5", "j4", "gone"},
		},
		"made":    {nil, bedOf("b/j1", "a/j2", "a/j0", "c/j3", "c/j9", "c/j4"), []string{"j1", "j2", "j0", "j3", "j9", "j4"}},
		"nothing": {bedOf("a/j1", "a/j2"), bedOf("a/j1", "a/j2"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer q.ShutDown()
			handler := onChange((&batchJobs{}).claimsChanged)
			if tt.before == nil {
				handler.Create(t.Context(), event.CreateEvent{Object: tt.after}, q)
			} else {
				handler.Update(t.Context(), event.UpdateEvent{ObjectOld: tt.before, ObjectNew: tt.after}, q)
			}
			var got []string
			for q.Len() > 0 {
				request, _ := q.Get()
				got = append(got, request.Name)
				q.Done(request)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("looked at (-want +got):\n%s", diff)
			}
		})
	}
}
