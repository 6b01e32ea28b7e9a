package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/spazio-scheduler/spazio/energy/source/fakerapl"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/slice"
)

// The machine that is made up: two packages, whose counters go on at 0 after so many
// joules.
const (
	sockets     = 2
	idleWatts   = 20
	fullWatts   = 80
	memoryWatts = 6
	rangeJoules = 100
)

// tick is how often CPU times become made-up counters.
const tick = 100 * time.Millisecond

// host is where consumers take CPU time, and the clock by which they do.
type host interface {
	// set tells each consumer how many cores to keep busy.
	set(cores []float64) error
	// readTo reads the CPU time that each has taken.
	readTo(dst []time.Duration) error
	now() time.Time
	sleep(ctx context.Context, until time.Time) error
	stop()
}

// consumer is a pod, or what is in none.
type consumer struct {
	socket, threads int
	weight          float64 // its part of its package's load
}

// site is what takes CPU time and the machine that is made up of what it takes: the pods,
// and last of each package a consumer that is in none.
type site struct {
	dir       string
	host      host
	consumers []consumer
	cores     int // of a package
	kubelet   *slice.Kubelet
	pods      []string // their UIDs
	machine   *fakerapl.Machine
	taken     []time.Duration
	consumed  []fakerapl.Consumer
	began     time.Time
}

// besides is the part of a load that is in no pod.
const besides = .05

// newSite starts everything, of a seed. The caller must stop it, after an error too.
func newSite(ctx context.Context, o options, seed uint64) (*site, error) {
	s := &site{}
	var err error
	if s.dir, err = os.MkdirTemp("", "spazio-fakerapl-"); err != nil {
		return s, err
	}
	if err := s.populate(ctx, o, seed); err != nil {
		return s, err
	}
	s.began = s.host.now()
	if s.kubelet, err = slice.NewKubelet(s.dir, sockets*s.cores); err != nil {
		return s, err
	}
	for range o.pods {
		s.pods = append(s.pods, uuid.NewString())
		if err := s.kubelet.Add(s.pods[len(s.pods)-1]); err != nil {
			return s, err
		}
	}
	s.machine, err = fakerapl.New(fakerapl.Config{
		Dir: s.dir, Sockets: sockets, Cores: s.cores, Idle: idleWatts, Max: fullWatts, DRAM: memoryWatts,
		Shape: o.shape, Range: rangeJoules, Noise: o.noise, Random: rand.New(rand.NewPCG(seed, 0)),
	})
	return s, err
}

// populate starts the consumers, real ones on the CPUs that this process may run on.
func (s *site) populate(ctx context.Context, o options, seed uint64) error {
	s.cores = o.cores
	var cpus []int
	if !o.virtual {
		var err error
		if cpus, err = children.CPUs(); err != nil {
			return err
		}
		s.cores = max(len(cpus)/sockets, 1)
	}
	s.consumers = consumers(o.pods, s.cores)
	for _, c := range s.consumers {
		s.consumed = append(s.consumed, fakerapl.Consumer{Socket: c.socket})
	}
	s.taken = make([]time.Duration, len(s.consumers))
	if o.virtual {
		s.host = startVirtual(s.consumers, s.cores, o.others, rand.New(rand.NewPCG(seed, 1)))
		return nil
	}
	p, err := startProcesses(ctx, s.consumers, s.cores, cpus)
	s.host = p
	return err
}

// consumers gives the pods of a package parts of its load that rise in equal steps, and
// adds one of each package that is in no pod.
func consumers(pods, cores int) []consumer {
	all := make([]consumer, pods+sockets)
	var sums [sockets]float64
	for i := range pods {
		all[i] = consumer{socket: i % sockets, weight: float64(1 + i/sockets)}
		sums[i%sockets] += all[i].weight
	}
	for i := range all {
		if c := &all[i]; i < pods {
			c.weight *= (1 - besides) / sums[c.socket]
		} else {
			*c = consumer{socket: i - pods, weight: besides}
		}
		all[i].threads = int(math.Ceil(all[i].weight * float64(cores)))
	}
	return all
}

// set tells the consumers to take a part of the machine. All of it takes asking for more.
func (s *site) set(load float64) error {
	if load >= 1 {
		load = 1.2
	}
	cores := make([]float64, len(s.consumers))
	for i, c := range s.consumers {
		cores[i] = load * c.weight * float64(s.cores)
	}
	return s.host.set(cores)
}

// advance makes counters of what the consumers have taken until now.
func (s *site) advance() (at time.Time, err error) {
	if err := s.host.readTo(s.taken); err != nil {
		return at, err
	}
	var busy time.Duration
	pods := make(map[string]time.Duration, len(s.pods))
	for i, cpu := range s.taken {
		s.consumed[i].CPU = cpu
		busy += cpu
		if i < len(s.pods) {
			pods[s.pods[i]] = cpu
		}
	}
	at = s.host.now()
	return at, errors.Join(s.machine.Advance(at, s.consumed), s.kubelet.Write(busy, pods, at.Sub(s.began)))
}

func (s *site) powercap() string { return filepath.Join(s.dir, "class", "powercap") }

// stop ends the consumers and removes the files.
func (s *site) stop() error {
	if s.host != nil {
		s.host.stop()
	}
	var err error
	if s.machine != nil {
		err = s.machine.Close()
	}
	if s.kubelet != nil {
		err = errors.Join(err, s.kubelet.Close())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
