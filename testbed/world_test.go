package testbed_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/claim"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is a minimal cluster whose controllers consist of these packages: an API server's record of
// jobs, schedulings, claims and pods, and a scheduler that places pods into the slots of their job's
// request.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	now    time.Time
	nodes  []slot.Node
	slots  *slot.Table
	claims claim.Table
	// schedulings and jobs by name, in order of creation.
	schedulings []*scheduling
	jobs        []*job
	pods        map[string]*slot.Pod
	serial      int
}

type scheduling struct {
	claim.Precedence
	uid                                  string
	request                              claim.Request
	exclusive, each, finalizer, deleting bool
	stored                               lifecycle.Scheduling
	submit                               []testbed.Name
}

type job struct {
	name      testbed.Name
	uid       string
	finalizer bool
	stored    lifecycle.Job
	app       lifecycle.Application
	pods      []string // of the application, bound or not
	bound     int
	ends      time.Time
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 20)), now: epoch, slots: slot.NewTable(), pods: make(map[string]*slot.Pod)}
	for i := range 3 {
		w.nodes = append(w.nodes, slot.Node{Name: fmt.Sprint("n", i), Label: fmt.Sprint(i), Positions: slot.First(2)})
	}
	w.configure(w.nodes)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) configure(nodes []slot.Node) {
	order, err := slot.NewOrder(nodes, 0)
	w.must(err)
	w.slots.Configure(slot.Config{UID: "0123abcd-", Order: order, Size: "1"}, w.now)
}

// claimed reports whether the job has a claim.
func (w *world) claimed(uid string) bool {
	return slices.ContainsFunc(w.claims.Claims, func(c claim.Claim) bool { return c.JobUID == uid })
}

func (w *world) arrive() {
	w.serial++
	s := &scheduling{
		uid: fmt.Sprint("s", w.serial), exclusive: w.rng.IntN(5) == 0, each: w.rng.IntN(3) == 0,
		Precedence: claim.Precedence{Created: w.now, Name: testbed.Name{Namespace: "lab", Name: fmt.Sprint("s", w.serial)}},
	}
	var names []testbed.Name
	for range 1 + w.rng.IntN(3) {
		names = append(names, w.jobs[w.rng.IntN(len(w.jobs))].name)
	}
	if w.rng.IntN(2) == 0 {
		for range 1 + w.rng.IntN(5) {
			s.request.Queue = append(s.request.Queue, names[w.rng.IntN(len(names))])
		}
	} else {
		s.request.Relaxed = w.rng.IntN(2) == 0
		for _, name := range names {
			p := claim.Placement{Job: name}
			for _, k := range w.rng.Perm(6)[:1+w.rng.IntN(3)] {
				p.Slots = append(p.Slots, slot.ID{Node: fmt.Sprint("n", k/2), Position: k % 2})
			}
			if !slices.Contains(s.request.Jobs(), name) {
				s.request.Placements = append(s.request.Placements, p)
			}
		}
	}
	w.schedulings = append(w.schedulings, s)
}

// extend adds a job to a scheduling's list, whether or not another scheduling has it.
func (w *world) extend(s *scheduling) {
	name := w.jobs[w.rng.IntN(len(w.jobs))].name
	switch {
	case slices.Contains(s.request.Jobs(), name):
	case len(s.request.Queue) > 0:
		s.request.Queue = append(s.request.Queue, name)
	default:
		at := slot.ID{Node: fmt.Sprint("n", w.rng.IntN(3)), Position: w.rng.IntN(2)}
		s.request.Placements = append(s.request.Placements, claim.Placement{Job: name, Slots: []slot.ID{at}})
	}
}

func (w *world) job(name testbed.Name) *job {
	for _, j := range w.jobs {
		if j.name == name {
			return j
		}
	}
	return nil
}

func (w *world) scheduling(uid string) *scheduling {
	for _, s := range w.schedulings {
		if s.uid == uid {
			return s
		}
	}
	return nil
}

// observe returns what the scheduling's controller sees.
func (w *world) observe(s *scheduling) lifecycle.SchedulingObserved {
	o := lifecycle.SchedulingObserved{
		Stored: s.stored, Exclusive: w.claims.ExclusiveFor == s.uid, ConfirmEach: s.each, Deleting: s.deleting, Finalizer: s.finalizer,
	}
	for _, name := range s.request.Jobs() {
		j := w.job(name)
		o.Members = append(o.Members, lifecycle.Member{
			Job: name, Exists: true, State: j.stored.State, Held: j.stored.SchedulingUID == s.uid, Claimed: w.claimed(j.uid),
			Waiting: w.now.Before(j.stored.NotBefore),
		})
	}
	for _, j := range w.jobs {
		if j.stored.SchedulingUID == s.uid {
			o.Holds++
		}
	}
	return o
}

// stepSchedulings runs the schedulings' controller.
func (w *world) stepSchedulings() {
	w.schedulings = slices.DeleteFunc(w.schedulings, func(s *scheduling) bool { return s.deleting && !s.finalizer })
	var applicants []claim.Applicant
	var who []*scheduling
	for _, s := range w.schedulings {
		o := w.observe(s)
		if lacking := o.Lacking(); len(lacking) > 0 {
			applicants, who = append(applicants, claim.Applicant{Precedence: s.Precedence, Jobs: lacking}), append(who, s)
		}
	}
	turns := claim.Acquire(applicants, func(name testbed.Name) bool {
		j := w.job(name)
		return j.stored.State == lifecycle.Ready && j.stored.SchedulingUID == ""
	})
	for _, s := range slices.Clone(w.schedulings) {
		o := w.observe(s)
		for i := range who {
			o.Turn = o.Turn || who[i] == s && turns[i]
		}
		var actions []lifecycle.SchedulingAction
		s.stored, actions = lifecycle.StepScheduling(o, w.now)
		s.submit = nil
		for _, a := range actions {
			switch a.Op {
			case lifecycle.AddSchedulingFinalizer:
				s.finalizer = true
			case lifecycle.AcquireJobs:
				for _, name := range a.Jobs {
					j := w.job(name)
					j.stored.Scheduling, j.stored.SchedulingUID = s.Name, s.uid
				}
			case lifecycle.SubmitJobs:
				s.submit = a.Jobs
			case lifecycle.Unlock:
				w.claims.ExclusiveFor = ""
			case lifecycle.RemoveSchedulingFinalizer:
				w.schedulings = slices.DeleteFunc(w.schedulings, func(x *scheduling) bool { return x == s })
			}
		}
	}
}

// grant runs the testbed's claim worker: claims are stored before requests are written, and requests
// are derived from the claims.
func (w *world) grant() {
	var all []claim.Scheduling
	for _, s := range w.schedulings {
		if len(s.submit) == 0 {
			continue
		}
		c := claim.Scheduling{
			Precedence: s.Precedence, UID: s.uid, Exclusive: s.exclusive, Request: s.request,
			JobUIDs: make(map[testbed.Name]string),
		}
		for _, name := range s.submit {
			c.JobUIDs[name] = w.job(name).uid
		}
		all = append(all, c)
	}
	var slots []slot.ID
	for _, s := range w.slots.Slots() {
		if s.State != slot.Retiring {
			slots = append(slots, s.ID)
		}
	}
	_, err := w.claims.Grant(all, slots, w.slots.Free(), w.now)
	w.must(err)
	if w.rng.IntN(10) == 0 {
		return // it crashes before it has written requests
	}
	for _, c := range w.claims.Claims {
		j := w.job(c.Job)
		if j.stored.State == lifecycle.InQueue && j.stored.Request == nil && j.stored.SchedulingUID == c.SchedulingUID {
			j.stored.Request = &lifecycle.Request{Slots: c.Slots, Attempt: j.stored.NextAttempt()}
		}
	}
}

// stepJobs runs the jobs' controller.
func (w *world) stepJobs() {
	for _, j := range w.jobs {
		s := w.scheduling(j.stored.SchedulingUID)
		o := lifecycle.JobObserved{
			Stored: j.stored, Wanted: s != nil && !s.deleting, Claimed: w.claimed(j.uid), Finalizer: j.finalizer, Check: lifecycle.Valid,
			Application: j.app, RetryLimit: 1, SubmitTimeout: time.Minute,
			Pods: lifecycle.Pods{Bound: j.bound, Running: j.bound, Alive: len(j.pods), Live: len(j.pods)},
		}
		var actions []lifecycle.JobAction
		j.stored, actions = lifecycle.StepJob(o, w.now)
		for _, a := range actions {
			switch a.Op {
			case lifecycle.AddJobFinalizer:
				j.finalizer = true
			case lifecycle.CreateApplication:
				w.serial++
				j.app = lifecycle.Application{UID: fmt.Sprint("app", w.serial), Attempt: a.Attempt, Phase: lifecycle.Pending, Created: w.now}
				j.bound, j.ends = 0, time.Time{}
				for i := range j.stored.Request.Slots {
					j.pods = append(j.pods, fmt.Sprint(j.app.UID, "-", i))
				}
			case lifecycle.DeleteApplication:
				j.app.Deleting = true
			case lifecycle.FreeSlots:
				w.claims.Claims = slices.DeleteFunc(slices.Clone(w.claims.Claims), func(c claim.Claim) bool { return c.JobUID == j.uid })
			}
		}
	}
}

// stepSlots runs the testbed's controller.
func (w *world) stepSlots() {
	var claims []slot.Claim
	for _, c := range w.claims.Claims {
		claims = append(claims, slot.Claim{Owner: c.JobUID, Slots: c.Slots})
	}
	w.must(w.slots.SetClaims(claims, w.now))
	actions, _ := w.slots.Diff(w.now)
	for _, a := range actions {
		switch a.Op {
		case slot.CreatePlaceholder:
			w.put(slot.Pod{UID: a.Name, Name: a.Name, Slot: a.Slot, Node: a.Slot.Node, Size: a.Size, Created: w.now})
		default:
			w.remove(a.UID)
		}
	}
}

func (w *world) put(p slot.Pod) {
	w.pods[p.UID] = &p
	w.must(w.slots.Observe(p, w.now))
}

func (w *world) remove(uid string) {
	delete(w.pods, uid)
	w.slots.Forget(uid, w.now)
	for _, j := range w.jobs {
		j.pods = slices.DeleteFunc(j.pods, func(x string) bool { return x == uid })
	}
}

// schedule places one waiting pod into a slot of its job's request, replacing its placeholder.
func (w *world) schedule() {
	for _, j := range w.jobs {
		if j.stored.Request == nil || j.app.Phase == lifecycle.Absent || j.app.Deleting || j.app.Attempt != j.stored.Request.Attempt {
			continue
		}
		for _, uid := range j.pods {
			if w.pods[uid] != nil {
				continue
			}
			for _, id := range j.stored.Request.Slots {
				held := false
				for _, s := range w.slots.Slots() {
					held = held || s.ID == id && s.State == slot.Reserved && s.Owner == j.uid
				}
				if !held {
					continue
				}
				w.remove(slot.PlaceholderName("0123abcd-", id))
				w.put(slot.Pod{UID: uid, Name: uid, Role: slot.Occupant, Slot: id, Node: id.Node, Owner: j.uid, Created: w.now})
				j.bound++
				break
			}
		}
	}
}

// run lets applications run, end and be deleted; their pods follow, one at a time.
func (w *world) run() {
	for _, j := range w.jobs {
		going := j.app.Phase == lifecycle.Absent || j.app.Phase == lifecycle.Succeeded || j.app.Phase == lifecycle.Ended
		switch {
		case j.app.Deleting:
			j.app = lifecycle.Application{}
		case going && len(j.pods) > 0:
			w.remove(j.pods[0])
		case j.app.Phase == lifecycle.Pending && j.stored.Request != nil && j.bound == len(j.stored.Request.Slots):
			j.app.Phase, j.ends = lifecycle.Active, w.now.Add(time.Duration(w.rng.IntN(20))*time.Second)
		case j.app.Phase == lifecycle.Active && !w.now.Before(j.ends):
			j.app.Phase = lifecycle.Succeeded
			if w.rng.IntN(4) == 0 {
				j.app.Phase = lifecycle.Ended
			}
		}
	}
}

// check checks the cluster's invariants.
func (w *world) check() {
	w.t.Helper()
	in := make(map[slot.ID]string)
	for _, p := range w.pods {
		if other, twice := in[p.Slot]; twice {
			w.t.Fatalf("%s and %s are both in %v", other, p.UID, p.Slot)
		}
		in[p.Slot] = p.UID
		if p.Role == slot.Occupant {
			if !slices.ContainsFunc(w.claims.Claims, func(c claim.Claim) bool { return c.JobUID == p.Owner && slices.Contains(c.Slots, p.Slot) }) {
				w.t.Fatalf("%s is in %v without a claim of its job %s", p.UID, p.Slot, p.Owner)
			}
		}
	}
}

func (w *world) turn() {
	w.now = w.now.Add(time.Second)
	for _, step := range []func(){w.stepSchedulings, w.stepJobs, w.stepSlots, w.grant, w.stepJobs, w.stepSlots, w.schedule, w.run} {
		if w.rng.IntN(8) > 0 { // the others are late
			step()
		}
		w.check()
	}
}

// TestWorld lets controllers made of these packages handle schedulings that come, grow and end on a
// small cluster, each of them sometimes late: no slot is ever claimed twice or has two pods, a pod is
// only where its job has a claim, and without new schedulings everything ends and is released.
func TestWorld(t *testing.T) {
	for seed := range uint64(40) {
		w := newWorld(t, seed)
		for i := range 5 {
			w.jobs = append(w.jobs, &job{name: testbed.Name{Namespace: "lab", Name: fmt.Sprint("j", i)}, uid: fmt.Sprint("uid-j", i)})
		}
		for i := range 400 {
			if len(w.schedulings) < 4 && w.rng.IntN(5) == 0 {
				w.arrive()
			}
			if len(w.schedulings) > 0 && w.rng.IntN(25) == 0 {
				w.schedulings[w.rng.IntN(len(w.schedulings))].deleting = true
			}
			if len(w.schedulings) > 0 && w.rng.IntN(10) == 0 {
				w.extend(w.schedulings[w.rng.IntN(len(w.schedulings))])
			}
			for _, s := range w.schedulings {
				s.deleting = s.deleting || s.stored.State == lifecycle.SchedulingCompleted && w.rng.IntN(5) == 0
			}
			if i%50 == 20 {
				w.configure(w.nodes[:2+w.rng.IntN(2)])
			}
			w.turn()
		}
		w.configure(w.nodes)
		for i := 0; len(w.schedulings) > 0; i++ {
			if i == 1000 {
				t.Fatalf("seed %d: got %d schedulings that never end; the first is %+v, slots %+v", seed, len(w.schedulings), w.schedulings[0], w.slots.Counts())
			}
			for _, s := range w.schedulings {
				s.deleting = s.deleting || s.stored.State == lifecycle.SchedulingCompleted
			}
			w.turn()
		}
		for range 50 {
			w.turn()
		}
		if c := w.slots.Counts(); c != (slot.Counts{slot.Free: 6}) || len(w.claims.Claims) > 0 || w.claims.ExclusiveFor != "" {
			t.Errorf("seed %d: got remaining %+v, claims %+v, exclusive for %q", seed, c, w.claims.Claims, w.claims.ExclusiveFor)
		}
		for _, j := range w.jobs {
			if j.stored.State != lifecycle.Ready {
				t.Errorf("seed %d: %v is %v", seed, j.name, j.stored.State)
			}
		}
	}
}
