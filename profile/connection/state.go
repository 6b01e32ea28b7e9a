package connection

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
)

// stateVersion is that of State; Restore takes no other.
const stateVersion = 1

// Bounds of a state: of its bytes, of the names in it, and of the seconds that a sum can
// be of, which is more than any half-life leaves.
const (
	mostState   = 1 << 20
	mostName    = 253
	mostSeconds = 1e10
)

// callerState is what is kept of a job and its calls. Times are milliseconds since 1970.
type callerState struct {
	Version int         `json:"v"`
	Updated int64       `json:"t"`
	Calls   []callState `json:"calls"`
}

// callState is a connection's traffic.
type callState struct {
	Namespace string  `json:"ns"`
	Kind      string  `json:"kind,omitempty"`
	Name      string  `json:"name"`
	At        int64   `json:"at"`
	Used      int64   `json:"used"`
	Seconds   float64 `json:"s"`
	Request   float64 `json:"req"`
	Response  float64 `json:"resp"`
}

// State is the connections in which a job is the caller, to store; nil where there are
// none.
func (g *Graph) State(of Job) []byte {
	g.mu.RLock()
	defer g.mu.RUnlock()
	j := g.jobs[of]
	if j == nil || len(j.calls) == 0 {
		return nil
	}
	s := callerState{Version: stateVersion, Updated: j.updated.UnixMilli()}
	for _, f := range callsOf(of, j) {
		t := j.calls[f.To]
		s.Calls = append(s.Calls, callState{
			Namespace: f.To.Namespace, Kind: f.To.Kind, Name: f.To.Name, At: t.at.UnixMilli(), Used: t.used.UnixMilli(),
			Seconds: t.seconds, Request: t.request, Response: t.response,
		})
	}
	data, err := json.Marshal(s)
	if err != nil { // of finite numbers there is none
		return nil
	}
	return data
}

// Restore has a job make the calls of a state, unless the job makes some already: what was
// observed since counts more. What the state says to be of later than now, by a clock that
// was ahead, is of now. An error wraps profile.ErrVersion where the state is of another
// version.
func (g *Graph) Restore(now time.Time, of Job, data []byte) error {
	s, err := decode(of, data)
	if err != nil {
		return err
	}
	if err := validate(now, time.Second, nil); err != nil {
		return err
	}
	at := func(ms int64) time.Time {
		if t := time.UnixMilli(ms); t.Before(now) {
			return t
		}
		return now
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if j := g.jobs[of]; j != nil && len(j.calls) > 0 {
		return nil
	}
	g.job(at(s.Updated), of)
	for i := range s.Calls {
		c := &s.Calls[i]
		g.connect(of, c.to(), &traffic{
			at: at(c.At), used: at(c.Used), seconds: c.Seconds, request: c.Request, response: c.Response,
		})
	}
	g.trim(of)
	return nil
}

func (c *callState) to() Job { return Job{Namespace: c.Namespace, Kind: c.Kind, Name: c.Name} }

// decode reads a job's state.
func decode(of Job, data []byte) (s callerState, err error) {
	if !nameable(of) {
		return s, refuse("job", of, "named, by at most 253 bytes each")
	}
	if len(data) > mostState {
		return s, refuse("len(state)", len(data), "at most 1 MiB")
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, &field.Error{Package: "profile", Field: "state", Value: "", Err: fmt.Errorf("%w: %w", profile.ErrInvalid, err)}
	}
	if s.Version != stateVersion {
		return s, &field.Error{Package: "profile", Field: "state.version", Value: s.Version, Err: fmt.Errorf("%w: %w", profile.ErrInvalid, profile.ErrVersion)}
	}
	if !timely(s.Updated) {
		return s, refuse("state.t", s.Updated, "since 1970")
	}
	known := make(map[Job]bool, len(s.Calls))
	for i := range s.Calls {
		c := &s.Calls[i]
		if err := c.validate(i); err != nil {
			return s, err
		}
		if to := c.to(); to == of || known[to] {
			return s, refuse(fmt.Sprintf("state.calls[%d]", i), to, "another job each")
		}
		known[c.to()] = true
	}
	return s, nil
}

func (c *callState) validate(i int) error {
	field := func(name string) string { return fmt.Sprintf("state.calls[%d].%s", i, name) }
	most := mostBytes * c.Seconds * (1 + 1e-9)
	switch {
	case !nameable(c.to()):
		return refuse(field("name"), c.to(), "named, by at most 253 bytes each")
	case !timely(c.At):
		return refuse(field("at"), c.At, "since 1970")
	case !timely(c.Used):
		return refuse(field("used"), c.Used, "since 1970")
	case !(c.Seconds >= 0) || c.Seconds > mostSeconds:
		return refuse(field("s"), c.Seconds, "from 0 to 1e10")
	case !(c.Request >= 0) || c.Request > most:
		return refuse(field("req"), c.Request, "from 0 to 2^50 a second")
	case !(c.Response >= 0) || c.Response > most:
		return refuse(field("resp"), c.Response, "from 0 to 2^50 a second")
	}
	return nil
}

func nameable(j Job) bool {
	return named(j) && max(len(j.Namespace), len(j.Kind), len(j.Name)) <= mostName
}

// timely reports that a time is one that Observe takes.
func timely(ms int64) bool { return ms > 0 && validate(time.UnixMilli(ms), time.Second, nil) == nil }
