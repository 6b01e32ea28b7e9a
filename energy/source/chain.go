package source

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
)

const (
	// chainReads is how many readings in a row make a source the one that is read.
	chainReads = 2
	// chainFailures is how many failures in a row end that.
	chainFailures = 3
	// chainLook is how often better sources are tried.
	chainLook = time.Minute
)

// Opener opens a source that may not be there yet.
type Opener struct {
	// Name is the source's.
	Name string
	// Open opens it, or returns why it is not there; it is called again and again until it is.
	Open func() (Source, error)
}

// Chain is the best of several sources that reads: the first of them that reads twice in
// a row is taken, after three failures in a row the next is, and each minute those
// before it are tried again. Readings that can't be energy of a machine are failures:
// those that a Meter refuses, and counters that stand still for ten seconds. Powers of
// different sources don't compare: when Name changes, a Meter has to begin anew.
type Chain struct {
	links    []chainLink
	current  int // of links; −1: none
	failures int // of the current one, in a row
	looked   time.Time
	logger   *slog.Logger
}

type chainLink struct {
	opener Opener
	source Source // nil until it is open
	reads  int    // in a row, without being the current one
	judge  judge
	passed bool // the log has why its readings are refused
}

// NewChain returns a chain of sources, the best first. It reads none yet.
func NewChain(openers ...Opener) *Chain {
	c := &Chain{current: -1, logger: slog.New(slog.DiscardHandler)}
	for _, o := range openers {
		c.links = append(c.links, chainLink{opener: o})
	}
	return c
}

// Name implements Source: that of the source that is read, "none" of none.
func (c *Chain) Name() string {
	if c.current < 0 {
		return "none"
	}
	return c.links[c.current].opener.Name
}

// Quality implements Source.
func (c *Chain) Quality() energy.Quality {
	if c.current < 0 {
		return energy.None
	}
	return c.links[c.current].source.Quality()
}

// Period implements Source.
func (c *Chain) Period() time.Duration {
	if c.current < 0 {
		return 0
	}
	return c.links[c.current].source.Period()
}

// Close implements Source.
func (c *Chain) Close() error {
	var errs []error
	for i := range c.links {
		errs = append(errs, c.links[i].drop())
	}
	c.current = -1
	return errors.Join(errs...)
}

// ReadTo implements Source. Where no source reads the error is of each why not.
func (c *Chain) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	if c.current < 0 {
		return c.probe(dst, at, len(c.links))
	}
	due := at.Sub(c.looked) >= chainLook
	if due {
		c.looked = at
	}
	if due || c.trying() {
		if better, err := c.probe(dst, at, c.current); err == nil {
			return better, nil
		}
	}
	return c.read(dst, at)
}

// read reads the current source.
func (c *Chain) read(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	l := &c.links[c.current]
	dst, err := l.source.ReadTo(dst, at)
	var refused error
	if len(dst) > 0 {
		refused = l.judge.accept(dst, l.source, at)
	}
	if len(dst) > 0 && refused == nil {
		c.failures = 0
		return dst, err
	}
	if errors.Is(refused, ErrUnchanged) {
		return dst[:0], ErrUnchanged
	}
	if len(dst) == 0 && errors.Is(err, ErrUnchanged) {
		return dst, err // nothing new makes a refused reading before it no better
	}
	if c.failures++; c.failures < chainFailures {
		return dst, errors.Join(err, refused) // a Meter refuses most of it as well, and reports it
	}
	c.current, c.failures = -1, 0
	return dst[:0], errors.Join(c.passOver(l, refused), err, l.drop())
}

// trying reports whether a better source than the current one has read.
func (c *Chain) trying() bool {
	return slices.ContainsFunc(c.links[:c.current], func(l chainLink) bool { return l.reads > 0 })
}

// probe tries the sources before a limit, in their order; the first that has read often
// enough in a row becomes the current one.
func (c *Chain) probe(dst []energy.Reading, at time.Time, limit int) ([]energy.Reading, error) {
	var refused []error
	for i := range limit {
		l := &c.links[i]
		var err error
		dst, err = c.try(dst, at, l)
		bad := c.refusal(l, dst, at)
		switch {
		case errors.Is(bad, ErrUnchanged):
			refused = append(refused, bad)
		case bad != nil:
			l.reads = 0
			refused = append(refused, bad)
		case len(dst) > 0:
			l.reads++
			if l.reads >= chainReads {
				c.take(i, at)
				return dst, err
			}
			refused = append(refused, ErrUnchanged)
		case errors.Is(err, ErrUnchanged):
			refused = append(refused, err)
		default:
			l.reads = 0
			refused = append(refused, err)
		}
	}
	if len(refused) == 0 {
		return dst[:0], ErrNoPower
	}
	return dst[:0], errors.Join(refused...)
}

// refusal is why the readings of a source that is not the current one are refused, if
// they are.
func (c *Chain) refusal(l *chainLink, readings []energy.Reading, at time.Time) error {
	if len(readings) == 0 {
		return nil
	}
	return c.passOver(l, l.judge.accept(readings, l.source, at))
}

// passOver names the source whose readings are refused, if err is why. The log has it once,
// until the source is taken again.
func (c *Chain) passOver(l *chainLink, err error) error {
	if err == nil || errors.Is(err, ErrUnchanged) {
		return err
	}
	if !l.passed {
		l.passed = true
		c.logger.Warn("a source of energy cannot be read; trying the next one", "source", l.opener.Name, "error", err)
	}
	return fmt.Errorf("source: %s: %w", l.opener.Name, err)
}

// take makes a source the current one and closes those after it.
func (c *Chain) take(i int, at time.Time) {
	c.current, c.failures, c.looked = i, 0, at
	c.links[i].passed = false
	for better := range c.links[:i+1] {
		c.links[better].reads = 0
	}
	for later := i + 1; later < len(c.links); later++ {
		_ = c.links[later].drop() // what was read alone
	}
}

// try reads a source, which is opened if it is not.
func (c *Chain) try(dst []energy.Reading, at time.Time, l *chainLink) ([]energy.Reading, error) {
	if l.source == nil {
		s, err := l.opener.Open()
		if err != nil {
			return dst[:0], err
		}
		l.source = s
	}
	return l.source.ReadTo(dst, at) // one that fails stays open, and may read again
}

// drop closes a source.
func (l *chainLink) drop() error {
	s := l.source
	if s == nil {
		return nil
	}
	l.source, l.reads = nil, 0
	return s.Close()
}
