package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// bed is an API server without other controllers, and a clock that tests advance.
type bed struct {
	t      *testing.T
	now    time.Time
	api    client.WithWatch
	made   int
	writes map[string]int
	// changes counts writes; bound is the change up to which placeholders are bound.
	changes, bound int
	fault          func(verb string, o client.Object) error
	options        Options
	// after is called with each completed write.
	after func(verb string, o client.Object)
}

func newBed(t *testing.T) *bed {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{
		t: t, now: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), writes: map[string]int{},
		fault: func(string, client.Object) error { return nil }, after: func(string, client.Object) {},
	}
	b.api = fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&v1alpha1.Testbed{}, &v1alpha1.Scheduling{}, &v1alpha1.BatchJob{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				return b.write("create", o, func() error {
					b.made++
					o.SetUID(types.UID(fmt.Sprintf("%08x-0000", b.made)))
					o.SetGeneration(1)
					o.SetCreationTimestamp(metav1.NewTime(b.now.Truncate(time.Second)))
					return c.Create(ctx, o, opts...)
				})
			},
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				return b.write("update", o, func() error { return c.Update(ctx, o, opts...) })
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				return b.write("delete", o, func() error {
					var options client.DeleteOptions
					options.ApplyOptions(opts)
					if p := options.Preconditions; p != nil && p.UID != nil {
						there := o.DeepCopyObject().(client.Object)
						if err := c.Get(ctx, client.ObjectKeyFromObject(o), there); err != nil {
							return err
						}
						if there.GetUID() != *p.UID {
							return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, o.GetName(), errors.New("another UID"))
						}
						options.Preconditions = nil
					}
					return c.Delete(ctx, o, &options)
				})
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
				return b.write(sub, o, func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
			},
		}).Build()
	return b
}

// errLost is the error of a write that was done, but whose answer did not arrive.
var errLost = errors.New("the connection was lost")

// write counts a write, or makes it fail.
func (b *bed) write(verb string, o client.Object, do func() error) error {
	err := b.fault(verb, o)
	if err != nil && !errors.Is(err, errLost) {
		return err
	}
	if did := do(); did != nil {
		return did
	}
	b.changes++
	b.writes[verb+" "+reflect.TypeOf(o).Elem().Name()]++
	b.after(verb, o)
	return err
}

// total returns the number of writes.
func (b *bed) total() int {
	n := 0
	for _, of := range b.writes {
		n += of
	}
	return n
}

// all returns the objects of a kind, in order.
func all[T client.Object, L client.ObjectList](b *bed, list L, items func(L) []T) []T {
	b.t.Helper()
	if err := b.api.List(b.t.Context(), list); err != nil {
		b.t.Fatal(err)
	}
	return items(list)
}

func pointers[T any, P interface {
	*T
	client.Object
}](items []T) []P {
	out := make([]P, len(items))
	for i := range items {
		out[i] = P(&items[i])
	}
	return out
}

func (b *bed) pods() []*corev1.Pod {
	return all(b, &corev1.PodList{}, func(l *corev1.PodList) []*corev1.Pod { return pointers(l.Items) })
}

func (b *bed) testbeds() []*v1alpha1.Testbed {
	return all(b, &v1alpha1.TestbedList{}, func(l *v1alpha1.TestbedList) []*v1alpha1.Testbed { return pointers(l.Items) })
}

func (b *bed) nodes() []*corev1.Node {
	return all(b, &corev1.NodeList{}, func(l *corev1.NodeList) []*corev1.Node { return pointers(l.Items) })
}

func (b *bed) jobs() []*v1alpha1.BatchJob {
	return all(b, &v1alpha1.BatchJobList{}, func(l *v1alpha1.BatchJobList) []*v1alpha1.BatchJob { return pointers(l.Items) })
}

func (b *bed) schedulings() []*v1alpha1.Scheduling {
	return all(b, &v1alpha1.SchedulingList{}, func(l *v1alpha1.SchedulingList) []*v1alpha1.Scheduling { return pointers(l.Items) })
}

// everything returns all objects that controllers watch.
func (b *bed) everything() map[objectKey]client.Object {
	out := map[objectKey]client.Object{}
	add := func(o client.Object) { out[keyOfObject(o)] = o }
	for _, o := range b.nodes() {
		add(o)
	}
	for _, o := range b.testbeds() {
		add(o)
	}
	for _, o := range b.jobs() {
		add(o)
	}
	for _, o := range b.schedulings() {
		add(o)
	}
	for _, o := range b.pods() {
		if inSlots(o) {
			add(o)
		}
	}
	return out
}

type objectKey struct {
	kind string
	types.NamespacedName
}

func keyOfObject(o client.Object) objectKey {
	return objectKey{reflect.TypeOf(o).Elem().Name(), client.ObjectKeyFromObject(o)}
}

func (b *bed) create(o client.Object) {
	b.t.Helper()
	if err := b.api.Create(b.t.Context(), o); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) delete(o client.Object) {
	b.t.Helper()
	if err := b.api.Delete(b.t.Context(), o); client.IgnoreNotFound(err) != nil {
		b.t.Fatal(err)
	}
}

// edit changes the present object and its generation.
func edit[T client.Object](b *bed, o T, change func(T)) {
	b.t.Helper()
	if err := b.api.Get(b.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		b.t.Fatal(err)
	}
	change(o)
	o.SetGeneration(o.GetGeneration() + 1)
	if err := b.api.Update(b.t.Context(), o); err != nil {
		b.t.Fatal(err)
	}
}

// status changes an object's status.
func status[T client.Object](b *bed, o T, change func(T)) {
	b.t.Helper()
	if err := b.api.Get(b.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		b.t.Fatal(err)
	}
	change(o)
	if err := b.api.Status().Update(b.t.Context(), o); err != nil {
		b.t.Fatal(err)
	}
}

const nodeLabel = "slots"

func (b *bed) node(name, label string) *corev1.Node {
	b.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{nodeLabel: label}}}
	b.create(n)
	return n
}

func (b *bed) testbed(name string, slotsPerNode int, change ...func(*v1alpha1.Testbed)) *v1alpha1.Testbed {
	b.t.Helper()
	tb := &v1alpha1.Testbed{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name},
		Spec: v1alpha1.TestbedSpec{
			NodeLabel: nodeLabel, SlotsPerNode: intstr.FromInt(slotsPerNode), MaxSlots: slot.MaxSlots,
			ResourcesPerSlot: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("700m")},
		},
	}
	for _, c := range change {
		c(tb)
	}
	b.create(tb)
	return tb
}

// job returns a BatchJob; scheduling returns one that wants that many slots for each job.
func (b *bed) job(name string) *v1alpha1.BatchJob {
	b.t.Helper()
	j := &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name}}
	b.create(j)
	return j
}

func (b *bed) scheduling(tb *v1alpha1.Testbed, name string, jobs ...string) *v1alpha1.Scheduling {
	b.t.Helper()
	s := &v1alpha1.Scheduling{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name},
		Spec:       v1alpha1.SchedulingSpec{Testbed: v1alpha1.TestbedReference{Namespace: tb.Namespace, Name: tb.Name}},
	}
	for _, job := range jobs {
		s.Spec.QueueBased = append(s.Spec.QueueBased, v1alpha1.JobReference{Name: job})
	}
	b.create(s)
	return s
}

// done holds the states of jobs that want no slots any more.
const done = v1alpha1.BatchJobCompleted

// wants returns what a Scheduling of these tests wants: slots for those of its jobs that exist,
// have none, and are not done.
func wants(s *v1alpha1.Scheduling, _ *v1alpha1.Testbed, _ *slot.Order, jobs func(types.NamespacedName) *v1alpha1.BatchJob, _ time.Time) (claim.Scheduling, bool, error) {
	c := claim.Scheduling{
		Precedence: claim.Precedence{Priority: s.Spec.Priority, Created: s.CreationTimestamp.Time, Name: testbed.Name{Namespace: s.Namespace, Name: s.Name}},
		UID:        string(s.UID), Exclusive: s.Spec.Exclusive,
		JobUIDs: map[testbed.Name]string{},
	}
	for _, ref := range s.Spec.QueueBased {
		name := testbed.Name{Namespace: "lab", Name: ref.Name}
		c.Request.Queue = append(c.Request.Queue, name)
		job := jobs(types.NamespacedName{Namespace: "lab", Name: ref.Name})
		if job != nil && job.Status.State != done {
			c.JobUIDs[name] = string(job.UID)
		}
	}
	if s.Name == "bad" {
		return c, false, queueError()
	}
	return c, len(c.JobUIDs) > 0, nil
}

func queueError() error {
	_, _, err := claim.Plan(claim.Request{}, nil, nil)
	return err
}

// replica is a controller that has seen the bed's changes up to some point.
type replica struct {
	*testbeds
	bed   *bed
	seen  map[objectKey]client.Object
	due   map[types.NamespacedName]time.Time
	queue []func()
	// shown is the last change that the replica has seen.
	shown int
}

// follower reads what the replica has seen, and writes to the bed.
type follower struct {
	client.Client
	r *replica
}

func (f *follower) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := reflect.TypeOf(into).Elem()
	o, ok := f.r.seen[objectKey{kind.Name(), key}]
	if !ok {
		if kind.Name() == "Namespace" {
			return f.Client.Get(context.Background(), key, into)
		}
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind.Name()}, key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
	return nil
}

func (f *follower) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	keys := slices.SortedFunc(maps.Keys(f.r.seen), func(a, b objectKey) int {
		return slices.Compare([]string{a.kind, a.Namespace, a.Name}, []string{b.kind, b.Namespace, b.Name})
	})
	for _, key := range keys {
		switch o := f.r.seen[key].(type) {
		case *v1alpha1.Testbed:
			job, byClaim := "", false
			if options.FieldSelector != nil {
				job, byClaim = options.FieldSelector.RequiresExactMatch(testbedClaim)
			}
			if l, ok := into.(*v1alpha1.TestbedList); ok && (!byClaim || slices.Contains(indexClaims(o), job)) {
				l.Items = append(l.Items, *o.DeepCopy())
			}
		case *corev1.Node:
			if l, ok := into.(*corev1.NodeList); ok {
				l.Items = append(l.Items, *o.DeepCopy())
			}
		case *corev1.Pod:
			if l, ok := into.(*corev1.PodList); ok && options.FieldSelector.String() == podTestbed+"="+string(testbedOf(o)) {
				l.Items = append(l.Items, *o.DeepCopy())
			}
		case *v1alpha1.Scheduling:
			if l, ok := into.(*v1alpha1.SchedulingList); ok && options.FieldSelector.String() == schedulingTestbed+"="+indexTestbed(o)[0] {
				l.Items = append(l.Items, *o.DeepCopy())
			}
		}
	}
	return nil
}

// replica starts a controller that has seen all present objects.
func (b *bed) replica() *replica {
	b.t.Helper()
	m, err := newMetrics(prometheus.NewPedanticRegistry())
	if err != nil {
		b.t.Fatal(err)
	}
	r := &replica{bed: b, seen: map[objectKey]client.Object{}, due: map[types.NamespacedName]time.Time{}}
	r.testbeds = newTestbeds(&follower{b.api, r}, b.api, b.api, b.options.withDefaults(), m)
	r.claimable, r.background = wants, b.t.Context()
	r.now = func() time.Time { return b.now }
	r.wake = func(name types.NamespacedName, after time.Duration) {
		at := b.now.Add(after)
		if due, ok := r.due[name]; !ok || at.Before(due) {
			r.due[name] = at
		}
	}
	r.work = func(f func()) { r.queue = append(r.queue, f) }
	r.show(func(client.Object) bool { return true })
	return r
}

// show makes the replica's watches catch up with those objects.
func (r *replica) show(which func(client.Object) bool) {
	now := r.bed.everything()
	for key, before := range r.seen {
		after, there := now[key]
		if !which(before) || there && after.GetUID() == before.GetUID() {
			continue
		}
		delete(r.seen, key)
		r.tell(before, nil)
	}
	keys := slices.SortedFunc(maps.Keys(now), func(a, b objectKey) int {
		return slices.Compare([]string{a.kind, a.Namespace, a.Name}, []string{b.kind, b.Namespace, b.Name})
	})
	for _, key := range keys {
		before, known := r.seen[key]
		after := now[key]
		if !which(after) || known && before.GetUID() != after.GetUID() || known && before.GetResourceVersion() == after.GetResourceVersion() {
			continue
		}
		r.seen[key] = after
		r.tell(before, after)
	}
}

// tell calls the handlers of the object.
func (r *replica) tell(before, after client.Object) {
	if before != nil && reflect.ValueOf(before).IsNil() {
		before = nil
	}
	switch first(after, before).(type) {
	case *corev1.Node:
		r.nodeChanged(before, after)
	case *corev1.Pod:
		r.podChanged(before, after)
	case *v1alpha1.Testbed:
		r.testbedChanged(before, after)
	case *v1alpha1.Scheduling:
		r.schedulingChanged(before, after)
	case *v1alpha1.BatchJob:
		r.jobChanged(before, after)
	}
}

// reconcile reconciles a Testbed once.
func (r *replica) reconcile(name types.NamespacedName) error {
	delete(r.due, name)
	result, err := r.Reconcile(r.bed.t.Context(), reconcile.Request{NamespacedName: name})
	if err != nil {
		r.wake(name, 5*time.Millisecond)
	} else if result.RequeueAfter > 0 {
		r.wake(name, result.RequeueAfter)
	}
	return err
}

// turn shows the replica all objects, reconciles what is due and makes the waiting requests; it
// reports whether there was anything to do.
func (r *replica) turn() bool {
	if r.shown != r.bed.changes {
		r.shown = r.bed.changes
		r.show(func(client.Object) bool { return true })
	}
	busy := false
	for name, at := range maps.Clone(r.due) {
		if !at.After(r.bed.now) {
			busy = true
			_ = r.reconcile(name) // what failed is due again
		}
	}
	return r.drain() || busy
}

// drain makes the waiting requests.
func (r *replica) drain() bool {
	busy := len(r.queue) > 0
	for len(r.queue) > 0 {
		f := r.queue[0]
		r.queue = r.queue[1:]
		f()
	}
	return busy
}

// run advances the clock by d in steps, while the replicas work and placeholders are bound.
func (b *bed) run(d time.Duration, replicas ...*replica) {
	b.t.Helper()
	for end := b.now.Add(d); b.now.Before(end); b.now = b.now.Add(50 * time.Millisecond) {
		for _, r := range replicas {
			r.turn()
		}
		if b.bound != b.changes {
			b.bind(func(*corev1.Pod) bool { return true })
			b.bound = b.changes
		}
	}
}

// bind binds placeholders to their nodes.
func (b *bed) bind(which func(*corev1.Pod) bool) {
	b.t.Helper()
	there := map[string]bool{}
	for _, n := range b.nodes() {
		there[n.Name] = true
	}
	for _, p := range b.pods() {
		if p.Spec.NodeName != "" || p.Labels[v1alpha1.LabelRole] != v1alpha1.RolePlaceholder || !which(p) {
			continue
		}
		name := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
		if there[name] {
			p.Spec.NodeName = name
			if err := b.api.Update(b.t.Context(), p); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// enter puts a job's pod into the slot, in place of its placeholder.
func (b *bed) enter(tb *v1alpha1.Testbed, job *v1alpha1.BatchJob, id slot.ID) *corev1.Pod {
	b.t.Helper()
	for _, p := range b.pods() {
		if p.Labels[v1alpha1.LabelRole] == v1alpha1.RolePlaceholder && p.Annotations[v1alpha1.AnnotationSlot] == id.String() && p.Labels[v1alpha1.LabelTestbedUID] == string(tb.UID) {
			b.delete(p)
		}
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: fmt.Sprintf("%s-%d", job.Name, b.made),
			Labels: map[string]string{
				v1alpha1.LabelRole: v1alpha1.RoleSlot, v1alpha1.LabelTestbedUID: string(tb.UID), v1alpha1.LabelBatchJobUID: string(job.UID),
			},
			Annotations: map[string]string{v1alpha1.AnnotationSlot: id.String()},
		},
		Spec: corev1.PodSpec{NodeName: id.Node},
	}
	b.create(p)
	return p
}

// free ends the job's claim, as the controller of BatchJobs does.
func (b *bed) free(tb *v1alpha1.Testbed, job types.UID) {
	b.t.Helper()
	status(b, tb, func(tb *v1alpha1.Testbed) {
		tb.Status.Claims = slices.DeleteFunc(tb.Status.Claims, func(c v1alpha1.Claim) bool { return c.BatchJobUID == job })
	})
}

// now returns the present Testbed.
func (b *bed) get(tb *v1alpha1.Testbed) *v1alpha1.Testbed {
	b.t.Helper()
	out := &v1alpha1.Testbed{}
	if err := b.api.Get(b.t.Context(), client.ObjectKeyFromObject(tb), out); err != nil {
		b.t.Fatal(err)
	}
	return out
}
