package server

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

var steps = flag.Int("steps", 60_000, "steps of the model test")

// change is one change of the world.
type change struct {
	Type            string
	Kind            wire.Kind
	Namespace, Name string
	UID, Version    string
	Object          wire.Resource // nil of pods
}

// world is the naive version: all changes in one order, like a store's log. It has a stream for
// each kind, and two from which slots are made: beds and pods.
type world struct {
	random  *rand.Rand
	version int
	streams [4][]change // testbeds, jobs, schedulings, pods
	live    [3]map[string]change
	pods    map[string]string // of slots BED/SLOT, the pod
	uids    int
}

const podStream = 3

var streamKinds = [3]wire.Kind{wire.Testbeds, wire.Jobs, wire.Schedulings}

func newWorld(random *rand.Rand) *world {
	w := &world{random: random, version: 1, pods: map[string]string{}}
	for i := range w.live {
		w.live[i] = map[string]change{}
	}
	return w
}

const slotsOfBed = 6

var namespaces = [2]string{"ns0", "ns1"}

func (w *world) step() {
	w.version += 1 + w.random.IntN(3)
	if w.random.IntN(3) == 0 {
		key := fmt.Sprintf("bed%d/%d", w.random.IntN(3), w.random.IntN(slotsOfBed))
		w.streams[podStream] = append(w.streams[podStream], change{
			Name: key, UID: fmt.Sprintf("pod%d", w.random.IntN(3)), Version: strconv.Itoa(w.version),
		})
		return
	}
	i := w.random.IntN(3)
	kind, names := streamKinds[i], 12
	if i == 0 {
		names = 3
	}
	n := w.random.IntN(names)
	name, namespace := fmt.Sprintf("o%d", n), namespaces[n%2]
	if i == 0 {
		name = fmt.Sprintf("bed%d", n)
	}
	c, there := w.live[i][name]
	switch {
	case !there:
		w.uids++
		c = change{Type: wire.Added, Kind: kind, Namespace: namespace, Name: name, UID: strconv.Itoa(w.uids)}
	case w.random.IntN(3) == 0:
		c.Type = wire.Deleted
	default:
		c.Type = wire.Modified
	}
	c.Version = strconv.Itoa(w.version)
	meta := wire.Meta{Name: name, Namespace: namespace, UID: c.UID, ResourceVersion: c.Version}
	switch i {
	case 0:
		c.Object = wire.Testbed{Meta: meta, Nodes: w.random.IntN(slotsOfBed + 1)}
	case 1:
		c.Object = wire.Job{Meta: meta, Kind: "Job"}
	case 2:
		c.Object = wire.Scheduling{Meta: meta}
	}
	if c.Type == wire.Deleted {
		delete(w.live[i], name)
	} else {
		w.live[i][name] = c
	}
	w.streams[i] = append(w.streams[i], c)
}

// replica is a hub that has received a part of each stream.
type replica struct {
	w     *world
	hub   *hub
	heard [4]int // of streams
	// newest has the newest version of each bed's slots.
	newest map[string]int
	beds   map[string]change
	pods   map[string]change
}

// newReplica lists the present state of the world's streams.
func newReplica(t *testing.T, w *world, remembered int) *replica {
	r := &replica{w: w, hub: newHub(remembered), beds: map[string]change{}, pods: map[string]change{}, newest: map[string]int{}}
	for i := range streamKinds {
		objects := map[string]change{}
		for _, c := range w.streams[i] {
			if objects[c.Name] = c; c.Type == wire.Deleted {
				delete(objects, c.Name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(objects)) { // not by version
			c := objects[name]
			c.Type = wire.Added
			r.apply(t, c)
			if i == 0 {
				r.beds[name] = c
			}
		}
	}
	for _, p := range w.streams[podStream] {
		r.pods[p.Name] = p
	}
	for i := range r.heard {
		r.heard[i] = len(w.streams[i])
	}
	for name := range r.beds {
		r.slots(t, wire.Added, name)
	}
	r.hub.markSynced()
	return r
}

func (r *replica) apply(t *testing.T, c change) {
	t.Helper()
	if _, err := r.hub.apply(c.Type, c.Object); err != nil {
		t.Fatal(err)
	}
}

func (r *replica) slots(t *testing.T, op, name string) {
	slots := slotsOf(r.beds[name], r.pods)
	// A late change leaves the version unchanged.
	r.newest[slots.UID] = max(r.newest[slots.UID], number(slots.ResourceVersion))
	slots.ResourceVersion = strconv.Itoa(r.newest[slots.UID])
	r.apply(t, change{Type: op, Object: slots})
}

// slotsOf joins a bed, which has the number of slots, and the pods received so far.
func slotsOf(bed change, pods map[string]change) wire.TestbedSlots {
	version := number(bed.Object.(wire.Testbed).ResourceVersion)
	all := wire.TestbedSlots{
		Meta:  wire.Meta{Name: bed.Name, Namespace: bed.Namespace, UID: bed.UID},
		Slots: []wire.Slot{},
	}
	for i := range bed.Object.(wire.Testbed).Nodes {
		id := fmt.Sprintf("%s/%d", bed.Name, i)
		pod := pods[id]
		all.Slots = append(all.Slots, wire.Slot{ID: id, Index: i, State: slot.Free, Pod: pod.UID})
		version = max(version, number(pod.Version))
	}
	all.ResourceVersion = strconv.Itoa(version)
	return all
}

// takeChange takes the next change of a stream, if there is one.
func (r *replica) takeChange(t *testing.T, stream int) bool {
	if r.heard[stream] == len(r.w.streams[stream]) {
		return false
	}
	c := r.w.streams[stream][r.heard[stream]]
	r.heard[stream]++
	if stream == podStream {
		r.pods[c.Name] = c
		bed := c.Name[:len("bed0")]
		if _, ok := r.beds[bed]; ok {
			r.slots(t, wire.Modified, bed)
		}
		return true
	}
	r.apply(t, c)
	if stream == 0 {
		r.beds[c.Name] = c
		r.slots(t, c.Type, c.Name)
		if c.Type == wire.Deleted {
			delete(r.beds, c.Name)
		}
	}
	return true
}

// client is a client's knowledge, and how it got there.
type client struct {
	id         int
	kinds      []wire.Kind
	namespace  string
	names      []string
	slow       int
	at         *replica
	sub        *feed
	cursor     string
	of         *replica            // that gave the cursor
	objects    map[string]followed // by kind, name and UID
	moved      bool                // the cursor is another replica's, and the reset is due
	resets     int                 // that were not due for that
	incomplete bool                // amid a snapshot
}

type followed struct {
	meta  wire.Meta
	slots wire.TestbedSlots
	kind  wire.Kind
}

func (c *client) connect(t *testing.T, to *replica) {
	if c.sub != nil {
		c.sub.close()
	}
	if c.at = to; c.incomplete {
		c.cursor, c.incomplete = "", false
	}
	if c.cursor == "" {
		c.objects = map[string]followed{}
	}
	c.moved = c.cursor != "" && c.of != to
	var err error
	if c.sub, err = to.hub.subscribe(newFilter(c.kinds, c.namespace, c.names), c.cursor, func() {}); err != nil {
		t.Fatal(err)
	}
}

func (c *client) take(t *testing.T, kind wire.Kind, raw json.RawMessage) (string, followed) {
	var s wire.TestbedSlots
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(kind, "/", s.Name, "/", s.UID), followed{meta: s.Meta, slots: s, kind: kind}
}

// read takes a message, and reports whether there was one.
func (c *client) read(t *testing.T) bool {
	m, ok := c.sub.next()
	if !ok {
		return false
	}
	fail := func(what string, o followed) {
		t.Helper()
		t.Fatalf("client %d: %s: %s %v", c.id, what, o.kind, o.meta)
	}
	if c.moved && m.Type != wire.Reset {
		t.Fatalf("client %d goes on by another replica's cursor: %s", c.id, m.Type)
	}
	switch m.Type {
	case wire.Reset:
		if !c.moved {
			c.resets++
		}
		c.moved = false
		c.objects = map[string]followed{}
		c.incomplete = true
	case wire.Snapshot:
		for _, o := range m.Objects {
			key, next := c.take(t, o.Kind, o.Object)
			if _, known := c.objects[key]; known {
				fail("in a snapshot twice", next)
			}
			c.objects[key] = next
		}
		c.incomplete = m.More
	case wire.EventsMessage:
		for _, e := range m.Events {
			key, next := c.take(t, e.Kind, e.Object.Object)
			before, known := c.objects[key]
			switch {
			case e.Type == wire.Added && known:
				fail("added, but known", next)
			case e.Type != wire.Added && !known:
				fail(e.Type+", but unknown", next)
			case e.Type == wire.Deleted:
				delete(c.objects, key)
				continue
			}
			for other, o := range c.objects {
				if other != key && o.kind == next.kind && o.meta.Name == next.meta.Name {
					fail("made again, but the one before not gone", next)
				}
			}
			if known && e.Kind != wire.Slots && version(next) <= version(before) {
				fail("back or repeated", next)
			}
			if e.Kind == wire.Slots {
				if known && version(next) < version(before) {
					fail("back", next)
				}
				next.slots = before.slots.Apply(next.slots)
			}
			c.objects[key] = next
		}
	}
	if m.Cursor != "" {
		c.cursor, c.of = m.Cursor, c.at
	}
	return true
}

func version(o followed) int { return number(o.meta.ResourceVersion) }

func number(version string) int {
	v, _ := strconv.Atoi(version)
	return v
}

// check compares the client's knowledge with the world's present state.
func (c *client) check(t *testing.T) {
	t.Helper()
	want, got := map[string]string{}, map[string]string{}
	pods := map[string]change{}
	for _, p := range c.at.w.streams[podStream] {
		pods[p.Name] = p
	}
	for i, kind := range streamKinds {
		for name, o := range c.at.w.live[i] {
			if c.namespace != "" && c.namespace != o.Namespace || len(c.names) > 0 && !slices.Contains(c.names, name) {
				continue
			}
			if slices.Contains(c.kinds, kind) {
				want[fmt.Sprint(kind, "/", name, "/", o.UID)] = o.Version
			}
			if i == 0 && slices.Contains(c.kinds, wire.Slots) {
				want[fmt.Sprint(wire.Slots, "/", name, "/", o.UID)] = fmt.Sprint(slotsOf(o, pods).Slots)
			}
		}
	}
	for key, o := range c.objects {
		if got[key] = o.meta.ResourceVersion; o.kind == wire.Slots {
			got[key] = fmt.Sprint(o.slots.Slots)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("client %d (-want +got):\n%s", c.id, diff)
	}
}

// Clients of two replicas that receive the same changes at different times, and that read slowly
// and switch replicas at random, end with the present state. Between two resets nothing is sent to
// them twice, backwards, or about objects that they do not know.
func TestModel(t *testing.T) {
	for name, c := range map[string]struct {
		remembered int
		anew       bool // replicas are started again
		resets     bool // are due, of clients that stay
	}{
		"Ample":     {remembered: 1 << 16},
		"Forgetful": {remembered: 40, resets: true},
		"Restarted": {remembered: 1 << 16, anew: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(7, uint64(len(name))))
			w := newWorld(random)
			for range 50 {
				w.step()
			}
			replicas := []*replica{newReplica(t, w, c.remembered), newReplica(t, w, c.remembered)}
			clients := []*client{
				{kinds: []wire.Kind{wire.Testbeds, wire.Slots, wire.Jobs, wire.Schedulings}, slow: 2},
				{kinds: []wire.Kind{wire.Testbeds, wire.Slots, wire.Jobs, wire.Schedulings}, slow: 200},
				{kinds: []wire.Kind{wire.Jobs}, namespace: "ns1", slow: 5},
				{kinds: []wire.Kind{wire.Slots}, slow: 20},
				{kinds: []wire.Kind{wire.Jobs, wire.Schedulings}, names: []string{"o3", "o4", "o9"}, slow: 50},
			}
			for i, c := range clients {
				c.id = i
				c.connect(t, replicas[i%2])
			}
			settle := func() {
				for _, r := range replicas {
					for i := range r.heard {
						for r.takeChange(t, i) {
						}
					}
				}
				for _, c := range clients {
					for c.read(t) {
					}
					c.check(t)
				}
			}
			for range *steps {
				switch random.IntN(8) {
				case 0, 1, 2:
					w.step()
				case 3, 4, 5:
					replicas[random.IntN(2)].takeChange(t, random.IntN(4))
				case 6:
					if c := clients[random.IntN(len(clients))]; random.IntN(c.slow) == 0 {
						for range 1 + random.IntN(3) {
							c.read(t)
						}
					}
				case 7:
					if client := clients[random.IntN(len(clients))]; random.IntN(20) == 0 {
						client.connect(t, replicas[random.IntN(2)])
					}
					if random.IntN(500) == 0 {
						settle()
					}
					if i := random.IntN(2); c.anew && random.IntN(200) == 0 {
						old := replicas[i]
						replicas[i] = newReplica(t, w, c.remembered)
						for _, client := range clients {
							if client.at == old {
								client.connect(t, replicas[random.IntN(2)])
							}
						}
					}
				}
			}
			settle()
			resets := 0
			for _, c := range clients {
				resets += c.resets
			}
			if (resets > 0) != c.resets {
				t.Errorf("%d resets", resets)
			}
		})
	}
}
