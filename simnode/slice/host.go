package slice

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/spazio-scheduler/spazio/energy/source/fakerapl"
)

// Host is a made-up machine of real processes.
type Host struct {
	// Name is its directory's.
	Name string `json:"name"`
	// CPUs is how many it has.
	CPUs int `json:"cpus"`
	// Idle and Max are its power without load and at full, in watts.
	Idle float64 `json:"idle"`
	Max  float64 `json:"max"`
}

// host is a Host at work.
type host struct {
	Host
	machine   *fakerapl.Machine
	kubelet   *Kubelet
	began     time.Time
	members   map[string]*member
	consumers []fakerapl.Consumer // by member.index
}

// member is a process on a host.
type member struct {
	pid    int // 0 once it is gone
	pod    bool
	before time.Duration // that does not count
	index  int           // of the consumers
}

// clock is the CPU time of a process.
type clock func(pid int) (time.Duration, error)

func newHost(dir string, h Host, now time.Time) (*host, error) {
	dir = filepath.Join(dir, h.Name)
	machine, err := fakerapl.New(fakerapl.Config{Dir: dir, Sockets: 1, Cores: h.CPUs, Idle: h.Idle, Max: h.Max})
	if err != nil {
		return nil, err
	}
	kubelet, err := NewKubelet(dir, h.CPUs)
	if err != nil {
		return nil, errors.Join(err, machine.Close())
	}
	return &host{Host: h, machine: machine, kubelet: kubelet, began: now, members: map[string]*member{}}, machine.Advance(now, nil)
}

// join has a process count.
func (h *host) join(j Join, now time.Time, clock clock) error {
	if h.members[j.ID] != nil {
		return refuse("id", j.ID, "another than those that are there")
	}
	if j.Pod {
		if err := h.kubelet.Add(j.ID); err != nil {
			return err
		}
	}
	// It begins with nothing, whatever it has taken by now.
	h.consumers = append(h.consumers, fakerapl.Consumer{})
	if err := h.machine.Advance(now, h.consumers); err != nil {
		return err
	}
	h.members[j.ID] = &member{j.PID, j.Pod, j.Before, len(h.consumers) - 1}
	return h.advance(now, clock)
}

// leave says that a process is gone.
func (h *host) leave(l Leave, now time.Time, clock clock) error {
	m := h.members[l.ID]
	if m == nil {
		return refuse("id", l.ID, "one that is there")
	}
	m.pid = 0
	c := &h.consumers[m.index]
	c.CPU = max(c.CPU, l.CPU-m.before)
	err := h.advance(now, clock)
	delete(h.members, l.ID)
	if m.pod {
		err = errors.Join(err, h.kubelet.Remove(l.ID, c.CPU))
	}
	return err
}

// advance makes counters of what the processes have taken until now.
func (h *host) advance(now time.Time, clock clock) error {
	pods := make(map[string]time.Duration, len(h.members))
	for id, m := range h.members {
		c := &h.consumers[m.index]
		if m.pid != 0 {
			// One that has ended by now will be told of; until then it takes nothing.
			if cpu, err := clock(m.pid); err == nil {
				c.CPU = max(c.CPU, cpu-m.before)
			}
		}
		if m.pod {
			pods[id] = c.CPU
		}
	}
	var busy time.Duration
	for _, c := range h.consumers {
		busy += c.CPU
	}
	return errors.Join(h.machine.Advance(now, h.consumers), h.kubelet.Write(busy, pods, now.Sub(h.began)))
}

func (h *host) close() error { return errors.Join(h.machine.Close(), h.kubelet.Close()) }
