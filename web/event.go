package web

import (
	"encoding/json"
	"strconv"
)

// event writes one server-sent event: an object in JSON on one line. A whole picture that takes
// several has its nodes' names shared between neighbours, which are in one event or not.
//
//	{"number":1,"at":…,"version":"…","problem":"…",        in every event
//	 "count":3,"further":0,"ending":".internal",           of a whole picture, in the first
//	 "PART":…,                                             parts that have changed, in the first
//	 "rows":[[0,1,0,32,80,0,5,1,0,0,"node-1"],…],
//	 "words":["","cpu"],
//	 "last":true}
//
// A row has the node's place by name, signal, whether it is saturated, free, capacity and in
// flight in tenths of a pod, running, limiting and reason as places in words, and where all is
// sent, how many characters of the name before it begins with, and the others but the ending.
// null is a number that is not known. Where nothing is known yet but the problem, at is 0 and
// there are neither nodes nor parts: a page that has some shows them on.
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
	for _, n := range [...]int{i, t.signal, t.saturated, int(t.free), int(t.capacity), int(t.inFlight), t.running, e.word(t.limiting), e.word(t.reason)} {
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
