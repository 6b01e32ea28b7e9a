package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// lab is an API server with the controllers of BatchJobs and Schedulings, and with stand-ins for
// the controllers that grant slots and run Jobs. Tests trigger every step, at the time of the lab's
// clock.
type lab struct {
	t    *testing.T
	now  time.Time
	api  client.WithWatch
	made int
	// writes holds the controllers' writes in order.
	writes []string
	// fail decides the fate of a controller's write; nil lets all succeed.
	fail func(write string) error
	// between is called before a write, unless it is nil.
	between func(write string)
	// trial answers a dry-run creation.
	trial func(*unstructured.Unstructured) error
	// created counts the creations of each child.
	created map[string]int
	// kinds are those that the API server knows.
	kinds *meta.DefaultRESTMapper

	jobs        *batchJobs
	schedulings *schedulings
	recorded    *events.FakeRecorder
	metrics     *metrics
	acting      bool
	noting      sync.Mutex
}

// These are fates of a write: it is not done, or it is done and not answered.
var (
	errBefore = errors.New("cut off before")
	errAfter  = errors.New("cut off after")
)

var flinkKind = schema.GroupVersionKind{Group: "flink.apache.org", Version: "v1beta1", Kind: "FlinkDeployment"}

var sparkKind = schema.GroupVersionKind{Group: "sparkoperator.k8s.io", Version: "v1beta2", Kind: "SparkApplication"}

func newLab(t *testing.T) *lab {
	t.Helper()
	// The fake maps its whole scheme at every write, so it gets no more kinds than it needs.
	scheme := runtime.NewScheme()
	err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), batchv1.AddToScheme(scheme))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []schema.GroupVersionKind{sparkKind, flinkKind} {
		scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	}
	l := &lab{t: t, now: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), created: map[string]int{}, kinds: meta.NewDefaultRESTMapper(nil)}
	l.kinds.Add(batchv1.SchemeGroupVersion.WithKind("Job"), meta.RESTScopeNamespace)
	l.api = labBuilder(scheme).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: l.create, Delete: l.delete,
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				return l.write("patch", o, func() error { return c.Patch(ctx, o, p, opts...) })
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
				return l.write(sub, o, func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
			},
		}).Build()
	l.recorded = events.NewFakeRecorder(10000)
	if l.metrics, err = newMetrics(nil); err != nil {
		t.Fatal(err)
	}
	l.restart()
	return l
}

// labBuilder returns a client builder with the indexes of a cache.
func labBuilder(scheme *runtime.Scheme) *fake.ClientBuilder {
	return fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&v1alpha1.Testbed{}, &v1alpha1.Scheduling{}, &v1alpha1.BatchJob{}).
		WithIndex(&v1alpha1.Scheduling{}, schedulingTestbed, indexTestbed).
		WithIndex(&v1alpha1.Scheduling{}, schedulingJob, indexJobs).
		WithIndex(&v1alpha1.BatchJob{}, jobScheduling, indexScheduling).
		WithIndex(&v1alpha1.BatchJob{}, jobUID, indexUID).
		WithIndex(&v1alpha1.Testbed{}, testbedClaim, indexClaims).
		WithIndex(&corev1.Pod{}, podBatchJob, indexBatchJob)
}

// restart makes the controllers forget everything.
func (l *lab) restart() {
	quiet := slog.New(slog.DiscardHandler)
	now := func() time.Time { return l.now }
	l.jobs = newBatchJobs(l.api, l.api, l.api, l.kinds, l.recorded, l.metrics, quiet)
	l.jobs.now, l.jobs.children = now, &children{mapper: l.kinds, follow: func(*unstructured.Unstructured) error { return nil }}
	l.schedulings = &schedulings{client: l.api, cached: l.api, live: l.api, trial: trial{l.api, l.kinds}, recorder: l.recorded, metrics: l.metrics, logger: quiet, now: now}
}

func kindOf(o client.Object) string {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u.GetKind()
	}
	kind := fmt.Sprintf("%T", o)
	return kind[strings.LastIndex(kind, ".")+1:]
}

func (l *lab) write(verb string, o client.Object, do func() error) error {
	if !l.acting {
		return do()
	}
	fate := l.fate(verb + " " + kindOf(o) + " " + o.GetName())
	if fate != nil && !errors.Is(fate, errAfter) {
		return fate
	}
	if err := do(); err != nil {
		return err
	}
	return fate
}

// fate records a write and decides its fate. Some writes are concurrent.
func (l *lab) fate(write string) error {
	if l.between != nil {
		l.between(write)
	}
	l.noting.Lock()
	defer l.noting.Unlock()
	l.writes = append(l.writes, write)
	if l.fail == nil {
		return nil
	}
	return l.fail(write)
}

func (l *lab) create(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	var options client.CreateOptions
	options.ApplyOptions(opts)
	u, isChild := o.(*unstructured.Unstructured)
	if len(options.DryRun) > 0 {
		if options.FieldValidation != metav1.FieldValidationStrict {
			l.t.Error("a trial is not strict about fields")
		}
		if l.trial != nil {
			return l.trial(u)
		}
		return nil
	}
	return l.write("create", o, func() error {
		if o.GetUID() == "" {
			l.made++
			o.SetUID(types.UID(fmt.Sprintf("uid-%d", l.made)))
		}
		o.SetCreationTimestamp(metav1.Time{Time: l.now})
		if err := c.Create(ctx, o); err != nil {
			return err
		}
		if isChild && l.acting {
			l.created[o.GetName()]++
		}
		return nil
	})
}

func (l *lab) delete(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
	return l.write("delete", o, func() error {
		var options client.DeleteOptions
		options.ApplyOptions(opts)
		if l.acting && (options.Preconditions == nil || options.Preconditions.UID == nil) {
			l.t.Errorf("%s %s is deleted whatever its UID", kindOf(o), o.GetName())
		} else if l.acting {
			there, _ := o.DeepCopyObject().(client.Object)
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), there); err != nil {
				return err
			}
			if there.GetUID() != *options.Preconditions.UID {
				return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), errors.New("another UID"))
			}
		}
		return c.Delete(ctx, o)
	})
}

// put creates an object with its status, as another client would.
func put[T client.Object](l *lab, o T) T {
	l.t.Helper()
	status, _ := o.DeepCopyObject().(client.Object)
	if o.GetNamespace() == "" {
		o.SetNamespace("lab")
	}
	o.SetGeneration(1)
	l.must(l.api.Create(l.t.Context(), o))
	switch status := status.(type) {
	case *v1alpha1.Testbed:
		status.ObjectMeta = *any(o).(*v1alpha1.Testbed).ObjectMeta.DeepCopy()
		l.must(l.api.Status().Update(l.t.Context(), status))
	case *v1alpha1.BatchJob:
		status.ObjectMeta = *any(o).(*v1alpha1.BatchJob).ObjectMeta.DeepCopy()
		l.must(l.api.Status().Update(l.t.Context(), status))
	}
	return o
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// get reads an object of namespace lab; nil if there is none.
func get[T any, P interface {
	*T
	client.Object
}](l *lab, name string) P {
	l.t.Helper()
	o := P(new(T))
	err := l.api.Get(l.t.Context(), types.NamespacedName{Namespace: "lab", Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	l.must(err)
	return o
}

func (l *lab) job(name string) *v1alpha1.BatchJob          { return get[v1alpha1.BatchJob](l, name) }
func (l *lab) scheduling(name string) *v1alpha1.Scheduling { return get[v1alpha1.Scheduling](l, name) }
func (l *lab) testbed() *v1alpha1.Testbed                  { return get[v1alpha1.Testbed](l, "small") }

// amend changes an object, as another client would.
func amend[T any, P interface {
	*T
	client.Object
}](l *lab, name string, change func(P)) {
	l.t.Helper()
	o := get[T, P](l, name)
	change(o)
	o.SetGeneration(o.GetGeneration() + 1)
	l.must(l.api.Update(l.t.Context(), o))
}

// remove deletes an object, as another client would.
func remove[T any, P interface {
	*T
	client.Object
}](l *lab, name string) {
	l.t.Helper()
	l.must(client.IgnoreNotFound(l.api.Delete(l.t.Context(), get[T, P](l, name))))
}

// withTestbed creates a Testbed of that many nodes of two slots.
func (l *lab) withTestbed(nodes int) *lab {
	tb := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: "small"}}
	for i := range nodes {
		tb.Status.Nodes = append(tb.Status.Nodes, v1alpha1.TestbedNode{Name: fmt.Sprintf("n%d", i), ID: int32(i), Slots: 2, Wanted: 2})
	}
	put(l, tb)
	return l
}

func (l *lab) withJobs(names ...string) *lab {
	for _, name := range names {
		put(l, &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.BatchJobSpec{
			JobSpec: &runtime.RawExtension{Raw: []byte(`{"template":{"spec":{"containers":[{"name":"main","image":"x"}]}}}`)},
		}})
	}
	return l
}

// withQueue creates a Scheduling that queues jobs.
func (l *lab) withQueue(name string, jobs ...string) *lab {
	s := &v1alpha1.Scheduling{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SchedulingSpec{Testbed: v1alpha1.TestbedReference{Name: "small"}}}
	for _, job := range jobs {
		s.Spec.QueueBased = append(s.Spec.QueueBased, v1alpha1.JobReference{Name: job})
	}
	put(l, s)
	return l
}

// act reconciles an object, and returns when it is due again.
func (l *lab) act(r reconcile.Reconciler, name string) (time.Duration, error) {
	l.acting = true
	defer func() { l.acting = false }()
	result, err := r.Reconcile(l.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "lab", Name: name}})
	return result.RequeueAfter, err
}

// lost reports whether a write was cut off, so that its caller crashed.
func lost(err error) bool { return errors.Is(err, errBefore) || errors.Is(err, errAfter) }

// look reconciles every object once; a controller that was cut off restarts. It returns the next
// time that an object is due.
func (l *lab) look() time.Time {
	l.t.Helper()
	var next time.Time
	one := func(r reconcile.Reconciler, name string) {
		after, err := l.act(r, name)
		switch {
		case lost(err):
			l.restart()
			after = time.Nanosecond
		case err != nil && !apierrors.IsConflict(err):
			l.t.Logf("%s: %v", name, err)
		}
		if at := l.now.Add(after); after > 0 && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	var schedulings v1alpha1.SchedulingList
	l.must(l.api.List(l.t.Context(), &schedulings))
	for i := range schedulings.Items {
		one(l.schedulings, schedulings.Items[i].Name)
	}
	var jobs v1alpha1.BatchJobList
	l.must(l.api.List(l.t.Context(), &jobs))
	for i := range jobs.Items {
		one(l.jobs, jobs.Items[i].Name)
	}
	return next
}

// grant grants slots, as the controller of Testbeds does.
func (l *lab) grant() {
	l.t.Helper()
	var testbeds v1alpha1.TestbedList
	l.must(l.api.List(l.t.Context(), &testbeds))
	for i := range testbeds.Items {
		l.grantOf(&testbeds.Items[i])
	}
}

func (l *lab) grantOf(tb *v1alpha1.Testbed) {
	l.t.Helper()
	claims, err := parseClaims(tb.Status.Claims)
	l.must(err)
	table := &claim.Table{Claims: claims, ExclusiveFor: string(tb.Status.ExclusiveFor)}
	order, err := presentOrder(tb)
	l.must(err)
	from := l.jobs.cached // the granting controller may lag
	var schedulings v1alpha1.SchedulingList
	l.must(from.List(l.t.Context(), &schedulings))
	var all []claim.Scheduling
	for i := range schedulings.Items {
		s := &schedulings.Items[i]
		if s.TestbedKey() != client.ObjectKeyFromObject(tb) {
			continue
		}
		c, ok, err := claimableNow(s, tb, func(name types.NamespacedName) *v1alpha1.BatchJob {
			job := &v1alpha1.BatchJob{}
			if from.Get(l.t.Context(), name, job) != nil {
				return nil
			}
			return job
		}, l.now)
		l.must(err)
		if ok {
			all = append(all, c)
		}
	}
	granted, err := table.Grant(all, order.Slots(), order.Slots(), l.now)
	l.must(err)
	if len(granted) > 0 {
		tb.Status.Claims, tb.Status.ExclusiveFor = claimsToStore(table.Claims), types.UID(table.ExclusiveFor)
		l.must(l.api.Status().Update(l.t.Context(), tb))
	}
}

// children returns the present Jobs.
func (l *lab) children() []batchv1.Job {
	l.t.Helper()
	var jobs batchv1.JobList
	l.must(l.api.List(l.t.Context(), &jobs))
	return jobs.Items
}

// pods returns those of a child, or all.
func (l *lab) pods(child string) []corev1.Pod {
	l.t.Helper()
	var pods corev1.PodList
	l.must(l.api.List(l.t.Context(), &pods))
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return child != "" && !strings.HasPrefix(p.Name, child+"-") })
}

// runPods creates the pods of Jobs in their requested slots, and starts them.
func (l *lab) runPods() {
	l.t.Helper()
	for _, child := range l.children() {
		if child.DeletionTimestamp != nil || len(child.OwnerReferences) == 0 || ended(&child) || len(l.pods(child.Name)) > 0 {
			continue
		}
		owner := l.job(child.OwnerReferences[0].Name)
		if owner == nil || owner.UID != child.OwnerReferences[0].UID || owner.Status.CreationRequest == nil ||
			child.Spec.Template.Labels[v1alpha1.LabelAttempt] != fmt.Sprint(owner.Status.CreationRequest.Attempt) {
			continue // its pods are never placed
		}
		for i, id := range owner.Status.CreationRequest.Slots {
			at, err := slot.ParseID(id)
			l.must(err)
			put(l, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("%s-%d", child.Name, i), Labels: child.Spec.Template.Labels, Annotations: map[string]string{v1alpha1.AnnotationSlot: id},
				},
				Spec: corev1.PodSpec{NodeName: at.Node, Containers: []corev1.Container{{Name: "main"}}},
				Status: corev1.PodStatus{
					Phase:             corev1.PodRunning,
					Conditions:        []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: l.now}}},
					ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: l.now}}}}},
				},
			})
		}
		child.Status.Active = int32(len(owner.Status.CreationRequest.Slots))
		l.must(l.api.Status().Update(l.t.Context(), &child))
	}
}

func ended(child *batchv1.Job) bool { return len(child.Status.Conditions) > 0 }

// finish ends a child and its pods.
func (l *lab) finish(name string, how batchv1.JobConditionType) {
	l.t.Helper()
	child := get[batchv1.Job](l, name)
	phase := corev1.PodSucceeded
	if how == batchv1.JobFailed {
		phase = corev1.PodFailed
	}
	for _, pod := range l.pods(name) {
		pod.Status.Phase = phase
		l.must(l.api.Status().Update(l.t.Context(), &pod))
	}
	child.Status.Active = 0
	child.Status.Conditions = []batchv1.JobCondition{{Type: how, Status: corev1.ConditionTrue, Reason: "Because", LastTransitionTime: metav1.Time{Time: l.now}}}
	l.must(l.api.Status().Update(l.t.Context(), child))
}

// settle lets all controllers, but no application, act until nothing changes any more.
func (l *lab) settle() {
	l.t.Helper()
	for range 60 {
		before := l.state()
		next := l.look()
		l.grant()
		l.runPods()
		if l.state() != before {
			continue
		}
		if next.IsZero() || next.Sub(l.now) > time.Second {
			return
		}
		l.now = next
	}
	l.t.Fatalf("it never settles; the last writes are %v", l.writes[max(0, len(l.writes)-20):])
}

// state formats the objects of the API server.
func (l *lab) state() string {
	l.t.Helper()
	var text strings.Builder
	for _, list := range []client.ObjectList{&v1alpha1.TestbedList{}, &v1alpha1.BatchJobList{}, &v1alpha1.SchedulingList{}, &batchv1.JobList{}, &corev1.PodList{}} {
		l.must(l.api.List(l.t.Context(), list))
		l.must(meta.EachListItem(list, func(o runtime.Object) error {
			a, err := meta.Accessor(o)
			fmt.Fprintf(&text, "%T %s/%s %s\n", o, a.GetNamespace(), a.GetName(), a.GetResourceVersion())
			return err
		}))
	}
	return text.String()
}

// events returns the events since the last call.
func (l *lab) events() []string {
	var all []string
	for {
		select {
		case e := <-l.recorded.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}
