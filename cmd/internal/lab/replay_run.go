package lab

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim/report"
)

// checkAssignments returns a *field.Error that names Set and the first assignment
// that can't be made.
func checkAssignments(assignments []string) error {
	for _, assignment := range assignments {
		if err := assign(new(agent.Config), assignment); err != nil {
			return refuseSet(assignment, err)
		}
	}
	return nil
}

func refuseSet(assignment any, err error) error {
	return &field.Error{Package: "report", Field: "Set", Value: assignment, Err: fmt.Errorf("%w: %w", report.ErrInvalid, err)}
}

// override returns what the assignments, which are valid one by one, do to a
// Config; nil without any.
func override(assignments []string) func(*agent.Config) {
	if len(assignments) == 0 {
		return nil
	}
	return func(c *agent.Config) {
		for _, assignment := range assignments {
			assign(c, assignment) //nolint:errcheck // checkAssignments has made it
		}
	}
}

// player runs a recording and hands what comes of it to those who asked.
type player struct {
	start    time.Time // of the first record that has one
	override func(*agent.Config)
	result   replaySummary
	rows     *reportRows // nil if none are wanted
}

// replayRecording reads r to its end, with assignments that checkAssignments accepts, and writes a
// line for each report to csv unless that is nil. A torn end of a file, as a crash leaves it, is no error
// but named in the summary; a difference is none either. The error is that of reading, or a
// *field.Error where the options as a whole are no configuration of a recorded agent.
func replayRecording(r *recording.Reader, assignments []string, csv io.Writer) (replaySummary, error) {
	p := &player{override: override(assignments), result: replaySummary{Options: assignments}}
	if csv != nil {
		p.rows = newReportRows(csv)
	}
	if err := p.play(r); err != nil {
		return replaySummary{}, err
	}
	if p.rows != nil {
		return p.result, p.rows.flush()
	}
	return p.result, nil
}

func (p *player) play(r *recording.Reader) error {
	m := recording.Matcher{Replayer: recording.NewReplayer(p.override)}
	for rec, err := range r.Records() {
		var torn *recording.TornError
		if errors.As(err, &torn) {
			p.result.Torn = append(p.result.Torn, torn.Error())
			m.Cut()
			continue
		}
		if err != nil {
			return err
		}
		if err := p.feed(&m, rec); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) feed(m *recording.Matcher, rec recording.Record) error {
	if rec.Kind == recording.KindHeader {
		if err := p.header(rec.Header); err != nil {
			return err
		}
	}
	pair, ok, err := m.Feed(rec)
	var drift *recording.DriftError
	if errors.As(err, &drift) {
		p.result.differ(drift.At, "the state of a snapshot is not the one replayed")
	} else if err != nil {
		return err
	}
	if p.start.IsZero() {
		p.start = rec.At
	}
	p.result.record(rec)
	if ok {
		return p.report(pair)
	}
	return nil
}

func (p *player) header(h *recording.Header) error {
	s := &p.result
	s.Node = h.Config.Node
	if s.Files++; h.Part == 1 || s.Files == 1 {
		s.Starts++
	}
	c := h.Config
	c.Channels = append([]agent.Channel(nil), c.Channels...)
	if p.override != nil {
		p.override(&c)
		if err := c.Validate(); err != nil {
			return refuseSet(s.Options, err)
		}
	}
	return nil
}

func (p *player) report(pair recording.Pair) error {
	p.result.pair(pair)
	if p.rows != nil {
		return p.rows.report(pair, p.start)
	}
	return nil
}
