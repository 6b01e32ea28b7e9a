package podsource_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/sourcetest"
)

// Kind is what happened to a container.
type Kind int

// The kinds of an Event.
const (
	Created Kind = iota
	Started
	Stopped
	Deleted
)

// Container is a container of a pod, or its sandbox.
type Container struct {
	ID, UID, Sandbox, Name string
	Running, Ended         bool
}

// IsSandbox reports whether it is its pod's sandbox.
func (c Container) IsSandbox() bool { return c.ID == c.Sandbox }

// Event is a change of one container, with the present state of the pod's others.
type Event struct {
	Kind Kind
	Container
	Others []Container
}

// Node is the true state of a node's containers. It is safe for concurrent use.
type Node struct {
	mu          sync.Mutex
	made        int
	containers  map[string]Container
	subscribers map[chan Event]bool
	dropping    bool
}

// NewNode returns a node without pods.
func NewNode() *Node {
	return &Node{containers: map[string]Container{}, subscribers: map[chan Event]bool{}}
}

// Subscribe returns a channel of the events from now on; it is closed at a
// disconnection.
func (n *Node) Subscribe() (events <-chan Event, cancel func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := make(chan Event, 1<<14)
	n.subscribers[c] = true
	return c, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subscribers, c)
	}
}

// UntilSubscribed waits for a subscriber, because a client does not learn when it is subscribed.
func (n *Node) UntilSubscribed(t testing.TB) {
	t.Helper()
	subscribed := func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.subscribers) > 0
	}
	for deadline := time.Now().Add(sourcetest.Patience); !subscribed(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody subscribes")
		}
	}
}

// Disconnect ends all subscriptions.
func (n *Node) Disconnect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.subscribers {
		close(c)
		delete(n.subscribers, c)
	}
}

// Drop sets whether events are lost from now on.
func (n *Node) Drop(drop bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dropping = drop
}

// Containers returns all there are, by ID.
func (n *Node) Containers() []Container {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sorted(func(Container) bool { return true })
}

func (n *Node) sorted(keep func(Container) bool) (list []Container) {
	for _, id := range slices.Sorted(maps.Keys(n.containers)) {
		if c := n.containers[id]; keep(c) {
			list = append(list, c)
		}
	}
	return list
}

// Pods returns the UIDs of the pods with a container that runs, sorted.
func (n *Node) Pods() []string {
	return n.uids(func(c Container) bool { return c.Running && !c.IsSandbox() })
}

// Present returns the UIDs of the pods with a sandbox or container that runs,
// sorted.
func (n *Node) Present() []string { return n.uids(func(c Container) bool { return c.Running }) }

func (n *Node) uids(of func(Container) bool) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	uids := map[string]bool{}
	for _, c := range n.containers {
		if of(c) {
			uids[c.UID] = true
		}
	}
	return slices.Sorted(maps.Keys(uids))
}

// UID returns the UID of the i-th pod, from 1.
func UID(i int) string { return fmt.Sprintf("%08d-1111-2222-3333-444455556666", i) }

// StartPod makes a pod with a running sandbox and returns the sandbox.
func (n *Node) StartPod() (sandbox string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.made++
	id := fmt.Sprintf("sandbox-%08d", n.made)
	n.start(Container{ID: id, UID: UID(n.made), Sandbox: id})
	return id
}

// StartSandbox makes another sandbox for the pod of one.
func (n *Node) StartSandbox(before string) (sandbox string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.made++
	id := fmt.Sprintf("sandbox-%08d", n.made)
	n.start(Container{ID: id, UID: n.containers[before].UID, Sandbox: id})
	return id
}

// StartContainer starts a container of a name of its own in the pod of a sandbox.
func (n *Node) StartContainer(sandbox string) (id string) { return n.StartNamed(sandbox, "") }

// StartNamed starts a container in the pod of a sandbox, or restarts the one of that name.
func (n *Node) StartNamed(sandbox, name string) (id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.made++
	id = fmt.Sprintf("container-%08d", n.made)
	if name == "" {
		name = id
	}
	n.start(Container{ID: id, UID: n.containers[sandbox].UID, Sandbox: sandbox, Name: name})
	return id
}

func (n *Node) start(c Container) {
	n.tell(Created, c)
	c.Running = true
	n.tell(Started, c)
}

// StopContainer stops one.
func (n *Node) StopContainer(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.containers[id]
	n.stop(c)
}

func (n *Node) stop(c Container) {
	c.Running, c.Ended = false, true
	n.tell(Stopped, c)
}

// DeleteContainer deletes one; with a sandbox its pod's others.
func (n *Node) DeleteContainer(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.sorted(func(c Container) bool { return c.ID == id || c.Sandbox == id }) {
		if c.Running {
			n.stop(c)
			c = n.containers[c.ID]
		}
		n.tell(Deleted, c)
	}
}

// tell stores a container and sends the event.
func (n *Node) tell(kind Kind, c Container) {
	n.containers[c.ID] = c
	if kind == Deleted {
		delete(n.containers, c.ID)
	}
	if n.dropping {
		return
	}
	e := Event{Kind: kind, Container: c, Others: n.sorted(func(x Container) bool { return x.Sandbox == c.Sandbox && !x.IsSandbox() })}
	for s := range n.subscribers {
		s <- e
	}
}

// Storm makes random starts, stops and deletions, loses some of their events,
// and calls disrupt now and then. It ends with events flowing.
func (n *Node) Storm(r *rand.Rand, steps int, disrupt func()) {
	for range steps {
		n.Drop(r.IntN(10) == 0)
		time.Sleep(time.Duration(r.IntN(500)) * time.Microsecond) // lest all be over before the first list
		all := n.Containers()
		pick := func() Container { return all[r.IntN(len(all))] }
		switch x := r.IntN(100); {
		case x < 15 || len(all) == 0:
			n.StartPod()
		case x < 50:
			n.StartContainer(pick().Sandbox)
		case x < 75:
			if c := pick(); c.Running {
				n.StopContainer(c.ID)
			}
		case x < 97:
			n.DeleteContainer(pick().ID)
		default:
			disrupt()
		}
	}
	n.Drop(false)
}

// Storm runs a node through a storm in which connections break, and the runtime is away while a pod
// starts: whichever events are lost, the recorder must end with the node's state.
func Storm(t testing.TB, seed uint64, n *Node, s *Server, r *sourcetest.Recorder) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	n.Storm(random, 600, func() {
		if random.IntN(2) == 0 {
			n.Disconnect()
			return
		}
		s.Down()
		n.StartContainer(n.StartPod())
		s.Up()
	})
	t.Logf("seed %d: %d pods", seed, len(n.Pods()))
	r.Until(n.Pods()...)
	r.UntilPresent(n.Present()...)
	r.Stop()
}
