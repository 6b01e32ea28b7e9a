package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/simnode"
	"github.com/spazio-scheduler/spazio/simnode/children"
	"github.com/spazio-scheduler/spazio/simnode/parts"
	"github.com/spazio-scheduler/spazio/simnode/slice"
)

// watts are the slices' power without load and at full, in turn.
var watts = [][2]float64{{10, 40}, {25, 95}}

// site is what a run is made on: the slices, with all processes on them and their
// counters. It is safe for concurrent use.
type site struct {
	bench    *bench
	dir      string
	services *parts.Group
	hosts    []slice.Host
	machines []*slice.Machine
	counters []counters

	mu        sync.Mutex
	generator *children.Process
	syncs     uint64
	members   []*member
}

// member is a process of the site, on a host or, with host -1, on none.
type member struct {
	role    string
	host    int
	process *children.Process
	before  time.Duration // CPU time before it joined
}

// cpu is the CPU time that it has taken since it joined.
func (m *member) cpu() time.Duration { return m.process.CPU() - m.before }

// newSite makes the slices' files. What runs is a part of services.
func (b *bench) newSite(ctx context.Context, services *parts.Group) (*site, error) {
	b.runs++
	s := &site{bench: b, services: services, dir: filepath.Join(b.group.Dir(), fmt.Sprintf("run-%d", b.runs))}
	for i := range b.config.Slices {
		w := watts[i%len(watts)]
		s.hosts = append(s.hosts, slice.Host{Name: fmt.Sprintf("slice-%d", i+1), CPUs: len(b.slice(i)), Idle: w[0], Max: w[1]})
	}
	text, err := json.Marshal(slice.Config{Dir: s.dir, Hosts: s.hosts})
	if err != nil {
		return nil, err
	}
	if s.generator, err = s.start(roleGenerator, -1, string(text)); err != nil {
		return nil, err
	}
	if _, err := ready(ctx, s.generator, roleGenerator); err != nil {
		return nil, err
	}
	for _, h := range s.hosts {
		c, err := newCounters(filepath.Join(s.dir, h.Name))
		if err != nil {
			return nil, err
		}
		s.counters = append(s.counters, c)
	}
	return s, s.join(roleControlPlane, 0, b.plane, b.plane.CPU())
}

// start starts a part on a host, or with -1 on any CPU.
func (s *site) start(role string, host int, args ...string) (*children.Process, error) {
	spec := children.Spec{Role: role, Args: args}
	if host >= 0 {
		spec.CPUs = s.bench.slice(host)
	}
	p, err := s.bench.group.Start(spec)
	if err != nil {
		return nil, err
	}
	watch(s.services, role, p)
	return p, s.join(role, host, p, 0)
}

// join has a process that is no pod count from now on.
func (s *site) join(role string, host int, p *children.Process, before time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = append(s.members, &member{role, host, p, before})
	if host < 0 {
		return nil
	}
	return s.tell(slice.Message{Join: &slice.Join{Host: s.hosts[host].Name, ID: role, PID: p.PID(), Before: before}})
}

// podChanged has a pod's process count from its start to its end.
func (s *site) podChanged(host int, e slice.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.hosts[host].Name
	switch {
	case e.Ended:
		return s.tell(slice.Message{Leave: &slice.Leave{Host: name, ID: e.UID, CPU: e.Process.CPU()}})
	case e.Ready == "":
		s.members = append(s.members, &member{roleApp, host, e.Process, 0})
		return s.tell(slice.Message{Join: &slice.Join{Host: name, ID: e.UID, PID: e.Process.PID(), Pod: true}})
	}
	return nil
}

// tell sends a message to the generator. s.mu is held.
func (s *site) tell(m slice.Message) error {
	line, err := json.Marshal(m)
	if err == nil {
		_, err = s.generator.Write(append(line, '\n'))
	}
	return err
}

// startNodes has the slices join the cluster.
func (s *site) startNodes(ctx context.Context, changed func(host int, e slice.Event), observe func(simnode.Event), fail func(error)) error {
	var machines []simnode.Machine
	for i, h := range s.hosts {
		m, err := slice.NewMachine(slice.MachineConfig{
			Name: h.Name, CPUs: s.bench.slice(i), Memory: memory, Group: s.bench.group,
			Child: func(p simnode.Pod) (children.Spec, error) {
				return children.Spec{Role: roleApp, Args: p.Args}, nil
			},
			Observer: func(e slice.Event) {
				if err := s.podChanged(i, e); err != nil {
					fail(fmt.Errorf("the generator: %w", err))
				}
				changed(i, e)
			},
		})
		if err != nil {
			return err
		}
		s.machines, machines = append(s.machines, m), append(machines, m)
	}
	fleet, err := simnode.Start(ctx, simnode.Config{Cluster: s.bench.rest, Machines: machines, Observer: observe, OnError: fail})
	if err != nil {
		return err
	}
	s.services.Adopt("nodes", fleet)
	return nil
}

// memory is what each slice says it has: nobody asks for any.
const memory = 8 << 30

// state is what all of the site has taken until a moment.
type state struct {
	at       time.Time
	readings []reading
	cpu      map[*member]time.Duration
	own      time.Duration // of this process
}

// state has the counters be those of now and reads them.
func (s *site) state(ctx context.Context) (state, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.syncs++
	if err := s.tell(slice.Message{Sync: s.syncs}); err != nil {
		return state{}, err
	}
	if _, err := ready(ctx, s.generator, roleGenerator); err != nil {
		return state{}, err
	}
	now := state{at: time.Now(), cpu: make(map[*member]time.Duration, len(s.members))}
	for _, c := range s.counters {
		r, err := c.read()
		if err != nil {
			return state{}, err
		}
		now.readings = append(now.readings, r)
	}
	for _, m := range s.members {
		now.cpu[m] = m.cpu()
	}
	var err error
	now.own, err = children.OwnCPUTime()
	return now, err
}

// taken is what all have taken between two states.
type taken struct {
	seconds, joules, overhead float64
	cpu                       map[string]float64 // by role
}

// between subtracts. The overhead is the scheduler's and the agents' part of each host's
// joules above those of its idle power, by CPU time: its power is linear in that.
func (s *site) between(from, to state) taken {
	t := taken{seconds: to.at.Sub(from.at).Seconds(), cpu: map[string]float64{"harness": (to.own - from.own).Seconds()}}
	all, overhead := make([]float64, len(s.hosts)), make([]float64, len(s.hosts))
	for m, cpu := range to.cpu {
		used := (cpu - from.cpu[m]).Seconds()
		t.cpu[m.role] += used
		if m.host < 0 {
			continue
		}
		all[m.host] += used
		if m.role == roleScheduler || m.role == roleAgent {
			overhead[m.host] += used
		}
	}
	for i, h := range s.hosts {
		joules := s.counters[i].joules(from.readings[i], to.readings[i])
		t.joules += joules
		if dynamic := joules - h.Idle*t.seconds; all[i] > 0 && dynamic > 0 {
			t.overhead += dynamic * overhead[i] / all[i]
		}
	}
	return t
}

// pods is how many each slice has.
func (s *site) pods() map[string]float64 {
	pods := map[string]float64{}
	for i, m := range s.machines {
		pods[s.hosts[i].Name] = float64(m.Pods())
	}
	return pods
}
