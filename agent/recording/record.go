package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
)

// Kind says what a Record is.
type Kind uint8

// The kinds of records; the package doc has their bodies.
const (
	KindHeader Kind = iota + 1
	KindSnapshot
	KindSample
	KindPods
	KindChurn
	KindFleet
	KindReport
	KindDropped
	KindGap
	KindMark
	KindBound
)

var kinds = [...]string{
	KindHeader: "header", KindSnapshot: "snapshot", KindSample: "sample", KindPods: "pods", KindChurn: "churn",
	KindFleet: "fleet", KindReport: "report", KindDropped: "dropped", KindGap: "gap", KindMark: "mark", KindBound: "bound",
}

func (k Kind) String() string {
	if k > 0 && int(k) < len(kinds) {
		return kinds[k]
	}
	return "unknown"
}

// Header begins a file.
type Header struct {
	// Part counts the files of one Recorder from 1.
	Part int `json:"part"`
	// Config is that of the pipeline recorded.
	Config agent.Config `json:"config"`
}

// Record is one entry of a recording. Kind says which fields mean anything. Its
// slices may be shared with later records and must not be modified.
type Record struct {
	Kind Kind
	// At is the time of every kind but header; of a report the time of its
	// newest sample, of a snapshot that of the newest sample before it.
	At time.Time
	// Header and State are set for a header and a snapshot.
	Header *Header
	State  *agent.State
	// Values is the sample, one value a channel.
	Values []float64
	// Pods is the full set of pods, ascending; Pod is the one that was bound.
	Pods []reserve.PodKey
	Pod  reserve.PodKey
	// Fleet and Report are set for these kinds.
	Fleet  *agent.Fleet
	Report *agent.Report
	// Text is the reason of a dropped sample or the remark of a mark.
	Text string
	// Lost is how many records are missing in a gap.
	Lost uint64
}

// maxText bounds the text of dropped and mark.
const maxText = 256

func appendText(dst []byte, k Kind, at time.Time, text string) []byte {
	return appendString(appendTime(append(dst, byte(k)), at), text[:min(len(text), maxText)])
}

func appendHeader(dst []byte, h Header) ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("recording: header: %w", err)
	}
	return append(append(dst, byte(KindHeader)), text...), nil
}

func appendSample(dst []byte, at time.Time, y []float64) []byte {
	return appendFloats(appendTime(append(dst, byte(KindSample)), at), y)
}

// appendPods encodes what distinguishes next from last; both ascend.
func appendPods(dst []byte, at time.Time, last, next []reserve.PodKey) []byte {
	dst = appendTime(append(dst, byte(KindPods)), at)
	return appendMissing(appendMissing(dst, last, next), next, last)
}

// appendMissing encodes the keys of a that b lacks.
func appendMissing(dst []byte, a, b []reserve.PodKey) []byte {
	count := uint64(0)
	missing(a, b, func(reserve.PodKey) { count++ })
	dst = appendUint(dst, count)
	missing(a, b, func(k reserve.PodKey) {
		for shift := 0; shift < 64; shift += 8 {
			dst = append(dst, byte(k>>shift))
		}
	})
	return dst
}

func missing(a, b []reserve.PodKey, visit func(reserve.PodKey)) {
	for _, k := range a {
		for len(b) > 0 && b[0] < k {
			b = b[1:]
		}
		if len(b) == 0 || b[0] != k {
			visit(k)
		}
	}
}

func appendFleet(dst []byte, at time.Time, f agent.Fleet) []byte {
	dst = appendString(appendTime(append(dst, byte(KindFleet)), at), f.Schema)
	dst = appendUint(appendModel(dst, f.Model.State()), uint64(len(f.Costs)))
	for _, c := range f.Costs {
		dst = appendBool(appendFloat(appendFloat(dst, c.Value), c.SD), c.Known)
	}
	return appendUint(dst, uint64(max(f.Nodes, 0)))
}

// Bits of a report.
const (
	bitSaturated = 1 << iota
	bitChurn
	bitCostUnknown
	bitNoPressure
	bitWarmingUp
	bitAbsorbed
)

// appendReport encodes r; known are the pods that the reader knows of.
func appendReport(dst []byte, r *agent.Report, known []reserve.PodKey) []byte {
	dst = appendString(append(dst, byte(KindReport)), r.Node)
	dst = appendTime(appendUint(appendUint(dst, r.Incarnation), r.Sequence), r.SampledAt)
	dst = appendFloat(appendFloat(appendString(dst, r.Schema), r.Avail), r.Allowance)
	dst = appendUint(appendString(appendFloat(dst, r.K), r.Limiting), uint64(len(r.Channels)))
	for i := range r.Channels {
		c := &r.Channels[i]
		dst = appendFloat(appendFloat(appendString(dst, c.Name), c.Usage), c.Capacity)
		dst = appendFloat(appendFloat(dst, c.Cost), c.CostSD)
	}
	absorbed := !slices.Equal(r.Absorbed, known)
	bits := byte(0)
	for i, set := range [...]bool{
		r.Saturated, r.Flags.Churn, r.Flags.CostUnknown, r.Flags.NoPressure, r.Flags.WarmingUp, absorbed,
	} {
		if set {
			bits |= 1 << i
		}
	}
	dst = append(dst, bits)
	if absorbed {
		dst = appendKeys(dst, r.Absorbed)
	}
	return dst
}

// decode reads a payload; pods are those known before it.
func decode(payload []byte, pods []reserve.PodKey) (Record, error) {
	r, b := Record{Kind: Kind(payload[0])}, &body{rest: payload[1:]}
	switch r.Kind {
	case KindHeader:
		return decodeHeader(b.rest)
	case KindSnapshot:
		s := b.state()
		r.State, r.At = &s, s.At
	case KindSample:
		r.At, r.Values = b.time(), b.floats()
	case KindPods:
		r.At = b.time()
		r.Pods = applyPods(b, pods)
	case KindChurn:
		r.At = b.time()
	case KindBound:
		r.At, r.Pod = b.time(), reserve.PodKey(b.word())
	case KindFleet:
		r.At = b.time()
		r.Fleet = b.fleet()
	case KindReport:
		r.Report = b.report(pods)
		r.At = r.Report.SampledAt
	case KindDropped, KindMark:
		r.At, r.Text = b.time(), b.string()
	case KindGap:
		r.At, r.Lost = b.time(), b.uint()
	default:
		return Record{}, fmt.Errorf("kind %d is unknown", r.Kind)
	}
	if err := b.end(); err != nil {
		return Record{}, fmt.Errorf("%s: %w", r.Kind, err)
	}
	return r, nil
}

func decodeHeader(text []byte) (Record, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	h := new(Header)
	if err := d.Decode(h); err != nil {
		return Record{}, fmt.Errorf("header: %w", err)
	}
	if err := h.Config.Validate(); err != nil {
		return Record{}, fmt.Errorf("header: %w", err)
	}
	return Record{Kind: KindHeader, Header: h}, nil
}

// applyPods returns the pods known after a change.
func applyPods(b *body, known []reserve.PodKey) []reserve.PodKey {
	gone, come := b.keys(), b.keys()
	if !ascends(gone) || !ascends(come) {
		b.fail()
		return nil
	}
	left := make([]reserve.PodKey, 0, len(known)+len(come))
	missing(known, gone, func(k reserve.PodKey) { left = append(left, k) })
	if len(left)+len(gone) != len(known) {
		b.fail()
	}
	left = append(left, come...)
	slices.Sort(left)
	if !ascends(left) || len(left) > maxRecord/8 {
		b.fail()
	}
	return left
}

func ascends(keys []reserve.PodKey) bool {
	for i := 1; i < len(keys); i++ {
		if keys[i] <= keys[i-1] {
			return false
		}
	}
	return true
}

func (b *body) fleet() *agent.Fleet {
	f := &agent.Fleet{Schema: b.string()}
	if m := b.model(); m.Dim != 0 && !b.failed {
		model, err := svd.FromState(m)
		if err != nil {
			b.fail()
		}
		f.Model = model
	}
	f.Costs = list(b, 17, func() agent.Cost { return agent.Cost{Value: b.float(), SD: b.float(), Known: b.bool()} })
	f.Nodes = b.int(1 << 31)
	return f
}

func (b *body) report(known []reserve.PodKey) *agent.Report {
	r := &agent.Report{Node: b.string(), Incarnation: b.uint(), Sequence: b.uint(), SampledAt: b.time()}
	r.Schema, r.Avail, r.Allowance = b.string(), b.float(), b.float()
	r.K, r.Limiting = b.float(), b.string()
	r.Channels = list(b, 33, func() agent.ChannelReport {
		return agent.ChannelReport{Name: b.string(), Usage: b.float(), Capacity: b.float(), Cost: b.float(), CostSD: b.float()}
	})
	bits := b.byte()
	r.Saturated = bits&bitSaturated != 0
	r.Flags = agent.Flags{
		Churn: bits&bitChurn != 0, CostUnknown: bits&bitCostUnknown != 0,
		NoPressure: bits&bitNoPressure != 0, WarmingUp: bits&bitWarmingUp != 0,
	}
	if bits&bitAbsorbed != 0 {
		r.Absorbed = b.keys()
	} else {
		r.Absorbed = known
	}
	return r
}
