package modelserver

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// DebugPath is where an aggregator's HTTP server is expected to mount Handler.
const DebugPath = "/debug/model"

// Status is what Handler answers.
type Status struct {
	Models []Description `json:"models"`
}

// Description is a global model and what it is made of.
type Description struct {
	Schema     string      `json:"schema"`
	Version    uint64      `json:"version"`
	Nodes      int         `json:"nodes"`
	Mass       float64     `json:"mass"`
	Ages       ageSummary  `json:"ageSeconds"`
	Channels   []channel   `json:"channels"`
	Components []component `json:"components"`
}

// ageSummary is that of the ages of the nodes' newest pushes, when the model was
// published.
type ageSummary struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// channel is one channel's part of the direction u₁, and what a pod costs in
// its absolute unit, where that is known.
type channel struct {
	Name      string  `json:"name"`
	Direction float64 `json:"direction"`
	// Mean is that of the samples, of a centred model alone.
	Mean *float64     `json:"mean,omitempty"`
	Cost *channelCost `json:"cost,omitempty"`
}

// channelCost is that of one pod.
type channelCost struct {
	Value float64 `json:"value"`
	SD    float64 `json:"sd"`
}

// component is one singular vector: RMS is σ/√b, the root mean square of a
// sample along it, of a centred model of what it differs by from the mean; Share its
// part of all energy.
type component struct {
	Sigma     float64   `json:"sigma"`
	RMS       float64   `json:"rms"`
	Energy    float64   `json:"energy"`
	Share     float64   `json:"share"`
	Direction []float64 `json:"direction"`
}

// Handler answers GET with a Status as JSON, with ?schema=S of that schema alone.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		if err := transport.AnswerJSON(w, s.describe(r.URL.Query().Get("schema"))); err != nil {
			slog.ErrorContext(r.Context(), "models cannot be written as JSON", "error", err)
		}
	})
}

// describe returns what was published last, in order of schema and dimension; of
// one schema alone unless that is empty.
func (s *Server) describe(schema string) Status {
	p := s.published.Load()
	status := Status{Models: []Description{}}
	for _, g := range p.globals {
		if schema == "" || schema == g.Schema {
			status.Models = append(status.Models, describe(g, p.version))
		}
	}
	return status
}

func describe(g aggregate.Global, version uint64) Description {
	d := Description{
		Schema: g.Schema, Version: version, Nodes: g.Nodes, Mass: g.Model.Mass(),
		Ages: ageSummary{g.Ages.Min.Seconds(), g.Ages.Median.Seconds(), g.Ages.Max.Seconds()},
	}
	direction, mean := g.Model.DirectionTo(nil), g.Model.MeanTo(nil)
	for i, name := range channelNames(g.Schema, g.Model.Dim()) {
		c := channel{Name: name, Direction: direction[i]}
		if i < len(mean) {
			c.Mean = &mean[i]
		}
		if i < len(g.Costs) && g.Costs[i].Known {
			c.Cost = &channelCost{g.Costs[i].Value, g.Costs[i].SD}
		}
		d.Channels = append(d.Channels, c)
	}
	var total float64
	for i := range g.Model.Rank() {
		total += g.Model.Energy(i)
	}
	for i := range g.Model.Rank() {
		c := component{
			Sigma: g.Model.Sigma(i), RMS: g.Model.Sigma(i) / math.Sqrt(float64(g.Model.Block())),
			Energy: g.Model.Energy(i), Direction: g.Model.VectorTo(nil, i),
		}
		if total > 0 {
			c.Share = c.Energy / total
		}
		d.Components = append(d.Components, c)
	}
	return d
}

// channelNames reads the names from a schema such as
// "v2;cpu=half-runnable;memory=available" or "cpu,memory"; where it has another form,
// channels are numbered.
func channelNames(schema string, dim int) []string {
	schema = strings.TrimSuffix(schema, agent.ProntoSchema)
	for _, separator := range []string{";", ","} {
		names := strings.Split(schema, separator)
		if len(names) == dim+1 && separator == ";" {
			names = names[1:] // the version
		}
		if len(names) == dim {
			for i, n := range names {
				names[i], _, _ = strings.Cut(n, "=")
			}
			return names
		}
	}
	names := make([]string, dim)
	for i := range names {
		names[i] = "channel " + strconv.Itoa(i)
	}
	return names
}

// table is a table for people; Right marks the columns that hold numbers. A plain value.
type table struct {
	Title  string
	Header []string
	Rows   [][]string
	Right  []bool
}

// unknown stands for what is not known.
const unknown = "-"

// Text describes in two lines which model it is, and of how many nodes.
func (d Description) Text() string {
	nodes := "1 node"
	if d.Nodes != 1 {
		nodes = strconv.Itoa(d.Nodes) + " nodes"
	}
	return fmt.Sprintf("schema %s, version %d\n%s, mass %.1f; ages %.1f s to %.1f s, median %.1f s",
		d.Schema, d.Version, nodes, d.Mass, d.Ages.Min, d.Ages.Max, d.Ages.Median)
}

// ChannelTable shows the direction and the costs by channel.
func (d Description) ChannelTable() table {
	t := table{Header: []string{"CHANNEL", "DIRECTION", "COST OF A POD", "SD"}, Right: []bool{false, true, true, true}}
	for _, c := range d.Channels {
		cost, sd := "unknown", unknown
		if c.Cost != nil {
			cost, sd = fmt.Sprintf("%.4g", c.Cost.Value), fmt.Sprintf("%.2g", c.Cost.SD)
		}
		t.Rows = append(t.Rows, []string{c.Name, fmt.Sprintf("%.4f", c.Direction), cost, sd})
	}
	return t
}

// ComponentTable shows the components, from the one with most energy, which is 1.
func (d Description) ComponentTable() table {
	t := table{Header: []string{"COMPONENT", "SIGMA", "RMS", "ENERGY", "SHARE", "DIRECTION"}, Right: []bool{false, true, true, true, true}}
	for i, c := range d.Components {
		direction := make([]string, len(c.Direction))
		for k, u := range c.Direction {
			direction[k] = fmt.Sprintf("%+.3f", u)
		}
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(i + 1), fmt.Sprintf("%.4g", c.Sigma), fmt.Sprintf("%.4g", c.RMS), fmt.Sprintf("%.4g", c.Energy),
			fmt.Sprintf("%.1f %%", 100*c.Share), strings.Join(direction, " "),
		})
	}
	return t
}
