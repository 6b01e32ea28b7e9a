package controller

import (
	"context"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Question is what a Scheduling would lead to if it were created now.
type Question struct {
	// Scheduling has a name, a namespace and a spec. It is not modified.
	Scheduling *v1alpha1.Scheduling
	// Cached is a cache with the indexes of Add, Live the API server, and Namespaces are
	// those that are followed.
	Cached, Live client.Reader
	Namespaces   []string
	// Client tries, without effect, to create what the jobs run, of the kinds that Mapper
	// knows.
	Client client.Client
	Mapper meta.RESTMapper
	// Slots are a Testbed's as they are now, in their order, and those that are free.
	Slots func(*v1alpha1.Testbed) (order *slot.Order, free []slot.ID, err error)
	// Sees reports whether the caller may see a Testbed or BatchJob. One that the caller may
	// not see, and the Scheduling may not use, is treated as if it did not exist.
	Sees func(client.Object) (bool, error)
	Now  time.Time
}

// Foreseen is the answer.
type Foreseen struct {
	// Feasible is what the condition of that name would say. If it is false, About is the
	// first job that makes it so, if one does, and OfTestbed reports whether the Testbed does.
	Feasible  finding
	About     testbed.Name
	OfTestbed bool
	// Jobs are those that it lists, each once.
	Jobs []foreseenJob
}

// foreseenJob is a job, the slots that it would get, as far as that is known, and whether
// it would be submitted at once.
type foreseenJob struct {
	Name  testbed.Name
	Slots []string
	Now   bool
	// Refused is what the job's condition Valid would say against its application in slots of
	// the Testbed.
	Refused finding
}

// foreseenUID is that of a Scheduling that is not there.
const foreseenUID = "foreseen"

// Foresee returns what a Scheduling would lead to, by the steps that the controllers make for
// one that exists: all others that wait have their turn first. Nothing is written.
func Foresee(ctx context.Context, q Question) (Foreseen, error) {
	s := q.Scheduling.DeepCopy()
	s.UID, s.CreationTimestamp.Time, s.Generation = foreseenUID, q.Now, 1
	f := &foresight{Question: q, scheduling: s}
	c, err := f.pass(&veil{Reader: q.Cached, question: &q}).candidate(ctx, s)
	if err != nil {
		return Foreseen{}, err
	}
	out := Foreseen{Feasible: c.feasible}
	if !c.feasible.OK() {
		out.OfTestbed, out.About = c.infeasibleTestbed, c.infeasibleJob
	}
	names := jobNames(s)
	for _, name := range names {
		out.Jobs = append(out.Jobs, foreseenJob{Name: name})
	}
	if c.Testbed == nil {
		return out, nil
	}
	for i, name := range names {
		if out.Jobs[i].Refused, err = f.refused(ctx, c, c.Job(keyOf(name))); err != nil {
			return Foreseen{}, err
		}
	}
	request, granted, err := f.grant(ctx, c, out.Jobs)
	if err != nil {
		return Foreseen{}, err
	}
	for i, name := range names {
		if claimed, ok := granted[name]; ok {
			out.Jobs[i].Slots, out.Jobs[i].Now = slotTexts(claimed), true
		} else {
			out.Jobs[i].Slots = slotTexts(request[name])
		}
	}
	return out, nil
}

// foresight is an answer under way.
type foresight struct {
	Question
	scheduling *v1alpha1.Scheduling
	// missing are the kinds that were asked for, and whether the API server lacks them.
	missing map[schema.GroupVersionKind]bool
}

// refused is why the job's application would be refused in slots of the Testbed. The job is
// nil if there is none, or none that the caller may use.
func (f *foresight) refused(ctx context.Context, c *candidate, job *v1alpha1.BatchJob) (finding, error) {
	if job == nil {
		return finding{}, nil
	}
	adapter, err := workload.Of(&job.Spec)
	if err != nil {
		return finding{Reason: workload.Reason(err), Message: err.Error()}, nil
	}
	if missing, err := f.lacks(ctx, adapter); missing || err != nil {
		return operatorMissing(adapter), err
	}
	if verdict := refusedVerdict(job); !verdict.OK() {
		return verdict, nil
	}
	job = job.DeepCopy()
	job.Status.CreationRequest = nil
	acquireJob(job, f.scheduling, f.Now)
	verdict, err := trial{f.Client, f.Mapper}.of(ctx, job, f.scheduling, c.Testbed)
	if err != nil { // it says nothing of the application, a quota that is used up for example
		return finding{}, nil
	}
	return verdict, nil
}

// lacks reports whether the API server knows the adapter's kind. It is asked once for each
// kind: the mapper does not forget one that was removed.
func (f *foresight) lacks(ctx context.Context, adapter *workload.Adapter) (bool, error) {
	kind := adapter.Kind()
	if missing, asked := f.missing[kind]; asked {
		return missing, nil
	}
	known, err := knows(f.Mapper, adapter)
	if err != nil {
		return false, err
	}
	if known {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := f.Live.List(ctx, list, client.InNamespace(f.scheduling.Namespace), client.Limit(1))
		known = !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err)
	}
	if f.missing == nil {
		f.missing = map[schema.GroupVersionKind]bool{}
	}
	f.missing[kind] = !known
	return !known, nil
}

// pass is a step of the controller of Schedulings that reads by a reader.
func (f *foresight) pass(cached client.Reader) *schedulingPass {
	return &schedulingPass{schedulings: &schedulings{cached: cached, live: f.Live, logger: slog.New(slog.DiscardHandler)}, now: f.Now}
}

// grant returns the slots that the Scheduling names for its jobs, and those that it would
// be granted now.
func (f *foresight) grant(ctx context.Context, c *candidate, of []foreseenJob) (request, granted map[testbed.Name][]slot.ID, err error) {
	order, free, err := f.Slots(c.Testbed)
	if err != nil {
		return nil, nil, err
	}
	request = map[testbed.Name][]slot.ID{}
	for _, p := range queueRequest(f.scheduling, order).Placements {
		request[p.Job] = p.Slots
	}
	turn := false
	if c.feasible.OK() {
		if turn, err = f.pass(f.Cached).turn(ctx, c, c.observed.Lacking()); err != nil {
			return nil, nil, err
		}
	}
	if !turn {
		return request, nil, nil
	}
	applicants, table, err := f.applicants(ctx, c, order, of)
	if err != nil {
		return nil, nil, err
	}
	claims, err := table.Grant(applicants, order.Slots(), free, f.Now)
	granted = map[testbed.Name][]slot.ID{}
	for i := range claims {
		if claims[i].SchedulingUID == foreseenUID {
			granted[claims[i].Job] = claims[i].Slots
		}
	}
	return request, granted, err
}

// applicants are all that want slots of the Testbed, the Scheduling with the jobs that it
// lacks among them, and what is claimed already.
func (f *foresight) applicants(ctx context.Context, c *candidate, order *slot.Order, of []foreseenJob) ([]claim.Scheduling, *claim.Table, error) {
	r := &testbeds{cached: f.Cached, live: f.Live, options: Options{Namespaces: f.Namespaces}}
	o := &observation{testbed: c.Testbed, jobs: r.jobs(ctx)}
	if err := r.observeSchedulings(ctx, o); err != nil {
		return nil, nil, err
	}
	claims, err := parseClaims(c.Testbed.Status.Claims)
	if err != nil {
		return nil, nil, err
	}
	table := &claim.Table{Claims: claims, ExclusiveFor: o.exclusiveFor()}
	jobs := f.acquired(c, of, o.jobs)
	var applicants []claim.Scheduling
	for _, s := range append(o.candidates, f.scheduling) {
		a, wants, err := claimableIn(s, c.Testbed, order, jobs, f.Now)
		if err == nil && wants { // who asks for what can't be granted is passed over, as by the controller
			applicants = append(applicants, a)
		}
	}
	return applicants, table, nil
}

// acquired are the jobs as they are once the Scheduling has them and they have been tried
// for it: one that would be refused has failed, or waits for its operator.
func (f *foresight) acquired(c *candidate, of []foreseenJob, others jobLookup) jobLookup {
	own := map[types.NamespacedName]*v1alpha1.BatchJob{}
	for _, name := range c.observed.Lacking() {
		job := c.Job(keyOf(name)).DeepCopy()
		acquireJob(job, f.scheduling, f.Now)
		job.Status.State = v1alpha1.BatchJobInQueue
		i := slices.IndexFunc(of, func(j foreseenJob) bool { return j.Name == name })
		setChecked(job, of[i].Refused, f.Now)
		if reason := of[i].Refused.Reason; reason != "" && reason != v1alpha1.ReasonOperatorMissing {
			job.Status.State = v1alpha1.BatchJobFailed
		}
		own[keyOf(name)] = job
	}
	return func(name types.NamespacedName) *v1alpha1.BatchJob {
		if job := own[name]; job != nil {
			return job
		}
		return others(name)
	}
}

// veil hides what the caller may neither see nor use.
type veil struct {
	client.Reader
	question *Question
}

// Get implements client.Reader.
func (v *veil) Get(ctx context.Context, name client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := v.Reader.Get(ctx, name, o, opts...); err != nil {
		return err
	}
	var consent *v1alpha1.AllowedNamespaces
	switch of := o.(type) {
	case *v1alpha1.Testbed:
		consent = &of.Spec.AllowedNamespaces
	case *v1alpha1.BatchJob:
		consent = &of.Spec.AllowedNamespaces
	default:
		return nil
	}
	ok, err := allowed(ctx, v.question.Cached, consent, o.GetNamespace(), v.question.Scheduling.Namespace)
	if err != nil || ok {
		return err
	}
	sees, err := v.question.Sees(o)
	if err == nil && !sees {
		err = apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.GroupVersion.Group}, o.GetName())
	}
	return err
}
