package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
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

// event writes one server-sent event: an object in JSON on one line. A whole picture that takes
// several has its nodes' names shared between neighbours, which are in one event or not.
//
//	{"number":1,"at":…,"version":"…","problem":"…",        in every event
//	 "count":3,"further":0,"ending":".internal",           of a whole picture, in the first
//	 "PART":…,                                             parts that have changed, in the first
//	 "rows":[[0,1,0,0,32,80,0,5,1,0,0,"node-1"],…],
//	 "words":["","cpu"],
//	 "last":true}
//
// A row has the node's place by name, signal, whether it is saturated, whether it takes pods by
// requests alone, free, capacity and in flight in tenths of a pod, running, limiting and reason as
// places in words, and where all is sent, how many characters of the name before it begins with, and
// the others but the ending. null is a number that is not known. Where nothing is known yet but the
// problem, at is 0 and there are neither nodes nor parts: a page that has some shows them on.
type event struct {
	limit  int
	ending int // how many bytes at the end of all names are sent once
	data   []byte
	first  bool // no row yet
	words  []string
	place  map[string]int
	said   int // how many bytes words will take
}

const (
	beforeData = "event: frame\ndata: "
	afterData  = "\n\n"
	// closing is what an event takes beside rows and words, at most.
	closing = len(`],"words":[],"last":false}`) + len(afterData)
)

func (e *event) open(number uint64, c *picture) {
	e.data = append(e.data[:0], beforeData+`{"number":`...)
	e.data = strconv.AppendUint(e.data, number, 10)
	e.data = append(e.data, `,"at":`...)
	e.data = strconv.AppendInt(e.data, c.at.UnixMilli(), 10)
	e.data = append(e.data, `,"version":`...)
	e.data = append(e.data, quoted(c.version)...)
	e.data = append(e.data, `,"problem":`...)
	e.data = append(e.data, quoted(c.problem)...)
	e.words, e.place, e.said = nil, make(map[string]int), 0
}

func (e *event) field(name string, value []byte) {
	e.data = append(e.data, `,"`...)
	e.data = append(e.data, name...)
	e.data = append(e.data, `":`...)
	e.data = append(e.data, value...)
}

// nodes announces the nodes of a whole picture.
func (e *event) nodes(c *picture) {
	ending := c.ending()
	e.ending = len(ending)
	e.field("count", strconv.AppendInt(nil, int64(len(c.nodes)), 10))
	e.field("more", strconv.AppendInt(nil, int64(c.further), 10))
	e.field("ending", quoted(ending))
}

func (e *event) rows() {
	e.data = append(e.data, `,"rows":[`...)
	e.first = true
}

// row adds a node, unless the event would have more than its limit.
func (e *event) row(c *picture, i int, named bool) bool {
	undo, words, said := len(e.data), len(e.words), e.said
	if !e.first {
		e.data = append(e.data, ',')
	}
	t := &c.nodes[i]
	e.data = append(e.data, '[')
	for _, n := range [...]int{i, t.signal, t.saturated, t.byRequests, int(t.free), int(t.capacity), int(t.inFlight), t.running, e.word(t.limiting), e.word(t.reason)} {
		if n == int(unknown) {
			e.data = append(e.data, "null"...)
		} else {
			e.data = strconv.AppendInt(e.data, int64(n), 10)
		}
		e.data = append(e.data, ',')
	}
	if named {
		end := len(c.names[i]) - e.ending
		shared := 0
		if !e.first {
			shared = c.shared(i, end)
		}
		e.data = strconv.AppendInt(e.data, int64(shared), 10)
		e.data = append(e.data, ',')
		e.data = append(e.data, quoted(c.names[i][shared:end])...)
		e.data = append(e.data, ']')
	} else {
		e.data[len(e.data)-1] = ']'
	}
	if len(e.data)+e.said+closing <= e.limit || e.first {
		e.first = false
		return true
	}
	e.data, e.said = e.data[:undo], said
	for _, w := range e.words[words:] {
		delete(e.place, w)
	}
	e.words = e.words[:words]
	return false
}

// word is the place of a word in words.
func (e *event) word(w string) int {
	at, ok := e.place[w]
	if !ok {
		at = len(e.words)
		e.place[w] = at
		e.words = append(e.words, w)
		e.said += len(quoted(w)) + len(",")
	}
	return at
}

// close returns the event.
func (e *event) close(last bool) []byte {
	e.data = append(e.data, `],"words":[`...)
	for i, w := range e.words {
		if i > 0 {
			e.data = append(e.data, ',')
		}
		e.data = append(e.data, quoted(w)...)
	}
	e.data = append(e.data, `],"last":`...)
	e.data = strconv.AppendBool(e.data, last)
	return append(e.data, "}"+afterData...)
}

// quoted is a text as JSON.
func quoted(s string) []byte {
	data, err := json.Marshal(s)
	if err != nil {
		return []byte(`""`) // no string fails
	}
	return data
}

// fleet is the nodes of a picture, by name.
type fleet struct {
	names []string
	nodes []tile
	// further is how many there are besides.
	further int
}

// tile is what is shown of a node. Two are equal if they look the same.
type tile struct {
	signal, saturated        int
	byRequests, running      int
	free, capacity, inFlight tenths
	limiting, reason         string
}

// tenths of a pod, unknown for what is no number.
type tenths int32

const unknown tenths = math.MinInt32

// tenthsOf rounds down to tenths, and from 20 on to whole pods, because 0.98 has no room for a pod.
// A node whose room changes by less need not be sent.
func tenthsOf(pods float64) tenths {
	const most = 1e6
	switch {
	case math.IsNaN(pods) || math.IsInf(pods, 0):
		return unknown
	case math.Abs(pods) >= 20:
		return tenths(math.Floor(max(-most, min(most, pods)))) * 10
	}
	return tenths(math.Floor(pods * 10))
}

// signals are numbered as they are sent.
var signals = []Signal{Missing, Fresh, Stale}

func newFleet(nodes []Node) fleet {
	names, order := make([]string, len(nodes)), make([]int, len(nodes))
	for i, n := range nodes {
		names[i], order[i] = text(n.Name, maxName), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(names[a], names[b]) })
	order = slices.CompactFunc(order, func(a, b int) bool { return names[a] == names[b] })
	f := fleet{further: max(0, len(order)-maxNodes)}
	order = order[:len(order)-f.further]
	f.names, f.nodes = make([]string, len(order)), make([]tile, len(order))
	for i, at := range order {
		f.names[i], f.nodes[i] = names[at], newTile(&nodes[at])
	}
	return f
}

func newTile(n *Node) tile {
	t := tile{
		signal: max(0, slices.Index(signals, n.Signal)),
		free:   tenthsOf(n.Free), capacity: max(0, tenthsOf(n.Capacity)), inFlight: max(0, tenthsOf(n.InFlight)),
		running: max(0, n.Running), limiting: text(n.Limiting, maxName), reason: text(n.Reason, maxWords),
	}
	if n.Saturated {
		t.saturated = 1
	}
	if n.ByRequests {
		t.byRequests = 1
	}
	return t
}

func (f *fleet) sameNodes(other *picture) bool {
	return f.further == other.further && slices.Equal(f.names, other.names)
}

// ending is what all names end in, as far as it is ASCII.
func (f *fleet) ending() string {
	if len(f.names) == 0 {
		return ""
	}
	end := f.names[0]
	for _, name := range f.names {
		n := 0
		for n < min(len(end), len(name)) && end[len(end)-1-n] == name[len(name)-1-n] && name[len(name)-1-n] < utf8.RuneSelf {
			n++
		}
		end = end[len(end)-n:]
	}
	return end
}

// shared is how many of its first bytes a name has of the one before, as far as they are
// ASCII: there bytes are what scripts count, too.
func (f *fleet) shared(i, most int) int {
	n := 0
	if i > 0 {
		a, b := f.names[i-1], f.names[i]
		for n < min(len(a), len(b), most) && a[n] == b[n] && b[n] < utf8.RuneSelf {
			n++
		}
	}
	return n
}
