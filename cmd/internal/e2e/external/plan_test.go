package external

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// planned returns the rows of a plan, JOB:SLOT,SLOT for a job that starts and JOB? for one that does
// not; slots without their node's name.
func planned(r *rig, p wire.Plan) (rows []string) {
	for _, row := range p.Plan {
		mark := "?"
		if row.Now {
			mark = ":"
		}
		rows = append(rows, strings.TrimPrefix(row.Job, r.namespace+"/")+mark+strings.ReplaceAll(strings.Join(row.Slots, ","), r.namespace+"-bed-", ""))
	}
	return rows
}

// A plan predicts what then happens, with others' claims, locks and queues.
func TestExternalPlan(t *testing.T) {
	r := newRig(t)
	base := r.serve().base
	c := r.as(base, r.token(driver, ""))
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		r.job(r.namespace, name)
	}
	r.testbed("bed", 2, 2)
	r.bindPlaceholders(4)
	cluster.Eventually(t, "all slots are free", func() (bool, any) {
		bed := do[wire.Testbed](c, 200, "GET", in(r.namespace, "testbeds", "bed"), nil)
		return bed.Counts.Free == 4, bed
	})
	path := in(r.namespace, "schedulings")
	plan := func(s wire.Scheduling) wire.Plan {
		t.Helper()
		return do[wire.Plan](c, 200, "POST", path+"?dryRun=All", s)
	}
	create := func(s wire.Scheduling) {
		t.Helper()
		do[wire.Scheduling](c, 201, "POST", path, s)
	}
	placed := func(name string, mode string, jobs ...wire.SlotJob) wire.Scheduling {
		return wire.Scheduling{Meta: wire.Meta{Name: name}, SchedulingSpec: wire.SchedulingSpec{
			Testbed: "bed", Slots: &wire.SlotBased{Mode: mode, Jobs: jobs},
		}}
	}
	at := func(job string, indices ...int) wire.SlotJob {
		j := wire.SlotJob{Job: job}
		for _, i := range indices {
			j.Slots = append(j.Slots, slot.Ref{Index: i})
		}
		return j
	}
	expect := func(what string, p wire.Plan, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, planned(r, p)); diff != "" || !p.Feasible || len(p.Problems) > 0 {
			t.Errorf("%s: feasible %v, %+v\n%s", what, p.Feasible, p.Problems, diff)
		}
	}
	// held waits until a job has its slots, and returns them as a plan's row.
	held := func(job string) string {
		t.Helper()
		var slots []string
		cluster.Eventually(t, job+" has slots", func() (bool, any) {
			j := do[wire.Job](c, 200, "GET", in(r.namespace, "jobs", job), nil)
			if j.CreationRequest != nil {
				slots = j.CreationRequest.Slots
			}
			return j.CreationRequest != nil, j
		})
		return job + ":" + strings.ReplaceAll(strings.Join(slots, ","), r.namespace+"-bed-", "")
	}

	// On an empty testbed: entry i gets the i-th slot, and indices alternate between the nodes.
	expect("a queue", plan(queue("x", "bed", "a", "b", "a", "c", "c")), "a:0/0,0/1", "b:1/0", "c?")
	expect("strict", plan(placed("x", "", at("a", 1), at("b", 1), at("c", 0))), "a:1/0", "b?1/0", "c?0/0")
	expect("relaxed", plan(placed("x", "Relaxed", at("a", 1), at("b", 1), at("c", 0))), "a:1/0", "b?1/0", "c:0/0")
	first := queue("first", "bed", "a", "b", "a")
	expect("the first", plan(first), "a:0/0,0/1", "b:1/0")
	create(first)
	if got := held("a") + " " + held("b"); got != "a:0/0,0/1 b:1/0" {
		t.Errorf("a plan said a:0/0,0/1 b:1/0, and there was %s", got)
	}
	// One slot is left, and a job of two waits: the slot is kept for it from later jobs.
	waits := queue("waits", "bed", "c", "c")
	expect("one that has to wait", plan(waits), "c?")
	create(waits)
	cluster.Eventually(t, "it waits", func() (bool, any) {
		s := do[wire.Scheduling](c, 200, "GET", in(r.namespace, "schedulings", "waits"), nil)
		return s.State == "Submitting", s
	})
	expect("one behind it", plan(queue("x", "bed", "d")), "d?")
	prior := queue("x", "bed", "d")
	prior.Priority = 1
	expect("one before it", plan(prior), "d:1/1")
	alone := queue("x", "bed", "d")
	alone.Priority, alone.Exclusive = 1, true
	expect("one that wants the testbed alone", plan(alone), "d?")
	expect("of jobs that another has", plan(queue("x", "bed", "a", "d")), "a?", "d?")
	prior.Name = "prior"
	create(prior)
	if got := held("d"); got != "d:1/1" {
		t.Errorf("a plan said d:1/1, and there was %s", got)
	}
	// An infeasible request is reported by field, and as in the condition.
	for _, test := range []struct {
		s             wire.Scheduling
		field, reason string
	}{
		{queue("x", "nowhere", "e"), "testbed", v1alpha1.ReasonUnknownTestbed},
		{queue("x", "bed", "e", "placeholder"), "queue[1]", v1alpha1.ReasonUnknownJob},
		{placed("x", "", at("e", 0), at("placeholder", 1)), "slots.jobs[1].job", v1alpha1.ReasonUnknownJob},
		{placed("x", "", at("e", 4)), "slots.jobs", v1alpha1.ReasonUnknownSlot},
		{queue("x", "bed", "e", "e", "e", "e", "e"), "queue", v1alpha1.ReasonTooManySlots},
	} {
		p := plan(test.s)
		if p.Feasible || len(p.Problems) != 1 || p.Problems[0].Field != test.field || p.Problems[0].Reason != test.reason {
			t.Errorf("%s %s: %+v", test.field, test.reason, p)
		}
	}
}

// A plan does not reveal whether an object exists that the caller may not see.
func TestExternalPlanHides(t *testing.T) {
	r := newRig(t)
	replica := r.serve()
	other := r.newNamespace()
	r.job(r.namespace, "own")
	r.job(other, "secret")
	r.job(other, "open", func(s *v1alpha1.BatchJobSpec) { s.AllowedNamespaces.From = v1alpha1.FromAll })
	r.testbed("bed", 1, 1)
	r.testbed("secret", 1, 1, func(tb *v1alpha1.Testbed) { tb.Namespace = other })
	r.testbed("open", 1, 1, func(tb *v1alpha1.Testbed) {
		tb.Namespace, tb.Spec.AllowedNamespaces.From = other, v1alpha1.FromAll
	})
	c := r.as(replica.base, r.token(driver, ""))
	problem := func(s wire.Scheduling) string {
		t.Helper()
		p := do[wire.Plan](c, 200, "POST", in(r.namespace, "schedulings")+"?dryRun=All", s)
		if p.Feasible || len(p.Problems) != 1 {
			return "none"
		}
		return p.Problems[0].Reason + ": " + p.Problems[0].Message
	}
	expect := func(s wire.Scheduling, want string) {
		t.Helper()
		cluster.Eventually(t, want, func() (bool, any) {
			got := problem(s)
			return got == want, got
		})
	}
	expect(queue("x", other+"/open", "own"), "none")
	expect(queue("x", "bed", other+"/open"), "none")
	expect(queue("x", "bed", other+"/secret"), "UnknownJob: there is no BatchJob "+other+"/secret")
	expect(queue("x", "bed", other+"/none"), "UnknownJob: there is no BatchJob "+other+"/none")
	expect(queue("x", other+"/secret", "own"), "UnknownTestbed: there is no Testbed "+other+"/secret")
	expect(queue("x", other+"/none", "own"), "UnknownTestbed: there is no Testbed "+other+"/none")
	// A caller who may see it gets the reason why it may not be used.
	r.bindOf(other, r.namespace, driver, "spazio-testbed-viewer")
	expect(queue("x", "bed", other+"/secret"), "NotAllowed: the BatchJob "+other+"/secret does not admit Schedulings of namespace "+r.namespace)
	expect(queue("x", other+"/secret", "own"), "NotAllowed: the Testbed "+other+"/secret does not admit Schedulings of namespace "+r.namespace)
}
