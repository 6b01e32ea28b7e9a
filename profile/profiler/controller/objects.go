package controller

import (
	"math"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/connection"
	"github.com/spazio-scheduler/spazio/profile/continuous"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// objects is what the API has of profiles: what it takes to write them. Its Store
// is notified. Safe for concurrent use.
type objects struct {
	store   *profiler.Store
	strange func(name types.NamespacedName, why error)

	mu sync.Mutex
	of map[types.NamespacedName]kept
	// writing is the profile that is being written, lost reports that it was deleted
	// meanwhile: the answer to the write is older.
	writing types.NamespacedName
	lost    bool
}

// kept is of one profile.
type kept struct {
	version string
	uid     types.UID
	of      v1alpha1.WorkloadReference
	// owned: its owner asks for something, so that it is not ours to delete.
	owned      bool
	conditions []metav1.Condition
}

// slimProfile drops what is not kept of the profiles of a list in progress.
func slimProfile(object any) (any, error) {
	if p, ok := object.(*v1alpha1.WorkloadProfile); ok {
		p.Status.Slots, p.Status.Recommendation, p.ManagedFields = nil, nil, nil
	}
	return object, nil
}

func (s *objects) note(object any) {
	if p, ok := object.(*v1alpha1.WorkloadProfile); ok {
		s.observe(p)
	}
}

func (s *objects) remove(object any) {
	if p, ok := object.(*v1alpha1.WorkloadProfile); ok {
		s.lose(types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
	}
}

func (s *objects) replace(list []any) {
	there := make(map[types.NamespacedName]bool, len(list))
	for _, o := range list {
		if p, ok := o.(*v1alpha1.WorkloadProfile); ok {
			there[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = true
			s.observe(p)
		}
	}
	var gone []types.NamespacedName
	s.mu.Lock()
	for name := range s.of {
		if !there[name] {
			gone = append(gone, name)
		}
	}
	s.mu.Unlock()
	for _, name := range gone {
		s.lose(name)
	}
}

func (s *objects) observe(p *v1alpha1.WorkloadProfile) {
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	of := p.Spec.Workload.In(p.Namespace)
	if v1alpha1.NameOf(of) != p.Name {
		s.strange(name, errName)
		return
	}
	o := profiler.Object{Workload: of, Spec: specOf(&p.Spec)}
	if d := p.Status.Demand; d != nil {
		demand, err := d.Value()
		if err != nil {
			s.strange(name, err)
		}
		o.Demand = demand
	}
	if p.Status.ObservedAt != nil {
		o.At = p.Status.ObservedAt.Time
	}
	o.Factors, o.Application = factorsIn(&p.Status), p.Status.Application
	o.Stale = meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.Stale)
	if s.keep(p) {
		s.store.Observed(time.Now(), o)
	}
}

// keep notes what the API server answered or sent, unless that is older than what is
// known: a watch may be behind our own writes.
func (s *objects) keep(p *v1alpha1.WorkloadProfile) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	if older(p.ResourceVersion, s.of[name].version) {
		return false
	}
	bare := v1alpha1.WorkloadProfileSpec{Workload: p.Spec.Workload}
	s.of[name] = kept{
		version: p.ResourceVersion, uid: p.UID, of: p.Spec.Workload, owned: p.Spec != bare, conditions: p.Status.Conditions,
	}
	return true
}

// older compares versions, which are numbers; what is none is no older.
func older(a, b string) bool {
	x, err := strconv.ParseUint(a, 10, 64)
	y, err2 := strconv.ParseUint(b, 10, 64)
	return err == nil && err2 == nil && x < y
}

func (s *objects) get(name types.NamespacedName) (kept, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.of[name]
	return k, ok
}

// begin and end are around the writing of a profile. What was deleted meanwhile is
// lost at the end.
func (s *objects) begin(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing, s.lost = name, false
}

func (s *objects) end() {
	s.mu.Lock()
	name, lost := s.writing, s.lost
	s.writing, s.lost = types.NamespacedName{}, false
	s.mu.Unlock()
	if lost {
		s.lose(name)
	}
}

func (s *objects) lose(name types.NamespacedName) {
	s.mu.Lock()
	if name == s.writing {
		s.lost = true
	}
	k, ok := s.of[name]
	delete(s.of, name)
	s.mu.Unlock()
	if ok {
		s.store.Lost(time.Now(), k.of.In(name.Namespace))
	}
}

func specOf(s *v1alpha1.WorkloadProfileSpec) profiler.Spec {
	amounts := func(b *v1alpha1.Bounds) (a profile.Amounts) {
		if b == nil {
			return a
		}
		if b.CPU != nil {
			a.CPU = b.CPU.AsApproximateFloat64()
		}
		if b.Memory != nil {
			a.Memory = b.Memory.AsApproximateFloat64()
		}
		return a
	}
	return profiler.Spec{
		Preset: s.Preset, Application: s.Application, Bounds: profile.Bounds{Min: amounts(s.MinAllowed), Max: amounts(s.MaxAllowed)},
	}
}

const (
	// contradictedFor is how long it is said of a workload.
	contradictedFor = time.Hour
	// mostRecommended is the definitions' bound.
	mostRecommended = 64
	mostName        = 253
)

// fill writes an update into a status, and reports whether it is news that pods
// contradicted what was known.
func fill(s *v1alpha1.WorkloadProfileStatus, u profiler.Update) (contradicted bool) {
	conditions := s.Conditions
	demand := v1alpha1.FromDemand(u.Demand)
	*s = v1alpha1.WorkloadProfileStatus{
		ObservedAt: &metav1.Time{Time: u.At}, Revision: u.Revision, Pods: u.Pods, Demand: &demand,
		OOMKills: int64(u.OOMKills), Conditions: append([]metav1.Condition(nil), conditions...),
	}
	s.Application, s.Factors = u.Application[:min(len(u.Application), mostName)], factorsOf(u)
	for _, f := range u.Connections {
		s.Connections = append(s.Connections, connectionOf(f))
	}
	if u.Throttled > 0 {
		s.Throttled = v1alpha1.FromRatio(u.Throttled)
	}
	for _, d := range u.Slots {
		s.Slots = append(s.Slots, v1alpha1.FromDemand(d))
	}
	if u.P90 > 0 {
		s.Lifetime = &v1alpha1.Lifetime{P50: metav1.Duration{Duration: u.P50}, P90: metav1.Duration{Duration: u.P90}}
	}
	if len(u.Recommendations) > 0 {
		s.Recommendation = recommendationOf(u.Recommendations)
	}
	turned := u.At
	if u.Stale {
		turned = turned.Add(profiler.StaleAfter)
	}
	set := func(kind string, holds bool, reason, otherwise string) bool {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.Time{Time: turned}}
		if !holds {
			c.Status, c.Reason = metav1.ConditionFalse, otherwise
		}
		return meta.SetStatusCondition(&s.Conditions, c) && holds
	}
	set(v1alpha1.Ready, true, "Known", "Unknown")
	set(v1alpha1.Stale, u.Stale, "NotMeasured", "Measured")
	return set(v1alpha1.Contradicted, !u.Contradicted.IsZero() && u.At.Sub(u.Contradicted) < contradictedFor, "ThreePods", "AsKnown")
}

func factorsOf(u profiler.Update) *v1alpha1.Factors {
	if u.Factors == nil {
		return nil
	}
	return &v1alpha1.Factors{
		CPU: v1alpha1.FromFactor(u.Factors.CPU), Memory: v1alpha1.FromFactor(u.Factors.Memory),
		At: metav1.Time{Time: u.Factors.At}, Applied: u.Corrected,
	}
}

func connectionOf(f connection.Flow) v1alpha1.Connection {
	return v1alpha1.Connection{
		Kind: f.To.Kind, Namespace: f.To.Namespace, Name: f.To.Name,
		RequestBytesPerSecond: int64(math.Round(f.Request)), ResponseBytesPerSecond: int64(math.Round(f.Response)),
	}
}

// factorsIn are those of a status, none if they are such as this program does not write.
func factorsIn(s *v1alpha1.WorkloadProfileStatus) continuous.Factors {
	if s.Factors == nil {
		return continuous.Factors{}
	}
	cpu, err := s.Factors.CPU.Value()
	memory, err2 := s.Factors.Memory.Value()
	if err != nil || err2 != nil {
		return continuous.Factors{}
	}
	return continuous.Factors{CPU: cpu, Memory: memory, At: s.Factors.At.Time}
}

// fill writes an update into a status, and what else its conditions say.
func (c *Controller) fill(s *v1alpha1.WorkloadProfileStatus, u profiler.Update) (contradicted bool) {
	contradicted = fill(s, u)
	switch {
	case c.scalers == nil:
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.HorizontallyScaled)
	case c.scalers.all():
		by := c.scalers.scaling(u.Workload)
		condition := metav1.Condition{
			Type: v1alpha1.HorizontallyScaled, Status: metav1.ConditionTrue, Reason: by.String(),
			Message: "a HorizontalPodAutoscaler scales this workload by the utilisation of its requests, so these are not changed",
		}
		if by == (scaling{}) {
			condition.Status, condition.Message = metav1.ConditionFalse, ""
		}
		meta.SetStatusCondition(&s.Conditions, condition)
	}
	return contradicted
}

func recommendationOf(all []profile.Recommendation) *v1alpha1.Recommendation {
	amounts := func(a profile.Amounts) v1alpha1.Amounts {
		return v1alpha1.Amounts{CPU: v1alpha1.Millicores(a.CPU), Memory: v1alpha1.Bytes(a.Memory)}
	}
	r := &v1alpha1.Recommendation{}
	for _, one := range all[:min(len(all), mostRecommended)] {
		r.ContainerRecommendations = append(r.ContainerRecommendations, v1alpha1.ContainerRecommendation{
			ContainerName: one.Container, Target: amounts(one.Target), UncappedTarget: amounts(one.Uncapped),
			LowerBound: amounts(one.LowerBound), UpperBound: amounts(one.UpperBound),
		})
	}
	return r
}
