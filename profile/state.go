package profile

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// StateVersion is that of State; Restore takes no other.
const StateVersion = 1

// ErrVersion reports that a state is of another version.
var ErrVersion = errors.New("unknown version of state")

func refuseState(err error) error {
	return &field.Error{Package: "profile", Field: "state", Value: "", Err: fmt.Errorf("%w: %w", ErrInvalid, err)}
}

// Bounds of a state. With up to 4 slots it is at most 8 KiB a container.
const (
	// stateLive live pods go into it for themselves. What others have shown goes in
	// as if they had ended: read again, such a pod counts twice, of at least that
	// many.
	stateLive  = 16
	maxZone    = 64
	maxCount   = 1 << 40 // pods, days
	maxSeconds = 1e10
)

// State is the profile to store: a version and all that was learnt, but that of
// many nodes and pods it does not say which showed what. It holds hashes of the
// names of pods and nodes, no names.
func (p *Profile) State() []byte {
	var e encoder
	e.uint(StateVersion)
	e.uint(uint64(len(p.slots)))
	e.text(p.zone())
	for _, halfLife := range p.halfLives() {
		e.int(int64(halfLife))
	}
	e.flags(p.always, p.unstalled)
	e.uint(uint64(p.restarts))
	e.uint(p.kills)
	e.text(p.revision)
	e.time(p.began)
	for _, s := range []Share{p.prior.CPU, p.prior.Memory} {
		e.float(s.Amount)
		e.float(s.SD)
		e.float(s.Confidence)
	}
	e.float(p.limits.periods)
	e.float(p.limits.throttled)
	e.time(p.limits.at)
	e.histogram(&p.lives)

	live := p.live[:min(len(p.live), stateLive)]
	e.uint(uint64(len(live)))
	for i := range live {
		e.live(&live[i])
	}
	p.day.encode(&e, len(live))
	for i, s := range p.slots {
		if s == nil {
			s = newScope(p, i)
		}
		s.encode(&e, len(live))
	}
	e.uint(uint64(len(p.containers)))
	for _, c := range p.containers {
		e.text(c.name)
		c.encode(&e)
	}
	return e.b
}

// zone is the name of the zone, or of one that is long its beginning.
func (p *Profile) zone() string {
	name := p.config.Zone.String()
	return name[:min(len(name), maxZone)]
}

func (p *Profile) halfLives() [3]time.Duration {
	return [3]time.Duration{p.config.cpuHalfLife, p.config.memoryHalfLife, p.config.podHalfLife}
}

func (e *encoder) live(l *livePod) {
	e.key(l.node)
	e.key(l.pod)
	e.int(l.ns)
	e.uint(uint64(l.slot))
	for _, own := range []*reading{&l.day, &l.inSlot} {
		e.float(own.cpu)
		e.float(own.seconds)
		e.float(own.peak)
		e.float(own.weight[0])
		e.float(own.weight[1])
	}
}

// encode writes the scope, in which all but the first live pods have ended.
func (s *scope) encode(e *encoder, live int) {
	e.uint(uint64(s.seen))
	e.uint(uint64(s.days))
	e.uint(uint64(s.newest))
	for r := range s.rest {
		k := s.folded(r, live)
		e.float(k.pods)
		e.float(k.mean)
		e.float(k.variance)
		e.int(k.at)
		e.uint(uint64(len(s.outliers[r])))
		for _, d := range s.outliers[r] {
			e.key(d.node)
			e.key(d.pod)
			e.float(d.amount)
			e.time(d.at)
			e.flags(d.ended || !slices.ContainsFunc(s.profile.live[:live], func(l livePod) bool { return l.pod == d.pod && l.node == d.node }))
		}
	}
}

// folded is all of a scope's evidence but that of the first live pods, no node's
// for more than its weight in it.
func (s *scope) folded(r, live int) kept {
	if live == len(s.profile.live) && len(s.nodes) == 0 {
		return s.rest[r]
	}
	most := nodeReach * median(s.byNode(nil, r, s.profile.live))
	sum := s.rest[r].evidence()
	for _, e := range s.byNode(nil, r, s.profile.live[live:]) {
		e.Pods = min(e.Pods, most)
		sum = sum.merge(e, s.profile.config.podHalfLife)
	}
	if sum.Pods == 0 {
		return kept{}
	}
	return keep(sum)
}

func (c *container) encode(e *encoder) {
	for r := range c.histories {
		c.histories[r].encode(e)
	}
	live := c.live[:min(len(c.live), stateLive)]
	ended := &c.peaks
	if len(live) < len(c.live) {
		ended = c.peaks.clone()
		for _, p := range c.live[len(live):] {
			addPeak(ended, p)
		}
	}
	e.histogram(ended)
	e.uint(uint64(len(live)))
	for _, p := range live {
		e.key(p.pod)
		e.int(p.ns)
		e.single(p.bytes)
	}
	e.peaks(&c.kills)
}

func (h *History) encode(e *encoder) {
	for _, s := range h.slots {
		if s == nil {
			s = h.newSamples()
		}
		e.histogram(&s.histogram)
		e.peaks(&s.peaks)
		e.uint(uint64(s.days))
		e.uint(uint64(s.lastDay))
	}
	e.peaks(&h.recent)
}

// weightSteps are what the largest weight of a histogram is divided into: what is
// less than half a step does not move a quantile.
const weightSteps = math.MaxUint16

// histogram writes weights in steps of the largest.
func (e *encoder) histogram(h *histogram) {
	s := h.state()
	e.uint(uint64(len(s.Weights)))
	if len(s.Weights) == 0 {
		return
	}
	largest := slices.Max(s.Weights)
	e.int(s.Reference)
	e.uint(uint64(s.Low))
	e.float(largest)
	for _, w := range s.Weights {
		step := uint16(math.Round(w / largest * weightSteps))
		e.b = append(e.b, byte(step>>8), byte(step))
	}
}

// histogram takes what an empty one holds.
func (d *decoder) histogram(dst *histogram) {
	state := histogramState{Scale: dst.scale, HalfLife: time.Duration(dst.halfLife)}
	n := d.count("histogram", state.Scale.Buckets, 2)
	if n > 0 {
		state.Reference = d.int()
		state.Low = int(min(d.uint(), maxBuckets))
		largest := d.float("histogram", maxWeight*maxWeight)
		for range n {
			b := d.take(2)
			state.Weights = append(state.Weights, largest*float64(uint16(b[0])<<8|uint16(b[1]))/weightSteps)
		}
	}
	h, err := state.histogram()
	if err != nil {
		d.fail(err)
		return
	}
	*dst = *h
}

func (e *encoder) peaks(p *peaks) {
	s := p.state()
	e.int(s.Newest)
	for _, v := range s.Largest {
		e.single(v)
	}
}

// peaks takes what an empty one holds.
func (d *decoder) peaks(dst *peaks, most float64) {
	s := peaksState{Span: time.Duration(dst.span), Newest: d.int(), Largest: make([]float64, len(dst.largest))}
	for i := range s.Largest {
		s.Largest[i] = d.peak(most)
	}
	p, err := s.peaks()
	if err != nil {
		d.fail(err)
		return
	}
	*dst = *p
}

// Restore is the profile that a state is of. Where the configuration is another in
// slots, zone or half-lives than the state's, what pods have shown in all of the day
// is kept, and the rest begins anew. A state that is corrupt is a field.Error, one of
// another version wraps ErrVersion.
func Restore(c Config, state []byte) (*Profile, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	d := decoder{b: state}
	if v := d.uint(); d.err == nil && v != StateVersion {
		return nil, &field.Error{Package: "profile", Field: "state.version", Value: v, Err: ErrVersion}
	}
	c = c.withDefaults()
	of := c
	of.Slots = int(min(d.uint(), maxSlots+1))
	zone := d.text("zone", maxZone)
	of.cpuHalfLife, of.memoryHalfLife, of.podHalfLife = time.Duration(d.int()), time.Duration(d.int()), time.Duration(d.int())
	if d.err != nil {
		return nil, d.err
	}
	p, err := New(of)
	if err != nil {
		return nil, err
	}
	p.decode(&d)
	if d.err == nil && len(d.b) > 0 {
		d.fail(refuse("state", len(d.b), "without bytes behind it"))
	}
	if d.err != nil {
		return nil, d.err
	}
	if of == c && zone == p.zone() {
		return p, nil
	}
	return p.under(c)
}

// under is what of the profile holds under another configuration.
func (p *Profile) under(c Config) (*Profile, error) {
	made, err := New(c)
	if err != nil {
		return nil, err
	}
	for r := range made.day.rest {
		if e := p.day.evidence(r); e.Pods > 0 {
			made.day.rest[r] = keep(e)
		}
	}
	made.day.seen, made.prior, made.kills, made.restarts = p.day.seen, p.prior, p.kills, p.restarts
	made.revision, made.began, made.limits = p.revision, p.began, p.limits
	made.always, made.unstalled = p.always, p.unstalled
	return made, nil
}

func (p *Profile) decode(d *decoder) {
	flags := d.flags()
	p.always, p.unstalled = flags[0], flags[1]
	p.restarts = int(min(d.uint(), maxCount))
	p.kills = d.uint()
	p.revision = d.text("revision", maxName)
	p.began = d.optional("began")
	for _, s := range []*Share{&p.prior.CPU, &p.prior.Memory} {
		s.Amount, s.SD, s.Confidence = d.float("prior.Amount", maxValue), d.float("prior.SD", maxValue), d.float("prior.Confidence", 1)
	}
	p.limits.periods = d.float("periods", maxValue)
	p.limits.throttled = d.float("throttled", maxValue)
	p.limits.at = d.optional("limits")
	d.histogram(&p.lives)
	for n := d.count("live", stateLive, 8+8+1+1+2*5*8); n > 0; n-- {
		p.live = append(p.live, d.live(len(p.slots)))
	}
	for i := 1; i < len(p.live); i++ {
		if a, b := &p.live[i-1], &p.live[i]; a.node > b.node || a.node == b.node && a.pod >= b.pod {
			d.fail(refuse("state.live", b.pod, "in ascending order"))
		}
	}
	p.day.decode(d)
	for i := range p.slots {
		if p.slot(i).decode(d); p.slots[i].seen == 0 {
			p.slots[i] = nil
		}
	}
	for n := d.count("containers", mostContainers, 1); n > 0; n-- {
		name := d.text("container", maxName)
		i, known := p.containers.find(name)
		if known {
			d.fail(refuse("state.container", name, "named once"))
			return
		}
		c := newContainer(name, &p.config)
		c.decode(d)
		p.containers = slices.Insert(p.containers, i, c)
	}
}

func (d *decoder) live(slots int) (l livePod) {
	l.node, l.pod, l.ns = d.key(), d.key(), d.time("live.at").UnixNano()
	slot := d.uint()
	if slot >= uint64(slots) {
		d.fail(refuse("state.live.slot", slot, "a slot"))
		return l
	}
	l.slot = int(slot)
	for _, own := range []*reading{&l.day, &l.inSlot} {
		own.cpu = d.float("live.cpu", maxCores*maxSeconds)
		own.seconds = d.float("live.seconds", maxSeconds)
		own.peak = d.float("live.peak", MaxMemory)
		own.weight = [resources]float64{d.float("live.weight", 1), d.float("live.weight", 1)}
		// Rounding adds less than a millionth.
		if own.cpu > 2*maxCores*(1+1e-6)*own.seconds || own.seconds == 0 && own.weight[0] > 0 {
			d.fail(refuse("state.live.cpu", own.cpu, "of at most 8192 cores"))
		}
	}
	return l
}

func (s *scope) decode(d *decoder) {
	s.seen, s.days = int(min(d.uint(), maxCount)), int(min(d.uint(), maxCount))
	s.newest = int64(min(d.uint(), maxSeconds))
	for r := range s.rest {
		k := kept{d.float("evidence.pods", maxCount), d.float("evidence.mean", MaxMemory), d.float("evidence.variance", maxValue), d.int()}
		// Bhatia and Davis, 2000: no values from 0 to M vary more about their mean.
		if k.variance > k.mean*(MaxMemory*(1+1e-6)-k.mean) {
			d.fail(refuse("state.evidence.variance", k.variance, "of values within bounds"))
		}
		if k.pods > 0 && (k.at < 0 || checkTime(time.Unix(0, k.at)) != nil) {
			d.fail(refuse("state.evidence.at", k.at, "a time from 1970 to 2255"))
		}
		s.rest[r] = k
		for n := d.count("outliers", maxOutliers, 8+8+8+1+1); n > 0; n-- {
			o := outlier{node: d.key(), pod: d.key(), amount: d.float("outlier", MaxMemory), at: d.time("outlier.at")}
			o.ended = d.flags()[0]
			s.outliers[r] = append(s.outliers[r], o)
		}
	}
}

func (c *container) decode(d *decoder) {
	for r := range c.histories {
		most := float64(MaxMemory)
		if r == 0 {
			most = 2 * maxCores * CoreSlack
		}
		c.histories[r].decode(d, most)
	}
	d.histogram(&c.peaks)
	for n := d.count("container.live", stateLive, 8+1+4); n > 0; n-- {
		c.live = append(c.live, podPeak{d.key(), d.time("container.live.at").UnixNano(), d.single("container.live.bytes", MaxMemory)})
	}
	if !slices.IsSortedFunc(c.live, func(a, b podPeak) int { return cmp.Compare(a.pod, b.pod) }) {
		d.fail(refuse("state.container.live", len(c.live), "in ascending order"))
	}
	d.peaks(&c.kills, MaxMemory)
}

func (h *History) decode(d *decoder, most float64) {
	for i := range h.slots {
		s := h.newSamples()
		d.histogram(&s.histogram)
		d.peaks(&s.peaks, most)
		s.days = int(min(d.uint(), maxCount))
		s.lastDay = int64(min(d.uint(), maxSeconds))
		if !s.none() {
			h.slots[i] = s
		}
	}
	d.peaks(&h.recent, most)
}

// encoder appends values to a state.
type encoder struct{ b []byte }

func (e *encoder) uint(v uint64)   { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) int(v int64)     { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) key(v uint64)    { e.b = binary.BigEndian.AppendUint64(e.b, v) }
func (e *encoder) float(v float64) { e.key(math.Float64bits(v)) }
func (e *encoder) single(v float64) {
	e.b = binary.BigEndian.AppendUint32(e.b, math.Float32bits(float32(v)))
}
func (e *encoder) time(at time.Time)  { e.int(unixNano(at)) }
func (e *encoder) text(s string)      { e.uint(uint64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) flags(bits ...bool) { e.b = append(e.b, packed(bits)) }

// unixNano is 0 for the zero time.
func unixNano(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixNano()
}

func packed(bits []bool) (b byte) {
	for i, bit := range bits {
		if bit {
			b |= 1 << i
		}
	}
	return b
}

// errTruncated reports that a state ends too early.
var errTruncated = errors.New("truncated")

// decoder takes values from a state; after the first that is missing or out of
// range err says so and all are 0.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.b = nil
}

// take is the next n bytes, zeros if there are fewer.
func (d *decoder) take(n int) []byte {
	if len(d.b) < n {
		d.fail(refuseState(errTruncated))
		return make([]byte, n)
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(refuseState(errTruncated))
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail(refuseState(errTruncated))
		return 0
	}
	d.b = d.b[n:]
	return v
}

// count is a number of elements of at least size bytes each.
func (d *decoder) count(what string, most, size int) int {
	n := d.uint()
	if n > uint64(most) || n*uint64(size) > uint64(len(d.b)) {
		d.fail(refuse("state."+what, n, "fewer, and as many as follow"))
		return 0
	}
	return int(n)
}

func (d *decoder) key() uint64 { return binary.BigEndian.Uint64(d.take(8)) }

// float is a value of at most most.
func (d *decoder) float(what string, most float64) float64 {
	return d.checked(what, math.Float64frombits(d.key()), most)
}

func (d *decoder) single(what string, most float64) float64 {
	return d.checked(what, float64(math.Float32frombits(binary.BigEndian.Uint32(d.take(4)))), most)
}

func (d *decoder) checked(what string, v, most float64) float64 {
	if !(v >= 0) || v > most {
		d.fail(refuse("state."+what, v, "not negative and within bounds"))
		return 0
	}
	return v
}

// peak is the largest sample of a span, −1 without any.
func (d *decoder) peak(most float64) float64 {
	v := float64(math.Float32frombits(binary.BigEndian.Uint32(d.take(4))))
	if v == -1 {
		return v
	}
	return d.checked("peak", v, most)
}

// time is a time from 1970 on, optional one or the zero time.
func (d *decoder) optional(what string) time.Time {
	if len(d.b) > 0 && d.b[0] == 0 {
		d.b = d.b[1:]
		return time.Time{}
	}
	return d.time(what)
}

func (d *decoder) time(what string) time.Time {
	ns := d.int()
	at := time.Unix(0, ns)
	if ns < 0 || checkTime(at) != nil {
		d.fail(refuse("state."+what, ns, "a time from 1970 to 2255"))
		return time.Time{}
	}
	return at
}

func (d *decoder) text(what string, most int) string { return string(d.take(d.count(what, most, 1))) }

func (d *decoder) flags() (bits [8]bool) {
	b := d.take(1)[0]
	for i := range bits {
		bits[i] = b>>i&1 == 1
	}
	return bits
}
