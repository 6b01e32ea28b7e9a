package source_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
)

var errBroken = errors.New("broken")

// scripted is a source that reads, fails or has no new reading by a script: letters r, f, u in
// turn, the last one for ever. b is an impossible reading.
type scripted struct {
	name   string
	script *string
	open   *int
}

func (s scripted) Name() string            { return s.name }
func (s scripted) Quality() energy.Quality { return energy.Measured }
func (s scripted) Period() time.Duration   { return time.Second }
func (s scripted) Close() error            { *s.open--; return nil }

func (s scripted) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	step := (*s.script)[0]
	if len(*s.script) > 1 {
		*s.script = (*s.script)[1:]
	}
	switch step {
	case 'r':
		return append(dst[:0], energy.Reading{Zone: s.name, Counter: uint64(at.Sub(start).Microseconds()) * 50, At: at}), nil // 50 W
	case 'b':
		return append(dst[:0], energy.Reading{Zone: s.name, Counter: 2, Range: 1, At: at}), nil
	case 'u':
		return dst[:0], source.ErrUnchanged
	}
	return dst[:0], errBroken
}

// TestChain: a letter a second shows which source was read, a dot none.
func TestChain(t *testing.T) {
	minute := strings.Repeat("b", 58)
	for name, c := range map[string]struct {
		a, b    string
		missing int // how often a can't be opened
		want    string
	}{
		"the first":                 {"r", "r", 0, ".aaaa"},
		"the second":                {"f", "r", 0, ".bbbb"},
		"reads once":                {"rf", "r", 0, ".bbbb"},
		"alternates":                {"rfrfrfrfrf", "r", 0, ".bbbb"},
		"down after three failures": {"rrfffr", "r", 0, ".a....aa"},
		"two failures are none":     {"rrffrr", "r", 0, ".a..aa"},
		"nothing new is no failure": {"rruuuuur", "r", 0, ".a.....a"},
		"nonsense between silences": {"rrbububu", "r", 0, ".aa.a...bb"},
		"down to the second":        {"rrf", "r", 0, ".a....bb"},
		"slow to begin":             {"uuuru", "f", 0, "......."},
		"up after a minute":         {"r", "r", 1, ".b" + minute + "bbaaa"},
		"none":                      {"f", "f", 0, "...."},
	} {
		t.Run(name, func(t *testing.T) {
			open := 0
			missing := c.missing
			link := func(name string, script *string) source.Opener {
				return source.Opener{Name: name, Open: func() (source.Source, error) {
					if name == "a" && missing > 0 {
						missing--
						return nil, source.ErrNoPower
					}
					open++
					return scripted{name, script, &open}, nil
				}}
			}
			chain := source.NewChain(link("a", &c.a), link("b", &c.b))
			var got strings.Builder
			for i := range c.want {
				readings, _ := chain.ReadTo(nil, after(float64(i)))
				switch {
				case len(readings) == 0:
					got.WriteByte('.')
				default:
					got.WriteString(readings[0].Zone)
					if chain.Name() != readings[0].Zone {
						t.Errorf("%s is read, and %s told", readings[0].Zone, chain.Name())
					}
				}
			}
			if got.String() != c.want {
				t.Errorf("%s\nwant %s", got.String(), c.want)
			}
			if err := chain.Close(); err != nil || open != 0 {
				t.Error("left open:", open, err)
			}
		})
	}
}

// TestChainKeepsWhatFails: a source that fails while no other reads is opened once, because opening
// may begin to query the network.
func TestChainKeepsWhatFails(t *testing.T) {
	script, open, opened := "fffffffrr", 0, 0
	chain := source.NewChain(source.Opener{Name: "a", Open: func() (source.Source, error) {
		opened++
		open++
		return scripted{"a", &script, &open}, nil
	}})
	for i := range 9 {
		_, _ = chain.ReadTo(nil, after(float64(i)))
	}
	if opened != 1 || chain.Name() != "a" {
		t.Errorf("opened %d times, reads %s", opened, chain.Name())
	}
}
