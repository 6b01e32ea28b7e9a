package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// Service is a Deployment with a HorizontalPodAutoscaler, whose pods the scheduler places.
// They are the workload's servers that are not On a node, as many as there may be at once;
// their Created and their Server.Rate do not count. A pod that is lost is made anew at once.
type Service struct {
	// Workload is that of its pods.
	Workload string
	// Rates are the requests a second that its ready pods share evenly, Rates[i] from Step·i
	// seconds on, for ever from the last.
	Step  float64
	Rates []float64
	// Least is the least number of replicas, default 1, and Target the mean use of a pod in
	// cores that the autoscaler aims at: of a target utilisation, its share of the request.
	Least  int
	Target float64
}

func (c Config) validateServices(pods []Pod) error {
	for i, v := range c.Services {
		name := func(field string) string { return fmt.Sprintf("Services[%d].%s", i, field) }
		n := 0
		for k := range pods {
			if v.has(&pods[k]) {
				n++
			}
		}
		switch {
		case n == 0:
			return refuse(name("Workload"), v.Workload, "that of servers that are not On a node")
		case slices.ContainsFunc(c.Services[:i], func(w Service) bool { return w.Workload == v.Workload }):
			return refuse(name("Workload"), v.Workload, "of no other service")
		case !(v.Step > 0) || math.IsInf(v.Step, 1) || len(v.Rates) == 0:
			return refuse(name("Step"), v.Step, "above 0, with at least one rate")
		case v.Least < 0 || v.Least > n:
			return refuse(name("Least"), v.Least, fmt.Sprintf("0 (default) to its %d pods", n))
		case !(v.Target > 0) || math.IsInf(v.Target, 1):
			return refuse(name("Target"), v.Target, "a finite number above 0")
		}
		for _, r := range v.Rates {
			if !(r >= 0) || math.IsInf(r, 1) {
				return refuse(name("Rates"), r, "finite numbers ≥ 0")
			}
		}
	}
	return nil
}

func (v *Service) has(p *Pod) bool { return p.isServer() && p.On == 0 && p.Workload == v.Workload }

// service is a Service in a run.
type service struct {
	Service
	replicas []*replica
	hpa      baseline.HorizontalPodAutoscaler
	step     int     // of the rates, from 1
	shared   float64 // when its requests were shared last
	ready    int     // by then
	unserved float64 // requests that no pod was ready for
}

// replica is a pod that a service may have.
type replica struct {
	pod    int32
	of     int32 // the service
	wanted bool  // by the autoscaler
	absent bool  // there is no such pod
	lost   bool  // it has failed, which the API does not show yet
	// drained is when its kubelet kills it, at the latest, because it was deleted; 0 if it was not.
	// Until then it answers the requests that it has.
	drained float64
	cpu     float64
	read    float64 // when cpu was
}

// newServices takes the services' pods out of those that are created by themselves.
func (s *cluster) newServices() {
	s.replicas = map[int32]*replica{}
	for i, v := range s.Services {
		setDefault(&v.Least, 1)
		w := &service{Service: v}
		for k := range s.pods {
			if v.has(&s.pods[k]) {
				r := &replica{pod: int32(k), of: int32(i), absent: true}
				w.replicas, s.replicas[r.pod] = append(w.replicas, r), r
			}
		}
		w.hpa = baseline.HorizontalPodAutoscaler{Min: v.Least, Max: len(w.replicas), Target: v.Target}
		s.services = append(s.services, w)
		s.agenda.add(event{at: s.Warmup, kind: stepped, pod: int32(i)})
		s.agenda.add(event{at: s.Warmup + baseline.AutoscalerPeriod, kind: scaled, pod: int32(i)})
	}
	s.order = slices.DeleteFunc(s.order, func(pod int32) bool { return s.replicas[pod] != nil })
}

// stepService takes a service's next rate. At first it has as many pods as its target asks
// for.
func (s *cluster) stepService(i int32) {
	w := s.services[i]
	if w.step == 0 {
		work := s.pods[w.replicas[0].pod].Server.Work
		n := int(math.Ceil(w.Rates[0] * work / w.Target))
		s.resizeService(w, min(max(n, w.hpa.Min), w.hpa.Max))
	}
	w.account(s.now)
	w.step++
	s.shareRequests(i)
	if w.step < len(w.Rates) {
		s.agenda.add(event{at: s.now + w.Step, kind: stepped, pod: i})
	}
}

// shareRequests gives each ready pod of a service its part of the requests.
func (s *cluster) shareRequests(i int32) {
	w := s.services[i]
	w.account(s.now)
	w.ready = 0
	for _, r := range w.replicas {
		if r.serves() && s.isReady(r) {
			w.ready++
		}
	}
	rate := w.rate()
	for _, r := range w.replicas {
		if !s.isReady(r) {
			continue
		}
		m := s.nodes[s.records[r.pod].Node]
		s.advance(m)
		if !s.isReady(r) { // killed just now, of which another sharing follows
			continue
		}
		share := 0.
		if r.serves() {
			share = rate / float64(w.ready)
		}
		s.fail(m.model.SetRate(node.PodID(r.pod), share))
	}
}

// account counts the requests until now that no pod was ready for.
func (w *service) account(now float64) {
	if w.ready == 0 && w.step > 0 {
		w.unserved += (now - w.shared) * w.rate()
	}
	w.shared = now
}

// rate is that of the present step.
func (w *service) rate() float64 { return w.Rates[w.step-1] }

// serves reports whether a replica gets requests once it is ready.
func (r *replica) serves() bool { return r.wanted && r.drained == 0 }

func (s *cluster) isReady(r *replica) bool {
	record := &s.records[r.pod]
	return record.Node >= 0 && record.Running >= 0
}

// scaleService has the autoscaler decide.
func (s *cluster) scaleService(i int32) {
	w := s.services[i]
	var usage []float64
	wanted := 0
	for _, r := range w.replicas {
		if !r.wanted {
			continue
		}
		wanted++
		if u, ok := s.readReplica(r); ok {
			usage = append(usage, u)
		}
	}
	s.resizeService(w, w.hpa.Replicas(s.now, wanted, usage))
	s.agenda.add(event{at: s.now + baseline.AutoscalerPeriod, kind: scaled, pod: i})
}

// readReplica is a pod's use of the CPU since the last decision, in cores; ok is false if it
// did not run for all that time.
func (s *cluster) readReplica(r *replica) (cores float64, ok bool) {
	if r.drained > 0 || !s.isReady(r) {
		r.read = 0
		return 0, false
	}
	m := s.nodes[s.records[r.pod].Node]
	s.advance(m)
	u, ok := m.model.Usage(node.PodID(r.pod))
	before, since := r.cpu, r.read
	r.cpu, r.read = u.CPU, s.now
	if !ok || since == 0 || !s.isReady(r) || since < s.Warmup+s.records[r.pod].Running {
		return 0, false
	}
	return (u.CPU - before) / (s.now - since), true
}

// resizeService creates or deletes pods until a service has n.
func (s *cluster) resizeService(w *service, n int) {
	wanted, others := split(w.replicas)
	for i := len(wanted); i < n; i++ {
		r := others[i-len(wanted)]
		if r.wanted = true; r.absent {
			s.createReplica(r)
		}
	}
	if n >= len(wanted) {
		return
	}
	s.orderForDeletion(wanted)
	for _, r := range wanted[:len(wanted)-n] {
		s.deleteReplica(r)
	}
	s.agenda.add(event{at: s.now + s.Latency, kind: shared, pod: wanted[0].of})
}

// split returns the replicas that are wanted and the others, first those that are absent: one that drains
// serves only once it was made anew.
func split(replicas []*replica) (wanted, others []*replica) {
	var draining []*replica
	for _, r := range replicas {
		switch {
		case r.wanted:
			wanted = append(wanted, r)
		case r.absent:
			others = append(others, r)
		default:
			draining = append(draining, r)
		}
	}
	return wanted, append(others, draining...)
}

// orderForDeletion sorts pods as a ReplicaSet does that has too many: those without a node
// first, then those that do not run, those on nodes with most others, and the youngest.
func (s *cluster) orderForDeletion(pods []*replica) {
	beside := map[int]int{}
	for _, r := range pods {
		beside[s.records[r.pod].Node]++
	}
	rank := func(r *replica) (rank int) {
		if s.records[r.pod].Node >= 0 {
			rank++
		}
		if s.isReady(r) {
			rank++
		}
		return rank
	}
	slices.SortStableFunc(pods, func(a, b *replica) int {
		x, y := &s.records[a.pod], &s.records[b.pod]
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(beside[y.Node], beside[x.Node]), cmp.Compare(y.Running, x.Running))
	})
}

func (s *cluster) createReplica(r *replica) {
	r.absent, r.lost, r.read, r.drained = false, false, 0, 0
	s.refusals[r.pod], s.restarts[r.pod] = 0, 0
	s.declare(r.pod)
	s.queue.push(r.pod, s.now)
}

// A pod that is deleted gets no more requests. It ends when it has answered those that it has, as the
// simulator checks every drainPeriod seconds, or after terminationGracePeriodSeconds, 30 by default.
const (
	drainPeriod = .1
	gracePeriod = 30.
)

// deleteReplica deletes a pod: at once if it has no node, else from when its kubelet sees it.
func (s *cluster) deleteReplica(r *replica) {
	r.wanted = false
	switch {
	case r.drained > 0: // it is deleted already
	case s.records[r.pod].Node >= 0:
		r.drained = s.now + 2*s.Latency + gracePeriod
		s.agenda.add(event{at: s.now + 2*s.Latency, kind: deleted, pod: r.pod})
	case !r.lost:
		r.absent = true
		s.queue.remove(r.pod)
		s.policy.withdrawn(r.pod)
	}
}

// endReplica has the kubelet end a pod that was deleted, once it is drained, unless the node has
// ended it.
func (s *cluster) endReplica(pod int32) {
	r, replica := &s.records[pod], s.replicas[pod]
	if r.Node < 0 || replica.drained == 0 {
		return
	}
	m := s.nodes[r.Node]
	if s.advance(m); r.Node < 0 {
		return
	}
	if m.model.Requests(node.PodID(pod)) > 0 && s.now+drainPeriod <= replica.drained {
		s.agenda.add(event{at: s.now + drainPeriod, kind: deleted, pod: pod})
		return
	}
	last := node.Transition{At: s.now, Pod: node.PodID(pod), Phase: node.Removed}
	if _, measured := m.model.Usage(last.Pod); measured {
		last.Phase = node.Evicted
	}
	s.policy.phase(m, last)
	if r.Running >= 0 {
		m.running--
	}
	m.model.Kill(last.Pod)
	s.lose(m, pod, s.now+s.Latency)
	s.schedule(m)
}

// replaceReplica makes a pod of a service anew that is gone, if it is still wanted.
func (s *cluster) replaceReplica(r *replica) {
	if r.absent, r.lost, r.drained = true, false, 0; r.wanted {
		s.createReplica(r)
	}
}

// unserved sums up the requests that found no ready pod.
func (s *cluster) unserved() float64 {
	sum := 0.
	for _, w := range s.services {
		w.account(s.now)
		sum += w.unserved
	}
	return sum
}
