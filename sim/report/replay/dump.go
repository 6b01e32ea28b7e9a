package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
)

// row is a record as a line of JSON.
type row struct {
	Kind   string            `json:"kind"`
	At     time.Time         `json:"at,omitzero"`
	Header *recording.Header `json:"header,omitempty"`
	State  any               `json:"state,omitempty"`
	Values []number          `json:"values,omitempty"`
	Pods   []podRow          `json:"pods,omitempty"`
	Bind   *bindRow          `json:"bind,omitempty"`
	Fleet  *fleetRow         `json:"fleet,omitempty"`
	Report *reportRow        `json:"report,omitempty"`
	Text   string            `json:"text,omitempty"`
	Lost   uint64            `json:"lost,omitempty"`
}

// podRow and bindRow name a pod by the first 16 digits of its UID.
type podRow struct {
	Pod    string `json:"pod"`
	State  string `json:"state"`
	Starts int    `json:"starts"`
}

type bindRow struct {
	Pod string `json:"pod"`
	// Inits is null where the notice did not say.
	Inits *int `json:"inits"`
}

type fleetRow struct {
	Schema string       `json:"schema"`
	Model  svd.State    `json:"model"`
	Costs  []agent.Cost `json:"costs"`
	Nodes  int          `json:"nodes"`
}

type reportRow struct {
	Sequence  uint64       `json:"sequence"`
	Avail     number       `json:"avail"`
	Allowance number       `json:"allowance"`
	K         number       `json:"k"`
	Limiting  string       `json:"limiting"`
	Pods      int          `json:"pods"`
	Saturated bool         `json:"saturated"`
	Flags     agent.Flags  `json:"flags"`
	Channels  []channelRow `json:"channels"`
}

type channelRow struct {
	Name     string `json:"name"`
	Usage    number `json:"usage"`
	Capacity number `json:"capacity"`
	Cost     number `json:"cost"`
	CostSD   number `json:"costSD"`
}

// number is a float that JSON can hold: one that is not finite is a string, for
// a recording may hold samples that were refused.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Appendf(nil, "%q", fmt.Sprint(f)), nil
	}
	return json.Marshal(f)
}

// Dump writes the records of r within the window as lines of JSON, and replays
// nothing. torn, if not nil, gets the torn ends of files.
func Dump(r *recording.Reader, w window, out io.Writer, torn func(*recording.TornError)) error {
	enc := json.NewEncoder(out)
	for rec, err := range r.Records() {
		var end *recording.TornError
		if errors.As(err, &end) {
			if torn != nil {
				torn(end)
			}
			continue
		}
		if err != nil {
			return err
		}
		if w.begin(rec.At); rec.Kind != recording.KindHeader && !w.holds(rec.At) {
			continue
		}
		if err := enc.Encode(rowOf(rec)); err != nil {
			return fmt.Errorf("%s at %s: %w", rec.Kind, rec.At, err)
		}
	}
	return nil
}

func rowOf(rec recording.Record) row {
	l := row{Kind: rec.Kind.String(), At: rec.At, Header: rec.Header, Text: rec.Text, Lost: rec.Lost}
	if rec.Kind == recording.KindBound {
		l.Bind = &bindRow{Pod: hex(rec.Bind.Pod)}
		if rec.Bind.InitsKnown {
			l.Bind.Inits = &rec.Bind.Inits
		}
	}
	for _, p := range rec.Pods {
		l.Pods = append(l.Pods, podRow{hex(p.Key), p.State.String(), p.Starts})
	}
	if rec.State != nil {
		l.State = rec.State
	}
	for _, v := range rec.Values {
		l.Values = append(l.Values, number(v))
	}
	if f := rec.Fleet; f != nil {
		l.Fleet = &fleetRow{f.Schema, f.Model.State(), f.Costs, f.Nodes}
	}
	if r := rec.Report; r != nil {
		l.Report = reportOf(*r)
	}
	return l
}

func reportOf(r agent.Report) *reportRow {
	l := &reportRow{
		Sequence: r.Sequence, Avail: number(r.Avail), Allowance: number(r.Allowance), K: number(r.K),
		Limiting: r.Limiting, Pods: len(r.Pods), Saturated: r.Saturated, Flags: r.Flags,
	}
	for _, c := range r.Channels {
		l.Channels = append(l.Channels, channelRow{c.Name, number(c.Usage), number(c.Capacity), number(c.Cost), number(c.CostSD)})
	}
	return l
}

func hex(k reserve.PodKey) string { return fmt.Sprintf("%016x", uint64(k)) }
