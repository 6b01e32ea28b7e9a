// Package fakerapl is a machine's energy counters where there are none: a powercap tree
// whose counters advance by a stated model of power, from CPU times that may be real
// processes'. It knows what each consumer has taken, which real hardware does not show,
// and so what a meter and an attribution are worth.
//
// It shows nothing of how accurate real counters are. A [Guest] is a process that looks like a
// virtual machine, where nothing can be virtualised.
//
// Types that do not speak of concurrent use are plain values.
package fakerapl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// unit is a step of the counters in joules, as of Intel's.
const unit = 1.0 / (1 << 14)

// Config is a machine. The zero value is not one: Sockets, Cores and Max are needed.
type Config struct {
	// Dir is where class/powercap is made.
	Dir string
	// Sockets is the number of packages, of Cores cores each.
	Sockets, Cores int
	// Idle and Max are a package's power without load and at full, in watts; DRAM is
	// what its memory takes at full load, on top of a fifth of that without.
	Idle, Max, DRAM float64
	// Shape bends a package's power: Idle + (Max−Idle)·(2u − u^Shape) at utilisation
	// u (X. Fan et al., ISCA 2007); 0 or 1 means a straight line.
	Shape float64
	// Range is where counters go on at 0, in joules; 0 means 262,143.
	Range float64
	// Noise is the relative deviation of a step's power from the model's.
	Noise float64
	// Random draws it; nil where Noise is 0.
	Random *rand.Rand
}

// validate names the first field that is out of range.
func (c Config) validate() error {
	for _, f := range []struct {
		name string
		ok   bool
	}{
		{"Dir", c.Dir != ""},
		{"Sockets", c.Sockets > 0 && c.Sockets <= 64},
		{"Cores", c.Cores > 0 && c.Cores <= 1024},
		{"Max", c.Max > 0 && c.Max <= 1e4},
		{"Idle", c.Idle >= 0 && c.Idle <= c.Max},
		{"DRAM", c.DRAM >= 0 && c.DRAM <= 1e4},
		{"Shape", c.Shape >= 0 && c.Shape <= 10},
		{"Range", c.Range >= 0 && c.Range <= 1e9},
		{"Noise", c.Noise >= 0 && c.Noise < .5 && (c.Noise == 0 || c.Random != nil)},
	} {
		if !f.ok {
			return fmt.Errorf("fakerapl: %s is out of range: %+v", f.name, c)
		}
	}
	return nil
}

// Consumer is what has run on the machine.
type Consumer struct {
	// Socket is where it runs.
	Socket int
	// CPU is the CPU time it has taken so far.
	CPU time.Duration
}

// Machine advances the counters. It is for one goroutine; the files may be read by
// others all the time.
type Machine struct {
	config   Config
	packages []counter
	memories []counter
	at       time.Time
	last     []time.Duration
	truth    []float64
	loads    []load
	node     float64
}

// load is what a package has done since the machine began.
type load struct {
	// Busy is the CPU time of its consumers in core-seconds, Joules what it and its
	// memory have taken beyond their idle power.
	Busy, Joules float64
}

type counter struct {
	file   *os.File
	joules float64
}

// New makes the tree. Close leaves the files.
func New(c Config) (*Machine, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Range == 0 {
		c.Range = 262143
	}
	m := &Machine{config: c, loads: make([]load, c.Sockets)}
	for s := range c.Sockets {
		pkg, err := m.zone(fmt.Sprintf("intel-rapl:%d", s), fmt.Sprintf("package-%d", s))
		if err != nil {
			return nil, err
		}
		memory, err := m.zone(fmt.Sprintf("intel-rapl:%d:0", s), "dram")
		if err != nil {
			return nil, err
		}
		m.packages, m.memories = append(m.packages, pkg), append(m.memories, memory)
	}
	return m, nil
}

func (m *Machine) zone(dir, name string) (counter, error) {
	at := filepath.Join(m.config.Dir, "class", "powercap", dir)
	if err := os.MkdirAll(at, 0o755); err != nil {
		return counter{}, err
	}
	for file, text := range map[string]string{"name": name, "max_energy_range_uj": fmt.Sprint(m.micro(m.units() - 1))} {
		if err := os.WriteFile(filepath.Join(at, file), []byte(text+"\n"), 0o600); err != nil {
			return counter{}, err
		}
	}
	f, err := os.Create(filepath.Join(at, "energy_uj"))
	if err != nil {
		return counter{}, err
	}
	c := counter{file: f}
	return c, m.write(&c)
}

// units is how many steps a counter has.
func (m *Machine) units() uint64 { return uint64(m.config.Range / unit) }

// micro is a number of units in µJ.
func (m *Machine) micro(units uint64) uint64 { return uint64(math.Round(float64(units) * unit * 1e6)) }

// write puts a counter's value in its file, in place and at one length, so that a reader
// sees the old one or the new one.
func (m *Machine) write(c *counter) error {
	units := uint64(c.joules/unit) % m.units()
	_, err := c.file.WriteAt(fmt.Appendf(nil, "%020d\n", m.micro(units)), 0)
	return err
}

// Advance takes what each consumer has run until now; more may join at the end. The first
// call is the beginning. The power between two calls is that of the mean utilisation, so
// that they should be a tenth of a second apart.
func (m *Machine) Advance(at time.Time, consumers []Consumer) error {
	for len(m.last) < len(consumers) {
		m.last = append(m.last, consumers[len(m.last)].CPU)
		m.truth = append(m.truth, 0)
	}
	seconds := at.Sub(m.at).Seconds()
	if first := m.at.IsZero(); first || seconds <= 0 {
		m.at = at
		return nil
	}
	m.at = at
	used := make([]float64, len(consumers))
	busy := make([]float64, m.config.Sockets)
	for i, c := range consumers {
		used[i] = (c.CPU - m.last[i]).Seconds()
		busy[c.Socket] += used[i]
		m.last[i] = c.CPU
	}
	for s := range m.packages {
		idle, dynamic, memory := m.power(busy[s] / seconds / float64(m.config.Cores))
		m.packages[s].joules += (idle + dynamic) * seconds
		m.memories[s].joules += memory * seconds
		m.node += (idle + dynamic + memory) * seconds
		dynamic += memory - m.config.DRAM/5
		m.loads[s].Busy += busy[s]
		m.loads[s].Joules += dynamic * seconds
		for i, c := range consumers {
			if c.Socket == s && busy[s] > 0 {
				m.truth[i] += dynamic * seconds * used[i] / busy[s]
			}
		}
	}
	for s := range m.packages {
		for _, c := range []*counter{&m.packages[s], &m.memories[s]} {
			if err := m.write(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// power is a package's at utilisation u, in its parts.
func (m *Machine) power(u float64) (idle, dynamic, memory float64) {
	u = min(u, 1)
	bent := u
	if s := m.config.Shape; s > 0 && s != 1 {
		bent = 2*u - math.Pow(u, s)
	}
	noise := 1.0
	if m.config.Noise > 0 {
		noise = max(1+m.config.Noise*m.config.Random.NormFloat64(), 0)
	}
	return m.config.Idle, (m.config.Max - m.config.Idle) * bent * noise, m.config.DRAM * (.2 + .8*u)
}

// Truth returns what the machine has taken since it began, and what each consumer has taken
// of that for its load alone, in joules, in the consumers' order.
func (m *Machine) Truth() (node float64, consumers []float64) {
	return m.node, append([]float64(nil), m.truth...)
}

// Close closes the files.
func (m *Machine) Close() error {
	for s := range m.packages {
		for _, c := range []counter{m.packages[s], m.memories[s]} {
			if err := c.file.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}
