package plugin_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// ghost makes a pod one that holds room for so many.
func ghost(units string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Labels = map[string]string{plugin.GhostLabel: plugin.RoleGhost}
		if units != "" {
			p.Annotations = map[string]string{plugin.UnitsAnnotation: units}
		}
	}
}

// TestGhostsHoldRoom: from their bind to their deletion, and are in flight at no time.
func TestGhostsHoldRoom(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 10})
	holds := func(held, free float64, slots int) {
		t.Helper()
		c.eventually(fmt.Sprint(held, " held"), func() bool { return c.state(nodeName(0)).Held == held })
		got := c.state(nodeName(0))
		if got.InFlight != 0 || got.Free != free || got.Slots != slots {
			t.Errorf("%v in flight, %v free, %d slots with %v held, want none, %v and %d", got.InFlight, got.Free, got.Slots, held, free, slots)
		}
	}
	// More than slow start would ever let in at once.
	for i := range 4 {
		pod := newPod(i, ghost(""))
		if node, st := c.schedule(pod, c.infos); node != nodeName(0) {
			t.Fatalf("ghost %d: %v", i, st)
		}
		holds(float64(i), 10-float64(i), 2) // until it is bound
		c.PostBind(t.Context(), &cycleState{}, pod, nodeName(0))
		pod.Spec.NodeName = nodeName(0)
		c.create(pod)
		holds(float64(i+1), 9-float64(i), 2)
	}
	// A ghost is placed whatever room there is; others find what is left.
	big := newPod(10, ghost("5500m"), onNode(nodeName(0)))
	c.create(big)
	holds(9.5, .5, 0)
	if _, st := c.schedule(newPod(11), c.infos); st.IsSuccess() {
		t.Error("a pod took room that ghosts hold")
	}
	if e, err := c.hub.Explain(string(podUID(10))); err != nil || e.State != plugin.PodGhost || e.Node != nodeName(0) ||
		e.Nodes[0].Held != 9.5 || e.Nodes[0].Reason != "no room" {
		t.Errorf("explained as %+v, %v", e, err)
	}
	if got := c.hub.Ledger(); got.Held != 5 || got.Assumed+got.Bound+got.Absorbed != 0 {
		t.Errorf("the ledger has %+v", got)
	}
	// It is changed, told wrong, and gone.
	big.Annotations[plugin.UnitsAnnotation] = "2.5"
	c.update(big)
	holds(6.5, 3.5, 2)
	for _, wrong := range []string{"many", "0", "-1", "2e6"} {
		big.Annotations[plugin.UnitsAnnotation] = "2.5"
		c.update(big)
		holds(6.5, 3.5, 2)
		big.Annotations[plugin.UnitsAnnotation] = wrong
		c.update(big)
		holds(5, 5, 2)
	}
	big.Status.Phase = v1.PodFailed
	c.update(big)
	holds(4, 6, 2)
	for i := range 4 {
		c.delete(newPod(i))
		holds(float64(3-i), 7+float64(i), 2)
	}
}

// TestGhostThatIsNone: a pod that loses its label is one like any other, and the other
// way round.
func TestGhostThatIsNone(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 10})
	pod := newPod(1, ghost("3"), onNode(nodeName(0)))
	c.create(pod)
	for range 3 {
		c.eventually("it holds room", func() bool { s := c.state(nodeName(0)); return s.Held == 3 && s.InFlight == 0 })
		pod.Labels = nil
		c.update(pod)
		c.eventually("it is in flight", func() bool { s := c.state(nodeName(0)); return s.Held == 0 && s.InFlight == 1 })
		pod.Labels = map[string]string{plugin.GhostLabel: plugin.RoleGhost}
		c.update(pod)
	}
}

// TestHeldRoomSurvivesARestart: the API's ghosts are all that is needed, also of a node
// whose own event is late.
func TestHeldRoomSurvivesARestart(t *testing.T) {
	var objects []runtime.Object
	for i := range 6 {
		objects = append(objects, newPod(i, ghost("1.5"), onNode(nodeName(i%2))))
	}
	for restart := range 2 {
		c := newCluster(t, setup{nodes: 2, objects: slices.Clone(objects)})
		for i := range 2 {
			if got := c.state(nodeName(i)); got.Held != 4.5 || got.InFlight != 0 {
				t.Errorf("restart %d: %v held, %v in flight on node %d, want 4.5 and 0", restart, got.Held, got.InFlight, i)
			}
		}
	}
}

// TestHeldRoomWakesWhoWaits when it is given back.
func TestHeldRoomWakesWhoWaits(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	c.create(newPod(1, ghost("4"), onNode(nodeName(0))))
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 4})
	c.eventually("the room is held", func() bool { return c.state(nodeName(0)).Held == 4 })
	waiting := newPod(2)
	c.arrive(waiting)
	if _, st := c.schedule(waiting, c.infos); st.IsSuccess() {
		t.Fatal("a pod took room that a ghost holds")
	}
	c.woken()
	c.delete(newPod(1))
	c.eventually("it is woken", func() bool { return c.peek()[waiting.Name] })
}

// hears returns the ghosts of the next notice, which must be of such.
func (s *stream) hears() []reserve.PodKey {
	s.c.t.Helper()
	notice, err := s.Recv()
	if err != nil {
		s.c.t.Fatal(err)
	}
	ghosts, err := api.ToGhosts(notice.GetGhostPods())
	if err != nil {
		s.c.t.Fatalf("notice %v: %v", notice, err)
	}
	return ghosts
}

// hearsUntil takes notices of ghosts until one is as wanted: those of changes that
// follow each other may be one.
func (s *stream) hearsUntil(want ...reserve.PodKey) {
	s.c.t.Helper()
	for {
		got := s.hears()
		if !slices.IsSorted(got) {
			s.c.t.Errorf("ghosts %v are not sorted", got)
		}
		if slices.Equal(got, want) {
			return
		}
	}
}

// TestAgentHearsOfGhosts: all of them when its stream begins, and at each change; of
// other nodes' ghosts never, and of none where there never were any.
func TestAgentHearsOfGhosts(t *testing.T) {
	c := newCluster(t, setup{nodes: 2, objects: []runtime.Object{
		newPod(1, ghost(""), onNode(nodeName(0))), newPod(2, ghost(""), onNode(nodeName(0))), newPod(3, onNode(nodeName(0))),
	}})
	client := c.dial()
	s := c.open(client, nodeName(0))
	s.settle(agent.Report{Avail: 3})
	s.hearsUntil(keyOf(1), keyOf(2))
	other := c.open(client, nodeName(1))
	other.settle(agent.Report{Avail: 3})
	// A swap: the ghost goes, a pod comes in its place. Of the pod the agent hears, too.
	c.delete(newPod(1))
	s.hearsUntil(keyOf(2))
	late := newPod(4, ghost(""), onNode(nodeName(0)))
	c.create(late)
	s.hearsUntil(keyOf(2), keyOf(4))
	c.PostBind(t.Context(), &cycleState{}, late, nodeName(0)) // comes after the API's word
	c.update(late)                                            // no news
	c.create(newPod(5, onNode(nodeName(0))))
	if notice, err := s.Recv(); err != nil || reserve.PodKey(notice.GetPodBound().GetPod()) != keyOf(5) {
		t.Errorf("heard %v, %v, want that pod 5 was bound and of no ghost besides", notice, err)
	}
	c.delete(newPod(2))
	c.delete(late)
	s.hearsUntil()
	// The agent of a node on which ghosts were hears that there are none left.
	again := c.open(client, nodeName(0))
	again.next = s.next
	again.settle(agent.Report{Avail: 4})
	again.hearsUntil()
	// The other's first notice is of its first pod.
	c.create(newPod(6, onNode(nodeName(1))))
	if notice, err := other.Recv(); err != nil || reserve.PodKey(notice.GetPodBound().GetPod()) != keyOf(6) {
		t.Errorf("the other heard %v, %v", notice, err)
	}
}

// TestGhostsOfASlowReader: however often they change, its newest set takes the place of
// those before it, and the stream goes on.
func TestGhostsOfASlowReader(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{Avail: 3})
	const most = 300
	var want []reserve.PodKey
	for i := range most {
		c.create(newPod(i, ghost(""), onNode(nodeName(0))))
		want = append(want, keyOf(i))
	}
	c.eventually("all hold room", func() bool { return c.state(nodeName(0)).Held == most })
	slices.Sort(want)
	s.hearsUntil(want...)
	s.settle(agent.Report{Avail: 4})
}

// TestGhostsOfANodeThatGoes: its room is held as long as its ghosts are there, and
// nothing is left when they are gone.
func TestGhostsOfANodeThatGoes(t *testing.T) {
	clock := newClock()
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Now: clock.Now}})
	clock.advance(time.Second)
	c.create(newPod(1, ghost("2"), onNode(nodeName(0))), newPod(2, ghost("2"), onNode("elsewhere")))
	c.eventually("the room is held", func() bool { return c.hub.Ledger().Held == 2 })
	if err := c.client.CoreV1().Nodes().Delete(t.Context(), nodeName(0), deleteOptions); err != nil {
		t.Fatal(err)
	}
	c.eventually("the node is gone", func() bool { return len(c.hub.Snapshot()) == 0 })
	c.delete(newPod(1))
	c.delete(newPod(2))
	c.eventually("nothing is held", func() bool { return cmp.Equal(c.hub.Ledger(), reserve.Census{}) })
	c.eventually("nothing is known of their nodes", func() bool { return c.hub.GhostNodes() == 0 })
}
