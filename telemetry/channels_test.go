package telemetry_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/telemetry"
)

func TestParseChannels(t *testing.T) {
	for text, want := range map[string]telemetry.Channels{
		"":                                      {},
		"cpu,memory":                            {},
		"io":                                    {IO: true},
		" network , memory-pressure":            {Network: true, MemoryPressure: true},
		"cpu,memory,memory-pressure,io,network": {MemoryPressure: true, IO: true, Network: true},
	} {
		got, err := telemetry.ParseChannels(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		if again, err := telemetry.ParseChannels(got.String()); err != nil || again != got {
			t.Errorf("%q: %v, %v", got, again, err)
		}
	}
	for _, text := range []string{"disk", "cpu,,io", ","} {
		_, err := telemetry.ParseChannels(text)
		var f *telemetry.FieldError
		if !errors.As(err, &f) {
			t.Errorf("%q: err = %v, want *FieldError", text, err)
		}
	}
}

func ExampleParseChannels() {
	c, err := telemetry.ParseChannels("io,network")
	fmt.Println(c, err)
	_, err = telemetry.ParseChannels("cpu,disk")
	fmt.Println(err)
	// Output:
	// cpu,memory,io,network <nil>
	// telemetry: channel = "disk": invalid configuration or input: not one of cpu, memory, memory-pressure, io, network
}

// everything is a machine with all channels.
func everything(t testing.TB) (*machine, telemetry.Config) {
	m := newMachine(t)
	m.stall("memory", 0)
	m.stall("io", 0)
	m.interfaces("lo", "eth0")
	m.link("eth0", "10000", "up", 0, 0)
	c := m.config()
	c.Contention = telemetry.ContentionPressure
	c.Channels = telemetry.Channels{MemoryPressure: true, IO: true, Network: true}
	return m, c
}

func TestAllChannels(t *testing.T) {
	m, c := everything(t)
	r := m.reader(c)
	m.prime(r, start)
	m.stat(4, 10, 30)
	m.pressure(50_000)
	m.stall("memory", 10_000)
	m.stall("io", 20_000)
	m.moved("eth0", 1_000, 50_000_000)
	got := m.sample(r, start.Add(period))
	if diff := cmp.Diff([]float64{.375, .4, .1, .2, .4}, got, near); diff != "" {
		t.Errorf("sample (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(telemetry.Schema{
		ID:       "v2;cpu=half-pressure;memory=available;memory-pressure=some;io=some;network=link",
		Channels: []string{"cpu", "memory", "memory-pressure", "io", "network"},
	}, r.Schema()); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{4, 1000 << 10, 1, 1, 1.25e9}, r.Sizes()); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

// One error names every channel that failed, and the others advance.
func TestEveryFailedChannelIsNamed(t *testing.T) {
	m, c := everything(t)
	r := m.reader(c)
	m.prime(r, start)
	m.stat(4, 10, 30)
	m.stall("memory", 90_000)
	m.write(filepath.Join(m.proc, "pressure", "cpu"), "some avg10=0.00")
	m.write(filepath.Join(m.proc, "meminfo"), "MemTotal: many kB\n")

	_, err := r.SampleTo(nil, start.Add(period))
	var sample *telemetry.SampleError
	if !errors.As(err, &sample) {
		t.Fatalf("err = %v, want *SampleError", err)
	}
	type failure struct{ Channel, Cause string }
	var got []failure
	for _, e := range telemetry.ChannelErrors(fmt.Errorf("wrapped: %w", err)) {
		got = append(got, failure{e.Channel, e.Cause()})
	}
	if diff := cmp.Diff([]failure{{"cpu", "partial"}, {"memory", "malformed"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !errors.Is(err, telemetry.ErrPartial) || !errors.Is(err, telemetry.ErrMalformed) {
		t.Errorf("%v", err)
	}

	m.stat(4, 20, 60)
	m.pressure(0)
	m.meminfo(1000, 600)
	m.stall("io", 0)
	m.stall("memory", 100_000)
	values := m.sample(r, start.Add(2*period))
	if diff := cmp.Diff([]float64{.125, .4, .1, 0, 0}, values, near); diff != "" {
		t.Errorf("sample afterwards (-want +got):\n%s", diff)
	}
}

// A fault of the whole machine fails every channel that has an interval; a fault of one channel's
// counter fails that channel.
func TestDroppedChannels(t *testing.T) {
	rates := []string{"cpu", "memory-pressure", "io", "network"}
	for _, tc := range []struct {
		name     string
		after    time.Duration
		step     func(m *machine)
		channels []string
		cause    string
	}{
		{"suspend", time.Hour, func(*machine) {}, rates, "long-interval"},
		{"clock set back", -time.Minute, func(*machine) {}, rates, "no-interval"},
		{"no time", 0, func(*machine) {}, rates, "no-interval"},
		{"memory's stall time backwards", period, func(m *machine) { m.stall("memory", 1) }, []string{"memory-pressure"}, "backwards"},
		{"io's stall time backwards", period, func(m *machine) { m.stall("io", 1) }, []string{"io"}, "backwards"},
		{"io's stall time cut", period, func(m *machine) {
			m.write(filepath.Join(m.proc, "pressure/io"), "some avg10=0.00 avg60=0")
		}, []string{"io"}, "partial"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, c := everything(t)
			m.usage("", 1)
			m.stall("memory", 5000)
			m.stall("io", 5000)
			r := m.reader(c)
			m.prime(r, start)
			tc.step(m)
			_, err := r.SampleTo(nil, start.Add(tc.after))
			var channels []string
			for _, e := range telemetry.ChannelErrors(err) {
				channels = append(channels, e.Channel)
				if e.Cause() != tc.cause {
					t.Errorf("cause %s, want %s", e.Cause(), tc.cause)
				}
			}
			if diff := cmp.Diff(tc.channels, channels); diff != "" {
				t.Errorf("channels (-want +got):\n%s", diff)
			}
			m.usage("", 40_001)
			m.stall("memory", 5000)
			m.stall("io", 5000)
			got := m.sample(r, start.Add(tc.after+period))
			for i, y := range got {
				if math.IsNaN(y) || y < 0 || i != 1 && y > .05 {
					t.Errorf("channel %d = %v afterwards", i, y)
				}
			}
		})
	}
}

func TestChannelErrors(t *testing.T) {
	one := &telemetry.ChannelError{Channel: "cpu", Err: telemetry.ErrBackwards}
	two := &telemetry.ChannelError{Channel: "io", Err: telemetry.ErrPartial}
	for _, tc := range []struct {
		name string
		err  error
		want []*telemetry.ChannelError
	}{
		{"none", nil, nil},
		{"another error", fs.ErrNotExist, nil},
		{"one", fmt.Errorf("wrapped: %w", one), []*telemetry.ChannelError{one}},
		{"a sample's", &telemetry.SampleError{Channels: []*telemetry.ChannelError{one, two}}, []*telemetry.ChannelError{one, two}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := telemetry.ChannelErrors(tc.err)
			if len(got) != len(tc.want) {
				t.Fatalf("%v, want %v", got, tc.want)
			}
			for i := range got {
				if got[i] != tc.want[i] {
					t.Errorf("%v, want %v", got, tc.want)
				}
			}
		})
	}
	err := &telemetry.SampleError{Channels: []*telemetry.ChannelError{one, two}}
	if want := "telemetry: channel cpu: counter ran backwards; telemetry: channel io: incomplete text"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

// A kernel without pressure stall information has no file, or (psi=0 on older
// ones) a file that fails with EOPNOTSUPP.
func TestLacksPressure(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{&telemetry.ChannelError{Channel: "io", Err: syscall.EOPNOTSUPP}, true},
		{&telemetry.ChannelError{Channel: "io", Err: syscall.ENOENT}, true},
		{&telemetry.ChannelError{Channel: "io", Err: syscall.EACCES}, false},
		{&telemetry.ChannelError{Channel: "io", Err: telemetry.ErrMalformed}, false},
	} {
		if got := telemetry.LacksPressure(tc.err); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.err, got, tc.want)
		}
	}
}
