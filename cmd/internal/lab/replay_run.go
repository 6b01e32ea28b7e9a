package lab

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
)

// replayPlayer replays a recording: it counts what comes of it, and writes the rows that are wanted.
type replayPlayer struct {
	start    time.Time // of the first record that has one
	override func(*agent.Config)
	result   replaySummary
	rows     *reportRows // nil if none are wanted
}

// replayRecording reads r to its end, with assignments that checkAssignments accepts, and writes a
// line for each report to csv unless that is nil. A torn end of a file, as a crash leaves it, is named
// in the summary and is no error, and neither is a difference. The error is that of reading or of
// writing, or an error of errSet where the assignments together make an invalid configuration of a recorded
// agent.
func replayRecording(r *recording.Reader, assignments []string, csv io.Writer) (replaySummary, error) {
	p := &replayPlayer{override: replayOverride(assignments), result: replaySummary{Options: assignments}}
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

func (p *replayPlayer) play(r *recording.Reader) error {
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

func (p *replayPlayer) feed(m *recording.Matcher, rec recording.Record) error {
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

func (p *replayPlayer) header(h *recording.Header) error {
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
			return refuseSet(strings.Join(s.Options, " "), err)
		}
	}
	return nil
}

func (p *replayPlayer) report(pair recording.Pair) error {
	p.result.pair(pair)
	if p.rows != nil {
		return p.rows.report(pair, p.start)
	}
	return nil
}
