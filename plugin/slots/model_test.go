package slots_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/plugin/slots"
)

// twin is a naive model that derives the pods in slots from a list of events.
type twin struct {
	jobs    map[string][]string // the requested slots of each job
	records []record
}

type record struct {
	pod       types.UID
	job, slot string
	// kept: its bind failed. settled: the API shows it in the slot.
	kept, settled bool
}

// choice returns the slot that a pod should get next, "" for none.
func (w *twin) choice(pod types.UID, job string) string {
	requests := slices.Clone(w.jobs[job])
	for _, r := range w.records {
		if r.pod == pod && slices.Contains(requests, r.slot) {
			requests = append([]string{r.slot}, requests...)
		}
	}
	for _, slot := range requests {
		taken := slices.ContainsFunc(w.records, func(r record) bool {
			return r.slot == slot && r.pod != pod && (!r.kept || r.job == job)
		})
		if !taken {
			return slot
		}
	}
	return ""
}

func (w *twin) reserve(pod types.UID, job, slot string) {
	w.forget(func(r record) bool { return r.pod == pod || r.slot == slot && r.kept })
	w.records = append(w.records, record{pod: pod, job: job, slot: slot})
}

func (w *twin) forget(which func(record) bool) { w.records = slices.DeleteFunc(w.records, which) }

func (w *twin) change(pod types.UID, change func(*record)) {
	for i := range w.records {
		if w.records[i].pod == pod {
			change(&w.records[i])
		}
	}
}

// flight is a pod between Reserve and the end of its bind.
type flight struct {
	state *cycleState
	pod   *v1.Pod
	node  string
}

// TestModel: after any sequence of steps pods get the slots that the naive model predicts, and no slot
// has two pods.
func TestModel(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { walk(t, rand.New(rand.NewPCG(seed, 20)), 3000, int(seed)%3) })
	}
}

// walk makes steps with a plugin that first tries so many nodes, 0 being the default: the number must
// not affect the result.
func walk(t *testing.T, random *rand.Rand, steps, nodes int) {
	w, model := newWorld(t), &twin{jobs: map[string][]string{
		"x": {"a/0", "b/0", "a/1"}, "y": {"b/1", "c/0"}, "z": {"a/1", "c/1", "b/1", "c/2"}, // some of z's former slots are now x's and y's
	}}
	for _, name := range []string{"a", "b", "c"} {
		w.node(name, "cpu 64")
	}
	w.options.Nodes = nodes
	w.placeholders("cpu 1", "a/0", "a/1", "b/0", "b/1", "c/0")
	for name, ids := range model.jobs {
		w.jobs.put(jobOf(name, 1, "cpu 1", ids...))
	}
	w.start()
	var idle []*v1.Pod // not yet tried
	var flights []flight
	pick := func() *v1.Pod {
		i := random.IntN(len(idle))
		pod := idle[i]
		idle = slices.Delete(idle, i, i+1)
		return pod
	}
	submitted := 0
	for step := range steps {
		switch action := random.IntN(100); {
		case action < 25 && len(idle) < 8:
			job := []string{"x", "y", "z"}[random.IntN(3)]
			pod := podOf(job, fmt.Sprint("pod-", submitted), "cpu 1")
			submitted++
			idle = append(idle, w.put(pod))
		case action < 60 && len(idle) > 0:
			pod := pick()
			job := pod.Labels[slots.LabelBatchJobUID][len("uid-"):]
			want := model.choice(pod.UID, job)
			state, node, status := w.try(pod)
			if want == "" {
				if status.Code() != fwk.UnschedulableAndUnresolvable {
					t.Fatalf("step %d: %s: %v on %q, want none of %v", step, pod.Name, status, node, model.records)
				}
				idle = append(idle, pod)
				continue
			}
			if !status.IsSuccess() || node != want[:1] {
				t.Fatalf("step %d: %s of %s on %q (%v), want %s; %+v", step, pod.Name, job, node, status, want, model.records)
			}
			model.reserve(pod.UID, job, want)
			flights = append(flights, flight{state, pod, node})
		case action < 85 && len(flights) > 0:
			i := random.IntN(len(flights))
			f := flights[i]
			flights = slices.Delete(flights, i, i+1)
			switch outcome := random.IntN(4); outcome {
			case 0: // another plugin refuses it before its bind
				w.Unreserve(context.Background(), f.state, f.pod, f.node)
				delete(w.assumed, f.pod.UID)
				model.forget(func(r record) bool { return r.pod == f.pod.UID && !r.settled })
				idle = append(idle, f.pod)
			case 1: // the API refuses it
				w.noBind = []error{internal}
				if status := w.bind(context.Background(), f.state, f.pod, f.node); status.IsSuccess() {
					t.Fatalf("step %d: bound against the API", step)
				}
				w.noBind = nil
				model.change(f.pod.UID, func(r *record) { r.kept = true })
				idle = append(idle, f.pod)
			default:
				if status := w.bind(context.Background(), f.state, f.pod, f.node); !status.IsSuccess() {
					t.Fatalf("step %d: %v", step, status)
				}
				model.change(f.pod.UID, func(r *record) {
					r.settled = true
					if got := w.current(f.pod.Namespace, f.pod.Name).Annotations[slots.AnnotationSlot]; got != r.slot {
						t.Fatalf("step %d: %s is in %s, want %s", step, f.pod.Name, got, r.slot)
					}
				})
			}
		case action < 97: // one that is in a slot, or waits, ends
			var gone *v1.Pod
			if n := len(model.records); n > 0 && random.IntN(3) > 0 {
				if r := model.records[random.IntN(n)]; r.settled {
					gone = w.current("default", string(r.pod)[len("uid-"):])
				}
			} else if len(idle) > 0 {
				gone = pick()
			}
			if gone == nil {
				continue
			}
			model.forget(func(r record) bool { return r.pod == gone.UID })
			if random.IntN(3) == 0 && gone.Spec.NodeName != "" {
				finished := gone.DeepCopy()
				finished.Status.Phase = v1.PodFailed
				w.put(finished)
			} else {
				w.remove(gone, random.IntN(2) == 0)
			}
		case action == 97 && random.IntN(4) == 0: // the scheduler is killed
			w.start()
			for _, f := range flights {
				idle = append(idle, f.pod)
			}
			flights = nil
			model.forget(func(r record) bool { return !r.settled })
		}
		residents := map[string]string{}
		for _, obj := range w.pods.List() {
			pod := obj.(*v1.Pod)
			if slot := pod.Annotations[slots.AnnotationSlot]; pod.Labels[slots.LabelRole] == slots.RoleSlot && slot != "" && !ended(pod) {
				if residents[slot] != "" {
					t.Fatalf("step %d: %s and %s are both in %s", step, pod.Name, residents[slot], slot)
				}
				residents[slot] = pod.Name
			}
		}
	}
	if submitted < steps/20 {
		t.Errorf("got only %d pods in %d steps", submitted, steps)
	}
}
