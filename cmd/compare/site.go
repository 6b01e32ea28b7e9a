package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/slice"
)

// watts are the slices' power without load and at full, in turn.
var watts = [][2]float64{{10, 40}, {25, 95}}

// site is what a run is made on: the slices, with all processes on them and their
// counters. It is safe for concurrent use.
type site struct {
	bench    *bench
	dir      string
	services *simnode.Group
	slices   []string // their names
	hosts    []slice.Host
	machines []*slice.Machine
	counters []counters // of the hosts
	shared   string     // where the host's are, once they are shared

	mu        sync.Mutex
	generator *children.Process
	syncs     uint64
	members   []*member
}

// member is a process of the site, on a host or, with host -1, on none.
type member struct {
	role    string
	host    int // of the hosts
	slice   int // onNone and onHost as in start
	process *children.Process
	before  time.Duration // CPU time before it joined
}

// cpu is the CPU time that it has taken since it joined.
func (m *member) cpu() time.Duration { return m.process.CPU() - m.before }

// newSite makes the slices' files, and with plane has the control plane be on the first.
// What runs is a part of services.
func (b *bench) newSite(ctx context.Context, services *simnode.Group, plane bool) (*site, error) {
	b.runs++
	s := &site{bench: b, services: services, dir: filepath.Join(b.group.Dir(), fmt.Sprintf("run-%d", b.runs))}
	s.lay()
	text, err := json.Marshal(slice.Config{Dir: s.dir, Hosts: s.hosts})
	if err != nil {
		return nil, err
	}
	if s.generator, err = s.start(roleGenerator, onNone, string(text)); err != nil {
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
	if !plane {
		return s, nil
	}
	return s, s.join(roleControlPlane, 0, b.plane, b.plane.CPU())
}

// lay sets the machines of the site.
func (s *site) lay() {
	one := slice.Host{Name: "host"}
	for i := range s.bench.slices {
		w, name, cpus := watts[i%len(watts)], fmt.Sprintf("slice-%d", i+1), max(len(s.bench.slice(i)), 1)
		s.slices = append(s.slices, name)
		s.hosts = append(s.hosts, slice.Host{Name: name, CPUs: cpus, Idle: w[0], Max: w[1]})
		one.Guests = append(one.Guests, slice.Guest{Name: name, CPUs: cpus})
		one.CPUs, one.Idle, one.Max = one.CPUs+cpus, one.Idle+w[0], one.Max+w[1]
	}
	if s.bench.oneHost {
		s.hosts = []slice.Host{one}
	}
}

// hostOf is the host of a slice.
func (s *site) hostOf(i int) int { return min(i, len(s.hosts)-1) }

// Where a process is that is in no slice.
const (
	onNone = -1
	onHost = -2 // on the first host itself
)

// start starts a part in a slice, on the host, or on none, where it may run on all CPUs.
func (s *site) start(role string, at int, args ...string) (*children.Process, error) {
	spec := children.Spec{Role: role, Args: args}
	if at >= 0 {
		spec.CPUs = s.bench.slice(at)
	}
	p, err := s.bench.group.Start(spec)
	if err != nil {
		return nil, err
	}
	watch(s.services, role, p)
	return p, s.join(role, at, p, 0)
}

// join has a process that is no pod count from now on.
func (s *site) join(role string, at int, p *children.Process, before time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &member{role, onNone, at, p, before}
	s.members = append(s.members, m)
	name := s.hosts[0].Name
	switch at {
	case onNone:
		return nil
	case onHost:
		m.host = 0
	default:
		m.host, name = s.hostOf(at), s.slices[at]
	}
	return s.tell(slice.Message{Join: &slice.Join{Host: name, ID: fmt.Sprint(role, "-", p.PID()), PID: p.PID(), Before: before}})
}

// share starts what shares the host's counters among the slices, if there is a host, and
// returns where when all of them have theirs.
func (s *site) share(ctx context.Context) (dir string, err error) {
	if !s.bench.oneHost {
		return "", nil
	}
	if s.shared != "" {
		return s.shared, nil
	}
	dir = filepath.Join(s.dir, "power")
	if _, err := s.start(rolePower, onHost, powerArgs(filepath.Join(s.dir, s.hosts[0].Name), dir)...); err != nil {
		return "", err
	}
	s.shared = dir
	return dir, published(ctx, dir, s.slices)
}

// counterFile is that of a guest's energy in what spazio-host-energy publishes.
func counterFile(dir, guest string) string {
	return filepath.Join(dir, guest, "class", "powercap", "intel-rapl:0", "energy_uj")
}

// published waits until each guest has counters.
func published(ctx context.Context, dir string, guests []string) error {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for _, g := range guests {
		for {
			_, err := os.Stat(counterFile(dir, g))
			if err == nil {
				break
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return fmt.Errorf("spazio-host-energy has nothing of %s: %w", g, context.Cause(ctx))
			}
		}
	}
	return nil
}

// podChanged has a pod's process count from its start to its end.
func (s *site) podChanged(at int, e slice.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.slices[at]
	switch {
	case e.Ended:
		return s.tell(slice.Message{Leave: &slice.Leave{Host: name, ID: e.UID, CPU: e.Process.CPU()}})
	case e.Ready == "":
		s.members = append(s.members, &member{roleApp, s.hostOf(at), at, e.Process, 0})
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
func (s *site) startNodes(ctx context.Context, changed func(slice.Event), observe func(simnode.Event), fail func(error)) error {
	var machines []simnode.Machine
	for i, name := range s.slices {
		m, err := slice.NewMachine(slice.MachineConfig{
			Name: name, CPUs: s.bench.slice(i), Memory: memory, Group: s.bench.group,
			Child: func(p simnode.Pod) (children.Spec, error) {
				return children.Spec{Role: roleApp, Args: p.Args}, nil
			},
			Observer: func(e slice.Event) {
				if err := s.podChanged(i, e); err != nil {
					fail(fmt.Errorf("the generator: %w", err))
				}
				changed(e)
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

// memory is the capacity of each slice. The pods request none.
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
		switch m.role {
		case roleScheduler, roleAgent, rolePower:
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

// sliceCPU is what all processes on a slice have taken.
func (s *site) sliceCPU(slice int) (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if m.slice == slice {
			sum += m.cpu()
		}
	}
	return sum
}

// pods is how many each slice has.
func (s *site) pods() map[string]float64 {
	pods := map[string]float64{}
	for i, m := range s.machines {
		pods[s.slices[i]] = float64(m.Pods())
	}
	return pods
}
