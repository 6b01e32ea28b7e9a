package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// virtual are consumers that are made up, in virtual time: the burners' demand on CPUs
// that threads have in turns, beside work of others that goes first. As with a kernel, the
// clock of a thread that runs is as of the last tick, but for those on the reader's package,
// which it has interrupted.
type virtual struct {
	random   *rand.Rand
	at       time.Duration
	packages [sockets]virtualPackage
	clocks   []virtualClock // of the consumers
	// others is the part of a CPU that others take on average, busy what they do now and
	// where the package on which; the reader is one of them.
	others, busy float64
	where        int
}

type virtualPackage struct {
	asleep, queue []*virtualThread
	running       []*virtualThread // by CPU; nil is none
}

// virtualClock is the CPU time of a consumer: what its ticks have told, and what has run
// since.
type virtualClock struct {
	socket         int
	told, untold   time.Duration
	cores, threads float64
}

type virtualThread struct {
	clock      *virtualClock
	debt       debt
	wake       time.Duration
	left, turn time.Duration // of the quantum, and how long it has had its CPU
}

const (
	// step is that of virtual time, and jiffy how often the kernel looks at its CPUs.
	step  = time.Millisecond
	jiffy = 4 * time.Millisecond
	// lateness is by how much the reader may wake too late.
	lateness = 2 * time.Millisecond
	// stay is how long others remain on a package, on average.
	stay = 5 * time.Second
)

func startVirtual(consumers []consumer, cores int, others float64, random *rand.Rand) *virtual {
	v := &virtual{random: random, others: others, busy: others, clocks: make([]virtualClock, len(consumers))}
	for s := range v.packages {
		v.packages[s].running = make([]*virtualThread, cores)
	}
	for i, c := range consumers {
		v.clocks[i] = virtualClock{socket: c.socket, threads: float64(c.threads)}
		for range c.threads {
			p := &v.packages[c.socket]
			p.asleep = append(p.asleep, &virtualThread{clock: &v.clocks[i], debt: debt{random: random}})
		}
	}
	return v
}

func (v *virtual) set(cores []float64) error {
	for i := range v.clocks {
		v.clocks[i].cores = cores[i]
	}
	return nil
}

func (v *virtual) readTo(dst []time.Duration) error {
	for i, c := range v.clocks {
		dst[i] = c.told
		if c.socket == v.where {
			dst[i] += c.untold
		}
	}
	return nil
}

func (v *virtual) now() time.Time { return time.Unix(1e9, 0).Add(v.at) }

func (v *virtual) sleep(ctx context.Context, until time.Time) error {
	late := time.Duration(v.random.Int64N(int64(lateness/step)+1)) * step
	for v.now().Before(until.Add(late)) {
		v.step()
	}
	return ctx.Err()
}

func (v *virtual) stop() {}

// step is a millisecond of all CPUs.
func (v *virtual) step() {
	v.at += step
	if v.random.Float64() < float64(step)/float64(stay) {
		v.where, v.busy = v.random.IntN(sockets), 2*v.others*v.random.Float64()
	}
	for s := range v.packages {
		p := &v.packages[s]
		asleep := p.asleep
		p.asleep = p.asleep[:0]
		for _, t := range asleep {
			if t.wake <= v.at {
				v.rise(p, t)
			} else {
				p.asleep = append(p.asleep, t)
			}
		}
		for cpu := range p.running {
			if cpu > 0 || s != v.where || v.random.Float64() >= v.busy {
				v.run(p, cpu)
			}
		}
		if v.at%jiffy == 0 {
			p.tick()
		}
	}
}

// rise has a thread that has slept burn a quantum, or sleep on.
func (v *virtual) rise(p *virtualPackage, t *virtualThread) {
	wait := t.debt.wait(v.at, t.clock.cores/t.clock.threads)
	if t.wake = v.at + wait; wait > 0 {
		p.asleep = append(p.asleep, t)
		return
	}
	t.left = quantum
	p.queue = append(p.queue, t)
}

// run is a step of a CPU.
func (v *virtual) run(p *virtualPackage, cpu int) {
	t := p.running[cpu]
	if t == nil {
		if len(p.queue) == 0 {
			return
		}
		t, p.queue = p.queue[0], p.queue[1:]
		p.running[cpu], t.turn = t, 0
	}
	t.clock.untold += step
	t.turn += step
	if t.left -= step; t.left <= 0 {
		t.debt.owed -= quantum
		p.leave(cpu)
		v.rise(p, t)
	}
}

// leave takes the thread from a CPU, which tells its clock.
func (p *virtualPackage) leave(cpu int) {
	c := p.running[cpu].clock
	c.told, c.untold = c.told+c.untold, 0
	p.running[cpu] = nil
}

// tick brings the clocks up to date and gives CPUs to whoever waits for them.
func (p *virtualPackage) tick() {
	for cpu, t := range p.running {
		if t == nil {
			continue
		}
		t.clock.told, t.clock.untold = t.clock.told+t.clock.untold, 0
		if len(p.queue) > 0 && t.turn >= jiffy {
			p.leave(cpu)
			p.queue = append(p.queue, t)
		}
	}
}
