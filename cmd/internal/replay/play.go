package replay

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

// player runs a recording and hands what falls into its window to those who
// asked.
type player struct {
	override func(*agent.Config)
	window   window
	summary  summary
	picture  *picture  // nil if none is wanted
	rows     *rows     // nil if none are wanted
	usage    []float64 // scratch
}

// play reads r to its end.
func (p *player) play(r *recording.Reader) error {
	m := recording.Matcher{Replayer: recording.NewReplayer(p.override)}
	for rec, err := range r.Records() {
		var torn *recording.TornError
		if errors.As(err, &torn) {
			p.summary.Torn = append(p.summary.Torn, torn.Error())
			m.Cut()
			continue
		}
		if err != nil {
			return err
		}
		if err := p.take(&m, rec); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) take(m *recording.Matcher, rec recording.Record) error {
	if rec.Kind == recording.KindHeader {
		if err := p.header(rec.Header); err != nil {
			return err
		}
	}
	pair, ok, err := m.Feed(rec)
	var drift *recording.DriftError
	if errors.As(err, &drift) {
		p.summary.differ(drift.At, "the state of a snapshot is not the one replayed")
	} else if err != nil {
		return err
	}
	p.window.begin(rec.At)
	if p.window.holds(rec.At) {
		p.summary.record(rec)
		p.draw(m, rec)
	}
	if ok && p.window.holds(pair.At()) {
		return p.report(pair)
	}
	return nil
}

func (p *player) header(h *recording.Header) error {
	s := &p.summary
	s.Node = h.Config.Node
	if s.Files++; h.Part == 1 || s.Files == 1 {
		s.Starts++
	}
	c := h.Config
	c.Channels = append([]agent.Channel(nil), c.Channels...)
	if p.override != nil {
		p.override(&c)
		if err := c.Validate(); err != nil {
			return serve.Usage(fmt.Errorf("--set: %w", err))
		}
	}
	if p.picture != nil {
		p.picture.begin(c)
	}
	return nil
}

func (p *player) draw(m *recording.Matcher, rec recording.Record) {
	if p.picture == nil {
		return
	}
	p.picture.record(rec, p.window.start)
	if rec.Kind == recording.KindSample && m.Pipeline() != nil {
		p.usage = m.Pipeline().UsageTo(p.usage)
		p.picture.sample(rec, p.usage, p.window.start)
	}
}

func (p *player) report(pair recording.Pair) error {
	p.summary.pair(pair)
	if p.picture != nil {
		p.picture.report(pair, p.window.start)
	}
	if p.rows != nil {
		return p.rows.report(pair, p.window.start)
	}
	return nil
}
