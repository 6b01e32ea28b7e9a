package ui

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// Cells of test beds of up to so many nodes and slots a node say in words what they are;
// those of a larger one are signs, so that more are seen at a time.
const (
	roomyNodes = 16
	roomySlots = 8
)

// gridView is a test bed as a table, node by position.
type gridView struct {
	wire.Testbed
	Key     string
	Dense   bool
	Columns []int
	Rows    []gridRow
	States  []stateCount
}

// gridRow is a node. Its cells are in the order of Columns, nil where it has no slot.
type gridRow struct {
	Node string
	// Rank is the node's, or after all others if it is no longer the test bed's.
	Rank  int
	Cells []*wire.Slot
}

// stateCount is a line of the legend, and a part of the bar that shows the counts, in
// hundredths of its length.
type stateCount struct {
	State    slot.State
	Count    int
	Means    string
	At, Long float64
}

// states are in the order in which a slot goes through them.
var states = []struct {
	state slot.State
	means string
	count func(*wire.Counts) int
}{
	{slot.Free, "held for the next job", func(c *wire.Counts) int { return c.Free }},
	{slot.Reserved, "promised to a job that has not come yet", func(c *wire.Counts) int { return c.Reserved }},
	{slot.Occupied, "a job's pod is in it", func(c *wire.Counts) int { return c.Occupied }},
	{slot.Pending, "not ready: its resources are not held yet", func(c *wire.Counts) int { return c.Pending }},
	{slot.Retiring, "goes as soon as it is empty", func(c *wire.Counts) int { return c.Retiring }},
}

const gone = 1 << 30

// newGrid arranges the slots of a test bed, which it takes over.
func newGrid(t wire.Testbed) gridView {
	g := gridView{Testbed: t, Key: key(t)}
	most := 0
	byNode := make(map[string]int)
	for i := range t.Slots {
		s := &t.Slots[i]
		// A job of the test bed's own namespace is named without it: there is little room.
		s.ReservedFor = strings.TrimPrefix(s.ReservedFor, t.Namespace+"/")
		if s.Position < 0 || s.Position >= slot.MaxPerNode {
			continue
		}
		n, ok := byNode[s.Node]
		if !ok {
			n = len(g.Rows)
			byNode[s.Node] = n
			g.Rows = append(g.Rows, gridRow{Node: s.Node, Rank: gone})
		}
		if s.NodeID != nil {
			g.Rows[n].Rank = *s.NodeID
		}
		row := &g.Rows[n]
		for len(row.Cells) <= s.Position {
			row.Cells = append(row.Cells, nil)
		}
		row.Cells[s.Position] = s
		most = max(most, len(row.Cells))
	}
	for i := range g.Rows {
		for len(g.Rows[i].Cells) < most {
			g.Rows[i].Cells = append(g.Rows[i].Cells, nil)
		}
	}
	slices.SortStableFunc(g.Rows, func(a, b gridRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Node, b.Node))
	})
	for i := range most {
		g.Columns = append(g.Columns, i)
	}
	g.Dense = len(g.Rows) > roomyNodes || most > roomySlots
	g.count()
	return g
}

// Sum is how much there is.
func (g gridView) Sum() string {
	return plural(g.Nodes, "node", "nodes") + ", " + plural(g.Counts.Slots, "slot", "slots")
}

// BuildHref is the form for a scheduling of its slots.
func (g gridView) BuildHref() string { return base + "build?testbed=" + url.QueryEscape(g.Key) }

// count fills in the legend and the bar.
func (g *gridView) count() {
	at := 0.0
	for _, s := range states {
		n := s.count(&g.Counts)
		long := 100 * float64(n) / float64(max(g.Counts.Slots, 1))
		g.States = append(g.States, stateCount{State: s.state, Count: n, Means: s.means, At: at, Long: long})
		at += long
	}
}

// overviewView is everything there is. Where the caller may not see a kind, or it could not
// be read, there is a problem in its place.
type overviewView struct {
	Testbeds    []gridView
	Schedulings []wire.Scheduling
	Jobs        []wire.Job
	Problems    map[string]*problemView // by kind
}

func (s *site) overview(w http.ResponseWriter, r *http.Request) {
	ns, ask := r.URL.Query().Get("namespace"), s.api(r)
	v := overviewView{Problems: make(map[string]*problemView)}
	testbeds, noTestbeds := withSlots(r.Context(), ask, ns)
	for _, t := range testbeds {
		v.Testbeds = append(v.Testbeds, newGrid(t))
	}
	var noSchedulings, noJobs error
	v.Schedulings, noSchedulings = client.Collect(ask.Schedulings(r.Context(), ns))
	v.Jobs, noJobs = client.Collect(ask.Jobs(r.Context(), ns))
	for _, failed := range []struct {
		err        error
		kind, what string
	}{{noTestbeds, "testbeds", "List test beds"}, {noSchedulings, "schedulings", "List schedulings"}, {noJobs, "jobs", "List jobs"}} {
		if s.toLogin(w, r, failed.err) {
			return
		}
		if failed.err != nil {
			v.Problems[failed.kind] = s.problem(r, failed.what, failed.err)
		}
	}
	s.show(w, r, http.StatusOK, page{Name: "overview", Title: "Overview", Body: v})
}

// withSlots are the test beds of a namespace with their slots.
func withSlots(ctx context.Context, ask *client.Client, namespace string) ([]wire.Testbed, error) {
	testbeds, err := client.Collect(ask.Testbeds(ctx, namespace))
	all := testbeds[:0]
	for _, t := range testbeds {
		t, err := ask.Testbed(ctx, t.Namespace, t.Name)
		if wire.IsStatus(err, http.StatusNotFound) {
			continue // it has gone since
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, err
}
