package testbeds

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/node/publish"
	"github.com/spazio-scheduler/spazio/operator/controller"
	"github.com/spazio-scheduler/spazio/operator/room"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// heldMeter is a simulated node whose agent cannot sample it while it is held.
type heldMeter struct {
	*simnode.Node
	held sync.RWMutex
}

// hold makes the agent wait for its next sample until release, or the test's end.
func (m *heldMeter) hold(t *testing.T) (release func()) {
	m.held.Lock()
	release = sync.OnceFunc(m.held.Unlock)
	t.Cleanup(release)
	return release
}

// SampleTo implements node.Meter.
func (m *heldMeter) SampleTo(dst []float64, at time.Time) ([]float64, error) {
	m.held.RLock()
	defer m.held.RUnlock()
	return m.Node.SampleTo(dst, at)
}

// measure adds a simulated node whose pods compete for its cores, and an agent that measures it and
// reports to the scheduler, until the test's end.
func (r *rig) measure() *heldMeter {
	r.Helper()
	clock := simnode.NewClock(time.Now(), 4)
	n, err := simnode.NewNode(simnode.NodeConfig{
		Name: r.namespace + "-measured", Labels: map[string]string{r.label: "1"}, Params: simnode.Params{Cores: nodeCores}, Clock: clock,
	})
	if err != nil {
		r.Fatal(err)
	}
	r.nodes = append(r.nodes, n.Name())
	cluster.Join(r.T, simnode.Config{Client: r.plain, Machines: []simnode.Machine{n}, Clock: clock})
	meter := &heldMeter{Node: n}
	agent, err := node.New(node.Config{
		Name: n.Name(), Meter: meter, Pods: n.Pods(), Clock: clock, Schedulers: []string{r.signals},
		Backoff: publish.Backoff{Max: time.Second},
	})
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := agent.Run(ctx); err != nil {
			r.Errorf("agent: %v", err)
		}
	})
	r.Cleanup(func() { cancel(); running.Wait() })
	return meter
}

// rooms follows the rooms that the scheduler publishes, as the program does, until the test's end.
func (r *rig) rooms() *room.Client {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w, err := room.Watch(ctx, room.Config{Target: r.signals})
	if err != nil {
		cancel()
		r.Fatal(err)
	}
	r.Cleanup(func() { cancel(); w.Wait() })
	return w
}

// load puts so many pods without requests on the first node, without any scheduler.
func (r *rig) load(prefix string, count int, seconds string) (names []string) {
	r.Helper()
	for i := range count {
		name := prefix + "-" + strconv.Itoa(i)
		r.create(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: takes(seconds)},
			Spec:       corev1.PodSpec{NodeName: r.nodes[0], Containers: []corev1.Container{{Name: "main", Image: "spazio.invalid/none"}}},
		})
		names = append(names, name)
	}
	return names
}

// teach runs pods on the first node, some at a time, until its agent knows the cost of one.
func (r *rig) teach(rooms *room.Client) {
	r.Helper()
	for wave := 0; ; wave++ {
		names := r.load("teacher-"+strconv.Itoa(wave), 1+wave%nodeCores, "3")
		for _, name := range names {
			r.eventually(name+" ends", func() (bool, any) {
				pod := fetch(r, name, &corev1.Pod{})
				return pod.Status.Phase == corev1.PodSucceeded, pod.Status
			})
		}
		if reading, _ := rooms.Room(r.nodes[0]); reading.CostKnown {
			r.Logf("%d waves of pods until the cost was known", wave+1)
			return
		}
	}
}

// Slots follow a node's room, as its agent measures it and the scheduler publishes it. While the agent
// is silent they stay as they are, and jobs run in them, however full the node; when it reports again
// they follow.
func TestAgentSilent(t *testing.T) {
	r := newRig(t, 0)
	r.schedule(nil)
	meter := r.measure()
	rooms := r.rooms()
	r.control(controller.Options{Rooms: rooms}, nil)
	short := &metav1.Duration{Duration: 300 * time.Millisecond}
	r.testbed("bed", 0, func(s *v1alpha1.TestbedSpec) {
		s.SlotsPerNode = intstr.FromString(v1alpha1.SlotsAuto)
		s.Auto = &v1alpha1.Auto{Max: new(int32(1)), GrowAfter: short, ShrinkAfter: short}
	})
	r.teach(rooms)
	r.waitCounts("bed", 1, 0, 0)
	r.waitCondition("bed", v1alpha1.TestbedSignalsFresh, "True", "", r.testbedConditions("bed"))

	release := meter.hold(t)
	r.waitCondition("bed", v1alpha1.TestbedSignalsFresh, "False", "", r.testbedConditions("bed"))
	r.load("other", 4*nodeCores, forever)
	r.job("job", ".1")
	r.queue("first", "bed", []string{"job"})
	r.waitJob("job", v1alpha1.BatchJobCompleted)
	r.wantSlots("job", r.slot(1, 0))
	r.waitCounts("bed", 1, 0, 0)

	release()
	r.waitCounts("bed", 0, 0, 0)
	r.waitCondition("bed", v1alpha1.TestbedSignalsFresh, "True", "", r.testbedConditions("bed"))
	r.delete(&v1alpha1.Scheduling{}, "first")
	r.waitJob("job", v1alpha1.BatchJobReady)
	r.finish()
}
