package slice

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	// Guests make it a host of virtual machines, on which the processes run: each has the
	// directory of a machine without counters of energy, and a control group of libvirt's
	// on the host. Other processes run on the host itself.
	Guests []Guest `json:"guests,omitempty"`
}

// Guest is a made-up virtual machine.
type Guest struct {
	Name string `json:"name"`
	CPUs int    `json:"cpus"`
}

// host is a Host at work.
type host struct {
	Host
	machine   *fakerapl.Machine
	kubelet   *kubelet // of the host itself
	began     time.Time
	consumers []fakerapl.Consumer
	units     map[string]*unit
}

// unit is where processes run: a guest, or the host itself.
type unit struct {
	host    *host
	kubelet *kubelet
	scope   *os.File // of a guest, its CPU time on the host
	members map[string]*member
	ended   time.Duration // CPU time of the processes that are gone
}

// member is a process on a host.
type member struct {
	pid      int // 0 once it is gone
	pod      bool
	before   time.Duration // that does not count
	consumer int
}

// clock is the CPU time of a process.
type clock func(pid int) (time.Duration, error)

func newHost(dir string, h Host, now time.Time) (_ *host, err error) {
	at := filepath.Join(dir, h.Name)
	made := &host{Host: h, began: now, units: map[string]*unit{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, made.close())
		}
	}()
	if made.machine, err = fakerapl.New(fakerapl.Config{Dir: at, Sockets: 1, Cores: h.CPUs, Idle: h.Idle, Max: h.Max}); err != nil {
		return nil, err
	}
	if made.kubelet, err = newKubelet(at, h.CPUs); err != nil {
		return nil, err
	}
	made.units[h.Name] = &unit{host: made, kubelet: made.kubelet, members: map[string]*member{}}
	for i, g := range h.Guests {
		if made.units[g.Name], err = made.newGuest(dir, i+1, g); err != nil {
			return nil, err
		}
	}
	return made, made.machine.Advance(now, nil)
}

// newGuest makes a guest's files, and its control group as libvirt does with systemd.
func (h *host) newGuest(dir string, number int, g Guest) (*unit, error) {
	kubelet, err := newKubelet(filepath.Join(dir, g.Name), g.CPUs)
	if err != nil {
		return nil, err
	}
	u := &unit{host: h, kubelet: kubelet, members: map[string]*member{}}
	scope := filepath.Join(h.kubelet.cgroups, "machine.slice", fmt.Sprintf(`machine-qemu\x2d%d\x2d%s.scope`, number, strings.ReplaceAll(g.Name, "-", `\x2d`)))
	for cpu := range g.CPUs {
		err = errors.Join(err, os.MkdirAll(filepath.Join(scope, "libvirt", fmt.Sprintf("vcpu%d", cpu)), 0o755))
	}
	if err != nil {
		return u, err
	}
	if u.scope, err = os.Create(filepath.Join(scope, "cpu.stat")); err != nil {
		return u, err
	}
	return u, writeUsage(u.scope, 0)
}

// join has a process count.
func (u *unit) join(j Join, now time.Time, clock clock) error {
	if u.members[j.ID] != nil {
		return refuse("id", j.ID, "another than those that are there")
	}
	if j.Pod {
		if err := u.kubelet.add(j.ID); err != nil {
			return err
		}
	}
	// It begins with nothing, whatever it has taken by now.
	h := u.host
	h.consumers = append(h.consumers, fakerapl.Consumer{})
	if err := h.machine.Advance(now, h.consumers); err != nil {
		return err
	}
	u.members[j.ID] = &member{j.PID, j.Pod, j.Before, len(h.consumers) - 1}
	return h.advance(now, clock)
}

// leave ends the account of a process.
func (u *unit) leave(l Leave, now time.Time, clock clock) error {
	m := u.members[l.ID]
	if m == nil {
		return refuse("id", l.ID, "one that is there")
	}
	m.pid = 0
	c := &u.host.consumers[m.consumer]
	c.CPU = max(c.CPU, l.CPU-m.before)
	err := u.host.advance(now, clock)
	delete(u.members, l.ID)
	u.ended += c.CPU
	if m.pod {
		err = errors.Join(err, u.kubelet.remove(l.ID, c.CPU))
	}
	return err
}

// advance makes counters of what the processes have taken until now.
func (h *host) advance(now time.Time, clock clock) (err error) {
	own := h.units[h.Name]
	busy, pods := own.read(clock)
	since := now.Sub(h.began)
	for _, u := range h.units {
		if u == own {
			continue
		}
		used, pods := u.read(clock)
		busy += used
		err = errors.Join(err, u.kubelet.write(used, pods, since), writeUsage(u.scope, used))
	}
	return errors.Join(err, h.kubelet.write(busy, pods, since), h.machine.Advance(now, h.consumers))
}

// read takes the processes' clocks: the CPU time of all, those that are gone too, and of
// each pod.
func (u *unit) read(clock clock) (busy time.Duration, pods map[string]time.Duration) {
	busy, pods = u.ended, make(map[string]time.Duration, len(u.members))
	for id, m := range u.members {
		c := &u.host.consumers[m.consumer]
		if m.pid != 0 {
			// For a process that has just ended a Leave follows; until then its CPU time stays.
			if cpu, err := clock(m.pid); err == nil {
				c.CPU = max(c.CPU, cpu-m.before)
			}
		}
		busy += c.CPU
		if m.pod {
			pods[id] = c.CPU
		}
	}
	return busy, pods
}

func (h *host) close() (err error) {
	for _, u := range h.units {
		if u == nil {
			continue
		}
		if u.scope != nil {
			err = errors.Join(err, u.scope.Close())
		}
		if u.kubelet != h.kubelet {
			err = errors.Join(err, u.kubelet.close())
		}
	}
	if h.kubelet != nil {
		err = errors.Join(err, h.kubelet.close())
	}
	if h.machine != nil {
		err = errors.Join(err, h.machine.Close())
	}
	return err
}
