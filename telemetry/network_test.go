package telemetry_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// networkMachine has one link of 1 Gbit/s.
func networkMachine(t testing.TB) (*machine, telemetry.Config) {
	m := newMachine(t)
	m.usage("", 0)
	m.interfaces("lo", "eth0", "cni0")
	m.link("eth0", "1000", "up", 5000, 5000)
	c := m.config()
	c.Channels.Network = true
	return m, c
}

// tenth is the bytes that a tenth of 1 Gbit/s carries in 100 ms.
const tenth = 1_250_000

// networkStep is a change and the sample that sees it.
type networkStep struct {
	do    func(m *machine)
	after time.Duration
	want  float64
	err   error
}

// Links come, go and restart while a Reader runs. The sample with the change is dropped; the next
// one is right.
func TestLinksComeAndGo(t *testing.T) {
	t.Cleanup(telemetry.WaitForSpeeds())
	moved := func(name string, received, sent uint64) func(*machine) {
		return func(m *machine) { m.moved(name, received, sent) }
	}
	for _, tc := range []struct {
		name  string
		steps []networkStep
		size  float64
	}{{
		name: "the busier direction counts",
		steps: []networkStep{
			{do: moved("eth0", 5000+tenth, 5000+3*tenth), want: .3},
			{do: moved("eth0", 5000+5*tenth, 5000+4*tenth), want: .4},
			{do: moved("eth0", 5000+20*tenth, 5000+4*tenth), want: 1},
			{do: func(*machine) {}, want: 0},
		},
		size: 1.25e8,
	}, {
		name: "a link appears with counters at 0",
		steps: []networkStep{
			{do: func(m *machine) {
				m.interfaces("lo", "eth0", "eth1")
				m.link("eth1", "10000", "up", 0, 0)
				m.moved("eth0", 5000+tenth, 5000)
			}, want: .1},
			{do: moved("eth1", 70*tenth, 0), after: time.Second, err: telemetry.ErrResized},
			{do: moved("eth1", 76*tenth, 0), want: .06},
			{do: func(m *machine) { m.moved("eth1", 76*tenth+1, 0); m.moved("eth0", 5000+3*tenth, 5000) }, want: .2},
		},
		size: 1.25e9,
	}, {
		name: "a link takes the name of a virtual interface that went away",
		steps: []networkStep{
			{do: func(m *machine) { m.interfaces("lo", "eth0") }, after: time.Second, want: 0},
			{do: func(m *machine) { m.interfaces("lo", "eth0", "cni0"); m.link("cni0", "1000", "up", 0, 0) }, after: time.Second, err: telemetry.ErrResized},
			{do: moved("cni0", tenth, 0), want: .1},
		},
		size: 1.25e8,
	}, {
		name: "the only link is replaced",
		steps: []networkStep{
			{do: func(m *machine) { m.interfaces("lo", "eth1"); m.link("eth1", "1000", "up", 7, 7) }, after: time.Second, err: telemetry.ErrResized},
			{do: moved("eth1", 7, 7+tenth), want: .1},
		},
		size: 1.25e8,
	}, {
		name: "the speed changes",
		steps: []networkStep{
			{do: func(m *machine) {
				m.write(m.linkFile("eth0", "speed"), "10000\n")
				m.write(m.linkFile("eth0", "carrier_changes"), "4\n")
			}, after: time.Second, err: telemetry.ErrResized},
			{do: moved("eth0", 5000+tenth, 5000), want: .01},
		},
		size: 1.25e9,
	}, {
		name: "the speed changes, and nothing tells of carriers",
		steps: []networkStep{
			{do: func(m *machine) { m.write(m.linkFile("eth0", "carrier_changes"), "") }, after: time.Second, want: 0},
			{do: func(m *machine) { m.write(m.linkFile("eth0", "speed"), "100\n") }, after: time.Second, err: telemetry.ErrResized},
			{do: moved("eth0", 5000+tenth/10, 5000), want: .1},
		},
		size: 1.25e7,
	}, {
		name: "the link goes down and comes back",
		steps: []networkStep{
			{do: func(m *machine) { m.write(m.linkFile("eth0", "operstate"), "down\n") }, after: time.Second, err: telemetry.ErrNoLinkSpeed},
			{do: func(*machine) {}, err: telemetry.ErrNoLinkSpeed},
			{do: func(m *machine) {
				m.write(m.linkFile("eth0", "operstate"), "up\n")
				m.moved("eth0", 5000+90*tenth, 5000)
			}, after: time.Second, err: telemetry.ErrResized},
			{do: moved("eth0", 5000+91*tenth, 5000), want: .1},
		},
		size: 1.25e8,
	}, {
		name: "the counters start again",
		steps: []networkStep{
			{do: moved("eth0", 0, 0), err: telemetry.ErrBackwards},
			{do: moved("eth0", tenth, 0), want: .1},
		},
		size: 1.25e8,
	}, {
		name: "32 bits wrap",
		steps: []networkStep{
			{do: moved("eth0", 5000, 1<<32-1), after: 35 * time.Second, want: float64(1<<32-1-5000) / (35 * 1.25e8)},
			{do: moved("eth0", 5000, 17), err: telemetry.ErrBackwards},
			{do: moved("eth0", 5000, 17+tenth), want: .1},
		},
		size: 1.25e8,
	}, {
		name: "a counter leaps",
		steps: []networkStep{
			{do: moved("eth0", 5000+tenth, 5000), want: .1},
			{do: moved("eth0", 5000+tenth+1<<32, 5000), err: telemetry.ErrLeap},
			{do: moved("eth0", 5000+3*tenth+1<<32, 5000), want: .2},
			{do: moved("eth0", 5000+3*tenth+1<<32, 1<<63), err: telemetry.ErrLeap},
			{do: func(*machine) {}, want: 0},
		},
		size: 1.25e8,
	}, {
		name: "a link is faster than it says, as a virtual one within a host",
		steps: []networkStep{
			{do: moved("eth0", 5000+30*tenth, 5000), err: telemetry.ErrLeap},
			{do: moved("eth0", 5000+60*tenth, 5000), want: 1},
			{do: moved("eth0", 5000+90*tenth, 5000), want: 1},
			{do: moved("eth0", 5000+91*tenth, 5000), want: .1},
			{do: moved("eth0", 5000+121*tenth, 5000), err: telemetry.ErrLeap},
		},
		size: 1.25e8,
	}, {
		name: "half a number",
		steps: []networkStep{
			{do: func(m *machine) {
				m.moved("eth0", 5000+tenth, 0)
				m.write(m.linkFile("eth0", "statistics/tx_bytes"), "50")
			}, err: telemetry.ErrPartial},
			// The mean of both intervals: the bad reading has not become the base.
			{do: moved("eth0", 5000+4*tenth, 5000), want: .2},
		},
		size: 1.25e8,
	}, {
		name: "the list is of another file",
		steps: []networkStep{
			{do: func(m *machine) { m.write(filepath.Join(m.proc, "net/dev"), "a|\nb|\n...\n") }, after: time.Second, err: telemetry.ErrMalformed},
			{do: func(m *machine) { m.interfaces("eth0"); m.moved("eth0", 5000+11*tenth, 5000) }, after: 0, want: .1},
		},
		size: 1.25e8,
	}, {
		name: "a suspend",
		steps: []networkStep{
			{do: moved("eth0", 5000+tenth, 5000), after: time.Hour, err: telemetry.ErrLongInterval},
			{do: moved("eth0", 5000+2*tenth, 5000), want: .1},
		},
		size: 1.25e8,
	}, {
		name: "the clock is set back",
		steps: []networkStep{
			{do: moved("eth0", 5000+tenth, 5000), after: -time.Hour, err: telemetry.ErrNoInterval},
			{do: moved("eth0", 5000+2*tenth, 5000), want: .1},
		},
		size: 1.25e8,
	}} {
		t.Run(tc.name, func(t *testing.T) {
			m, c := networkMachine(t)
			c.MaxInterval = 40 * time.Second
			r := m.reader(c)
			m.prime(r, start)
			at := start
			for i, step := range tc.steps {
				step.do(m)
				if step.after == 0 {
					step.after = period
				}
				at = at.Add(step.after)
				m.idle(at)
				got, err := r.SampleTo(nil, at)
				if !errors.Is(err, step.err) {
					t.Fatalf("step %d: %v, %v, want %v", i, got, err, step.err)
				}
				if failed := telemetry.ChannelErrors(err); err != nil && failed[len(failed)-1].Channel != "network" {
					t.Errorf("step %d: %v names no network", i, err)
				}
				if err == nil && !cmp.Equal(step.want, got[2], near) {
					t.Errorf("step %d: %v, want %v", i, got[2], step.want)
				}
			}
			if got := r.Sizes()[2]; got != tc.size {
				t.Errorf("size = %v, want %v", got, tc.size)
			}
		})
	}
}

// TestLinkThatCannotBeMeasured: a bad link affects only its own load. Once it is good again, its
// load is measured.
func TestLinkThatCannotBeMeasured(t *testing.T) {
	t.Cleanup(telemetry.WaitForSpeeds())
	type step struct {
		eth0, eth1 uint64 // tenths received so far
		spoil      func(m *machine)
		want       float64
	}
	torn := func(text string) func(m *machine) {
		return func(m *machine) { m.write(m.linkFile("eth1", "statistics/rx_bytes"), text) }
	}
	for name, steps := range map[string][]step{
		"unreadable": {{1, 3, nil, .3}, {3, 0, torn(""), .2}, {4, 11, nil, .4}, {4, 12, nil, .1}}, // .4: over both intervals
		"malformed":  {{1, 3, nil, .3}, {3, 0, torn("-1\n"), .2}, {4, 11, nil, .4}},
		"backwards":  {{1, 3, nil, .3}, {3, 2, nil, .2}, {4, 5, nil, .3}},
		"a leap":     {{1, 3, nil, .3}, {3, 1 << 20, nil, .2}, {4, 1<<20 + 3, nil, .3}},
		"a name that is none": {{1, 3, func(m *machine) {
			m.write(filepath.Join(m.proc, "net/dev"), "a|\nb|\n  eth0: 1\n../x: 1\n no name\n  eth1: 1\n")
		}, .3}, {3, 4, nil, .2}},
	} {
		t.Run(name, func(t *testing.T) {
			m, c := networkMachine(t)
			m.interfaces("eth0", "eth1")
			m.link("eth0", "1000", "up", 0, 0)
			m.link("eth1", "1000", "up", 0, 0)
			c.MaxInterval = 2 * time.Second
			r := m.reader(c)
			m.prime(r, start)
			at := start.Add(950 * time.Millisecond) // the list is read anew at the first step
			m.idle(at)
			m.sample(r, at)
			for i, s := range steps {
				m.moved("eth0", s.eth0*tenth, 0)
				m.moved("eth1", s.eth1*tenth, 0)
				if s.spoil != nil {
					s.spoil(m)
				}
				at = at.Add(period)
				m.idle(at)
				if got := m.sample(r, at)[2]; !cmp.Equal(s.want, got, near) {
					t.Errorf("step %d: %v, want %v", i, got, s.want)
				}
			}
		})
	}
}

// TestLinkThatIsBadFromTheStart: a Reader measures the others.
func TestLinkThatIsBadFromTheStart(t *testing.T) {
	m, c := networkMachine(t)
	m.interfaces("eth0", "eth1")
	m.link("eth1", "1000", "up", 0, 0)
	m.write(m.linkFile("eth1", "statistics/tx_bytes"), "")
	r := m.reader(c)
	m.prime(r, start)
	m.moved("eth0", 5000+2*tenth, 5000)
	if got := m.sample(r, start.Add(period))[2]; !cmp.Equal(.2, got, near) {
		t.Errorf("%v, want .2", got)
	}
	m.write(m.linkFile("eth0", "statistics/tx_bytes"), "")
	if _, err := telemetry.NewReader(c); !errors.Is(err, telemetry.ErrPartial) {
		t.Errorf("no link can be read: %v", err)
	}
}

// A link whose files disappear between two scans is noticed at once.
func TestLinkUnplugged(t *testing.T) {
	t.Cleanup(telemetry.WaitForSpeeds())
	m, c := networkMachine(t)
	m.interfaces("eth0", "eth1")
	m.link("eth1", "1000", "up", 0, 0)
	r := m.reader(c)
	m.prime(r, start)
	r.Close() // as the kernel does with the files of a device that has gone
	m.interfaces("eth0")
	m.remove(m.linkFile("eth1", ""))
	_, err := r.SampleTo(nil, start.Add(period))
	if !errors.Is(err, telemetry.ErrResized) {
		t.Fatalf("err = %v, want ErrResized", err)
	}
	m.moved("eth0", 5000, 5000+tenth)
	if got := m.sample(r, start.Add(2*period))[2]; !cmp.Equal(.1, got, near) {
		t.Errorf("%v, want .1", got)
	}
}

func TestNoLinkOfKnownSpeed(t *testing.T) {
	for _, tc := range []struct {
		name  string
		setup func(m *machine)
		names string
		// fixed: Config.LinkSpeed helps.
		fixed bool
	}{
		{"the driver does not tell", func(m *machine) { m.link("eth0", "-1", "up", 0, 0) }, `["eth0"]`, true},
		{"as older kernels print it", func(m *machine) { m.link("eth0", "4294967295", "unknown", 0, 0) }, `["eth0"]`, true},
		{"refused", func(m *machine) { m.remove(m.linkFile("eth0", "speed")) }, `["eth0"]`, true},
		{"down", func(m *machine) { m.link("eth0", "1000", "down", 0, 0) }, `["eth0"]`, false},
		{"virtual ones alone", func(m *machine) { m.interfaces("lo", "cni0") }, "[]", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, c := networkMachine(t)
			tc.setup(m)
			_, err := telemetry.NewReader(c)
			failed := telemetry.ChannelErrors(err)
			if len(failed) != 1 || !errors.Is(err, telemetry.ErrNoLinkSpeed) || failed[0].Cause() != "no-link-speed" || !strings.Contains(err.Error(), tc.names) {
				t.Errorf("err = %v, want ErrNoLinkSpeed of %s", err, tc.names)
			}
			c.LinkSpeed = 1.25e7
			r, err := telemetry.NewReader(c)
			if (err == nil) != tc.fixed {
				t.Fatalf("with LinkSpeed: %v", err)
			}
			if err != nil {
				return
			}
			defer r.Close()
			m.moved("eth0", 0, 0)
			m.prime(r, start)
			m.moved("eth0", tenth/2, 0)
			if got := m.sample(r, start.Add(period))[2]; !cmp.Equal(.5, got, near) {
				t.Errorf("%v, want .5", got)
			}
		})
	}
}

// In a container, net/dev is the container's own; the file of process 1 is the host's if proc is.
func TestInterfacesOfProcessOne(t *testing.T) {
	m, c := networkMachine(t)
	m.interfaces("eth0")
	m.link("eth7", "1000", "up", 0, 0)
	m.write(filepath.Join(m.proc, "1/net/dev"), "a|\nb|\neth7: 1\n")
	r := m.reader(c)
	m.prime(r, start)
	m.moved("eth0", 9*tenth, 0)
	m.moved("eth7", tenth, 0)
	if got := m.sample(r, start.Add(period))[2]; !cmp.Equal(.1, got, near) {
		t.Errorf("%v, want .1", got)
	}
}

// veths returns the names of that many pods' interfaces.
func veths(n int) []string {
	names := []string{"lo", "eth0", "cni0"}
	for i := range n {
		names = append(names, fmt.Sprintf("veth%08x", 2654435761*uint32(i+1)))
	}
	return names
}
