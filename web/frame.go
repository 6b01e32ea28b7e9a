package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of what is sent, whatever a State holds.
const (
	// maxFrame is how many bytes an event has at most; what is more follows in further ones.
	maxFrame = 256 << 10
	// maxNodes are shown, those first by name, and MaxRuns of the runs; what is more is counted.
	maxNodes = 20_000
	maxRuns  = 6

	maxWaiting = 100 // as many as anybody reads
	maxName    = 253 // Kubernetes' own for names
	maxWords   = 300 // of a reason
)

// frame is what readers are shown at a time.
type frame struct {
	number uint64
	change []byte        // what differs from the frame before; nil if all must be sent
	whole  func() []byte // all of it, made once
}

// after is what a reader has to be sent who has seen the frame before, or an earlier one, or
// none.
func (f *frame) after(seen *frame) []byte {
	if seen != nil && seen.number+1 == f.number && f.change != nil {
		return f.change
	}
	return f.whole()
}

// painter makes one frame after another. It is for one goroutine.
type painter struct {
	version string // of the page that understands it
	number  uint64
	now     *picture // nil if there was none
}

// forget makes the next frame one that no reader has seen the one before.
func (p *painter) forget() { p.now = nil }

// paint makes a frame of a State, or of the error that there is instead.
func (p *painter) paint(s State, err error) *frame {
	if err != nil {
		return p.again("No answer: " + text(err.Error(), maxWords))
	}
	return p.frame(draw(s, p.version))
}

// wait makes a frame with the time for which there has been no answer.
func (p *painter) wait(late time.Duration) *frame {
	return p.again(fmt.Sprintf("No answer for %s.", span(late)))
}

// again shows what there was, with a problem.
func (p *painter) again(problem string) *frame {
	now := &picture{version: p.version, at: time.UnixMilli(0)}
	if p.now != nil {
		copied := *p.now
		now = &copied
	}
	now.problem = problem
	return p.frame(now)
}

func (p *painter) frame(now *picture) *frame {
	p.number++
	f := &frame{number: p.number}
	f.whole = sync.OnceValue(func() []byte { return now.events(f.number, nil) })
	if p.now != nil && p.now.known() && now.sameNodes(p.now) {
		f.change = now.events(f.number, p.now)
	}
	p.now = now
	return f
}

// picture is what of a State is shown, in the form in which it is sent. It is not modified.
type picture struct {
	version string
	at      time.Time
	problem string
	parts   []part
	fleet
}

// known is whether there was a State: a picture without one replaces nothing that a page shows.
func (c *picture) known() bool { return c.parts != nil }

// part is a part of the page beside the nodes: small, and sent as one whole if it changes.
type part struct {
	name string
	json []byte
}

func draw(s State, version string) *picture {
	s = bounded(s)
	if len(s.Waiting) > s.WaitingTotal {
		s.WaitingTotal = len(s.Waiting)
	}
	further := max(0, len(s.Runs)-maxRuns)
	s.Runs = s.Runs[:len(s.Runs)-further]
	c := &picture{version: version, at: s.At, fleet: newFleet(s.Nodes)}
	c.add("title", text(s.Title, maxWords))
	c.add("verdict", verdict(s))
	c.add("runs", runsOf(s))
	c.add("further", further)
	c.add("curves", completionCurves(s))
	c.add("rates", completionRates(s))
	c.add("waiting", waitingOf(s.Waiting))
	c.add("waitingTotal", s.WaitingTotal)
	return c
}

func (c *picture) add(name string, what any) {
	data, err := json.Marshal(what)
	if err != nil {
		data = []byte("null") // none of these types fails
	}
	c.parts = append(c.parts, part{name, data})
}

// waitingRow is a pod that waits, as it is sent; since is in milliseconds of Unix time.
type waitingRow struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Profile   string `json:"profile"`
	Since     int64  `json:"since"`
	Reason    string `json:"reason"`
}

func waitingOf(pods []Waiting) []waitingRow {
	rows := make([]waitingRow, 0, min(len(pods), maxWaiting))
	for _, p := range pods[:min(len(pods), maxWaiting)] {
		rows = append(rows, waitingRow{text(p.Namespace, maxName), text(p.Name, maxName), text(p.Profile, maxName), p.Since.UnixMilli(), text(p.Reason, maxWords)})
	}
	return rows
}

// events writes the picture as server-sent events, each of at most MaxFrame bytes: all of it,
// or what differs from the one before, which has the same nodes.
func (c *picture) events(number uint64, before *picture) []byte {
	var out []byte
	e := event{limit: maxFrame}
	e.open(number, c)
	if before == nil && c.known() {
		e.nodes(c)
	}
	for i, p := range c.parts {
		if before == nil || i >= len(before.parts) || !bytes.Equal(p.json, before.parts[i].json) {
			e.field(p.name, p.json)
		}
	}
	e.rows()
	for i := range c.nodes {
		if before != nil && c.nodes[i] == before.nodes[i] {
			continue
		}
		if !e.row(c, i, before == nil) {
			out = append(out, e.close(false)...)
			e.open(number, c)
			e.rows()
			e.row(c, i, before == nil)
		}
	}
	return append(out, e.close(true)...)
}

// text makes valid UTF-8 of a string, and cuts it to so many bytes, at a rune, saying that it
// has.
func text(s string, most int) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= most {
		return s
	}
	const more = "…"
	cut := most - len(more)
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}
