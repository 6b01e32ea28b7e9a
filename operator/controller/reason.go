package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed"
	"github.com/spazio-scheduler/spazio/testbed/lifecycle"
)

// Reasons that begin that of a Scheduling or of one of its jobs.
const (
	reasonDeleted    = "Deleted"
	reasonJobsFailed = "JobsFailed"
)

// reason is what the Scheduling waits for, naming the job and who has what it needs, or what
// became of its jobs; empty if it only waits for their end.
func (v *schedulingView) reason(s *lifecycle.Scheduling, o *lifecycle.SchedulingObserved, feasible finding, now time.Time) string {
	switch {
	case s.State == lifecycle.SchedulingCompleted || s.State == lifecycle.SchedulingFailed:
		return failures(v.Scheduling.Status.Jobs)
	case s.State > lifecycle.SchedulingFailed:
		return v.releases(o)
	case !feasible.OK():
		return feasible.Reason + ": " + feasible.Message
	}
	for i := range o.Members {
		if m := &o.Members[i]; m.Exists && (m.Held || !v.taken(m.Job)) && m.State <= lifecycle.InQueue {
			if text := refusalText(v.Job(keyOf(m.Job))); text != "" {
				return text
			}
		}
	}
	switch {
	case !v.Reserves && len(o.Lacking()) > 0:
		return v.lacks(o)
	case s.State == lifecycle.Confirming:
		if i := slices.IndexFunc(o.Members, func(m lifecycle.Member) bool { return m.Held && m.State == lifecycle.Submitted }); i >= 0 {
			return fmt.Sprintf("the pods of the BatchJob %s are not all bound", o.Members[i].Job)
		}
	case s.State == lifecycle.Submitting:
		return v.waits(o, now)
	}
	return ""
}

// refusalText is why a job can't be submitted in any slots, as far as is known.
func refusalText(job *v1alpha1.BatchJob) string {
	c := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.BatchJobValid)
	if known, _ := checkOf(job); known == lifecycle.Valid || c == nil || c.Message == "" {
		return ""
	}
	return fmt.Sprintf("%s: the BatchJob %s: %s", c.Reason, nameOf(job), c.Message)
}

// releases is which of its jobs a Scheduling that goes waits for.
func (v *schedulingView) releases(o *lifecycle.SchedulingObserved) string {
	for i := range o.Members {
		if m := &o.Members[i]; m.Held {
			return fmt.Sprintf("the BatchJob %s is %s%s", m.Job, m.State, more(o.Holds-1))
		}
	}
	return ""
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

// taken reports whether another Scheduling has the job.
func (v *schedulingView) taken(name testbed.Name) bool {
	job := v.Job(keyOf(name))
	return job != nil && job.Status.ActiveScheduling != nil && !hasJob(v.Scheduling, job)
}

// lacks is which job the Scheduling has not got, and who has it.
func (v *schedulingView) lacks(o *lifecycle.SchedulingObserved) string {
	lacking := o.Lacking()
	for _, name := range lacking {
		job := v.Job(keyOf(name))
		if job == nil || isAvailable(job) {
			continue
		}
		rest := more(len(lacking) - 1)
		switch active := job.Status.ActiveScheduling; {
		case job.DeletionTimestamp != nil:
			return fmt.Sprintf("the BatchJob %s is being deleted%s", name, rest)
		case active != nil && !hasJob(v.Scheduling, job):
			return fmt.Sprintf("the BatchJob %s is %s for the Scheduling %s, which has it until it is deleted%s",
				name, cmp.Or(string(job.Status.State), string(v1alpha1.BatchJobReady)), v.named(refName(active)), rest)
		}
		return fmt.Sprintf("the BatchJob %s is %s%s", name, job.Status.State, rest)
	}
	if v.Before != (testbed.Name{}) {
		return fmt.Sprintf("the Scheduling %s is served first, and wants the BatchJob %s or another of its jobs", v.named(v.Before), lacking[0])
	}
	return ""
}

// named is the name of an object; of one in a namespace that those who read the Scheduling
// may not see, it is the namespace.
func (v *schedulingView) named(name testbed.Name) string {
	if name.Namespace != v.Scheduling.Namespace && name.Namespace != v.Scheduling.TestbedKey().Namespace {
		return "of namespace " + name.Namespace
	}
	return name.String()
}

// waits is what the first job that has yet to be submitted waits for.
func (v *schedulingView) waits(o *lifecycle.SchedulingObserved, now time.Time) string {
	i := slices.IndexFunc(o.Members, func(m lifecycle.Member) bool { return m.Held && m.State <= lifecycle.InQueue && !m.Claimed })
	if i < 0 || v.Testbed == nil {
		return ""
	}
	name := o.Members[i].Job
	job := v.Job(keyOf(name))
	if at := timeOf(job.Status.NotBefore); now.Before(at) {
		return fmt.Sprintf("the BatchJob %s is tried again at %s: %s", name, at.Format(time.RFC3339), job.Status.Reason)
	}
	var others []*v1alpha1.Claim
	left := 0
	for i := range v.Testbed.Status.Nodes {
		left += int(v.Testbed.Status.Nodes[i].Slots)
	}
	for i := range v.Testbed.Status.Claims {
		c := &v.Testbed.Status.Claims[i]
		left -= len(c.Slots)
		if c.SchedulingUID != v.Scheduling.UID || v.Scheduling.Spec.SlotBased != nil {
			others = append(others, c)
		}
	}
	foreign := slices.DeleteFunc(slices.Clone(others), func(c *v1alpha1.Claim) bool { return c.SchedulingUID == v.Scheduling.UID })
	switch exclusive := v.Testbed.Status.ExclusiveFor; {
	case exclusive != "" && exclusive != v.Scheduling.UID:
		return fmt.Sprintf("another Scheduling uses the Testbed %s exclusively%s", v.Scheduling.TestbedKey(), v.holders(foreign))
	case v.Scheduling.Spec.Exclusive && exclusive == "" && len(foreign) > 0:
		return fmt.Sprintf("it waits for exclusive use of the Testbed %s%s", v.Scheduling.TestbedKey(), v.holders(foreign))
	}
	w := wanted(v.Scheduling)[name]
	if w.named == nil {
		if left >= w.n {
			return fmt.Sprintf("the BatchJob %s waits for %s", name, count(w.n, "slot"))
		}
		return fmt.Sprintf("the BatchJob %s waits for %s, of which %d are not claimed%s", name, count(w.n, "slot"), max(0, left), v.holders(others))
	}
	return v.waitsForNamed(name, w, others)
}

// waitsForNamed is which of the slots that are named for a job another job has.
func (v *schedulingView) waitsForNamed(name testbed.Name, w want, claims []*v1alpha1.Claim) string {
	in, err := presentOrder(v.Testbed)
	if err != nil {
		return ""
	}
	ids, _, _ := resolve(w.named, in)
	for _, id := range ids {
		of := slices.DeleteFunc(slices.Clone(claims), func(c *v1alpha1.Claim) bool { return !slices.Contains(c.Slots, id.String()) })
		if len(of) > 0 {
			return fmt.Sprintf("the BatchJob %s waits for slot %s%s", name, id, v.holders(of))
		}
	}
	return fmt.Sprintf("the BatchJob %s waits for its %s", name, count(w.n, "slot"))
}

// holders names the first of those who have slots.
func (v *schedulingView) holders(claims []*v1alpha1.Claim) string {
	if len(claims) == 0 {
		return ""
	}
	c := claims[0]
	var p parser
	job, by := p.name(c.BatchJob), p.name(c.Scheduling)
	if p.err != nil {
		return ""
	}
	return fmt.Sprintf("; the BatchJob %s of the Scheduling %s has %s%s", v.named(job), v.named(by), count(len(c.Slots), "slot"), more(len(claims)-1))
}

// failures is which of the jobs did not succeed.
func failures(jobs []v1alpha1.SchedulingJob) string {
	const shown = 3
	var texts []string
	for i := range jobs {
		if j := &jobs[i]; j.State == v1alpha1.BatchJobFailed {
			texts = append(texts, fmt.Sprintf("%s/%s: %s", j.Namespace, j.Name, cmp.Or(j.Reason, string(j.State))))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %d of %d: %s%s", reasonJobsFailed, len(texts), len(jobs), strings.Join(texts[:min(len(texts), shown)], "; "), more(len(texts)-shown))
}

// record is what the Scheduling's status keeps of a job, nil if nothing.
func (v *schedulingView) record(name testbed.Name) *v1alpha1.SchedulingJob {
	for i := range v.Scheduling.Status.Jobs {
		if j := &v.Scheduling.Status.Jobs[i]; j.Name == name.Name && j.Namespace == name.Namespace {
			return j
		}
	}
	return nil
}

func hasEnded(state v1alpha1.BatchJobState) bool {
	return state == v1alpha1.BatchJobCompleted || state == v1alpha1.BatchJobFailed
}
