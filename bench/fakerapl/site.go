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
	"github.com/spazio-scheduler/spazio/simnode/children"
	"github.com/spazio-scheduler/spazio/simnode/slice"
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

// tick is how often real CPU times become made-up counters.
const tick = 100 * time.Millisecond

// site is the real processes and the machine that is made up of what they take: those of
// the pods, and last of each package one that is in none.
type site struct {
	dir      string
	burners  []*burner
	weights  []float64 // each one's part of its package's load
	cores    int       // of a package
	kubelet  *slice.Kubelet
	pods     []string // their UIDs
	machine  *fakerapl.Machine
	consumed []fakerapl.Consumer
	began    time.Time
}

// besides is the part of a load that is in no pod.
const besides = .05

// newSite starts everything. The caller must stop it, after an error too.
func newSite(ctx context.Context, o options) (*site, error) {
	s := &site{began: time.Now()}
	var err error
	if s.dir, err = os.MkdirTemp("", "spazio-fakerapl-"); err != nil {
		return s, err
	}
	cpus, err := children.CPUs()
	if err != nil {
		return s, err
	}
	s.cores = max(len(cpus)/sockets, 1)
	s.weigh(o.pods)
	path, err := self()
	if err != nil {
		return s, err
	}
	for i, weight := range s.weights {
		socket := i % sockets
		from := min(socket*s.cores, len(cpus)-1) // of one CPU both packages have it
		b, err := startBurner(ctx, path, socket, int(math.Ceil(weight*float64(s.cores))), cpus[from:from+s.cores])
		if err != nil {
			return s, err
		}
		s.burners = append(s.burners, b)
		s.consumed = append(s.consumed, fakerapl.Consumer{Socket: socket})
	}
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
		Shape: o.shape, Range: rangeJoules, Noise: o.noise, Random: rand.New(rand.NewPCG(o.seed, 0)),
	})
	return s, err
}

// weigh gives the pods of a package parts of its load that rise in equal steps, and
// makes one consumer more that is in no pod.
func (s *site) weigh(pods int) {
	var sums [sockets]float64
	for i := range pods {
		s.weights = append(s.weights, float64(1+i/sockets))
		sums[i%sockets] += s.weights[i]
	}
	for i := range s.weights {
		s.weights[i] *= (1 - besides) / sums[i%sockets]
	}
	for range sockets {
		s.weights = append(s.weights, besides)
	}
}

// set tells the processes to take a part of the machine. All of it takes asking for more.
func (s *site) set(load float64) error {
	if load >= 1 {
		load = 1.2
	}
	var failed []error
	for i, b := range s.burners {
		failed = append(failed, b.set(load*s.weights[i]*float64(s.cores)))
	}
	return errors.Join(failed...)
}

// advance makes counters of what the processes have taken until now.
func (s *site) advance() (at time.Time, err error) {
	var busy time.Duration
	pods := make(map[string]time.Duration, len(s.pods))
	for i, b := range s.burners {
		cpu, err := b.cpu()
		if err != nil {
			return at, err
		}
		s.consumed[i].CPU = cpu
		busy += cpu
		if i < len(s.pods) {
			pods[s.pods[i]] = cpu
		}
	}
	at = time.Now()
	return at, errors.Join(s.machine.Advance(at, s.consumed), s.kubelet.Write(busy, pods, at.Sub(s.began)))
}

func (s *site) powercap() string { return filepath.Join(s.dir, "class", "powercap") }

// stop ends the processes and removes the files.
func (s *site) stop() error {
	for _, b := range s.burners {
		b.stop()
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
