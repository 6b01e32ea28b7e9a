package requestreport

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

// batch is what pods took, at the time at which an agent would have sent it.
type batch struct {
	at time.Time
	agent.UsageBatch
}

// recorded is what is read of the recording of a node.
type recorded struct {
	config  agent.Config
	cores   float64
	memory  float64
	use     nodeUse
	log     *agent.UsageLog
	batches []batch
	notes   []string
	ends    time.Time
}

// replay reads recordings: their nodes' use, and the need of workloads that have no profile.
func (o *objects) replay(paths []string, nodes map[string]*clusterNode) (notes []string, err error) {
	var batches []batch
	var ends time.Time
	for _, path := range paths {
		r, err := readRecording(path)
		if err != nil {
			return notes, &field.Error{Package: "requestreport", Field: "Recordings", Value: path, Err: fmt.Errorf("%w: %w", errInvalid, err)}
		}
		n := nodes[r.config.Node]
		if n == nil {
			if len(nodes) > 0 && len(o.pods) > 0 {
				notes = append(notes, fmt.Sprintf("The node %s of recording %s is not among the nodes that were read.", r.config.Node, path))
			}
			n = &clusterNode{Name: r.config.Node}
			nodes[n.Name] = n
		}
		if n.Use != nil {
			return notes, &field.Error{Package: "requestreport", Field: "Recordings", Value: path, Err: fmt.Errorf("%w: another recording is of node %s too", errInvalid, n.Name)}
		}
		n.Use = &r.use
		if n.Capacity == (profile.Amounts{}) {
			n.Capacity = profile.Amounts{CPU: r.cores, Memory: r.memory}
		}
		notes, batches = append(notes, r.notes...), append(batches, r.batches...)
		if r.ends.After(ends) {
			ends = r.ends
		}
	}
	slices.SortStableFunc(batches, func(a, b batch) int { return a.at.Compare(b.at) })
	return notes, o.learn(batches, ends)
}

// learn adds what the Store of a profiler makes of batches, for workloads without a profile.
func (o *objects) learn(batches []batch, ends time.Time) error {
	if len(batches) == 0 {
		return nil
	}
	store, err := profiler.New(profiler.Config{})
	if err != nil {
		return err
	}
	store.Pods(batches[0].at, o.measured)
	for i := range batches {
		store.Windows(batches[i].at, batches[i].UsageBatch)
	}
	for i := range o.measured {
		of := o.measured[i].Workload
		if o.profiled[of] {
			continue
		}
		if advice, ok := store.Advise(ends, of); ok && advice.Demand.CPU.Confidence+advice.Demand.Memory.Confidence > 0 {
			o.profiled[of] = true
			o.profiles = append(o.profiles, fromAdvice(of, advice))
		}
	}
	slices.SortFunc(o.profiles, func(a, b knownProfile) int { return cmp.Compare(a.Workload.String(), b.Workload.String()) })
	return nil
}

var (
	errNoHeader = errors.New("nothing in it can be read")
	errOfTwo    = errors.New("it is of two nodes")
)

// readRecording reads all files of a recording. What is torn is left out, with a note.
func readRecording(path string) (*recorded, error) {
	reader, err := recording.Open(path)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	r := &recorded{}
	for {
		record, err := reader.Next()
		torn, malformed := (*recording.TornError)(nil), (*recording.FormatError)(nil)
		switch {
		case errors.Is(err, io.EOF):
			if r.config.Node == "" {
				return nil, errNoHeader
			}
			return r, nil
		case errors.As(err, &torn), errors.As(err, &malformed):
			r.notes = append(r.notes, fmt.Sprintf("The rest of a file of recording %s is left out: %v.", path, err))
			continue
		case err != nil:
			return nil, err
		}
		if err := r.take(&record); err != nil {
			return nil, err
		}
	}
}

// take takes in a record.
func (r *recorded) take(record *recording.Record) error {
	if record.At.After(r.ends) {
		r.ends = record.At
	}
	switch record.Kind {
	case recording.KindHeader:
		return r.begin(&record.Header.Config)
	case recording.KindSizes:
		r.resize(record.Values)
	case recording.KindSample:
		r.use.add(r.sample(record.At, record.Values))
	case recording.KindReport:
		r.use.add(useSample{At: record.At, Room: roomOf(record.Report, r.cores)})
	case recording.KindUsage:
		r.log.Take(record.At, record.Readings)
		for b, ok := r.log.Batch(record.At); ok; b, ok = r.log.Batch(record.At) {
			r.batches = append(r.batches, batch{record.At, b})
			r.log.Acknowledge(b.Incarnation, b.Sequence)
		}
	}
	return nil
}

// begin takes in the header of a file.
func (r *recorded) begin(c *agent.Config) error {
	if r.config.Node != "" && r.config.Node != c.Node {
		return errOfTwo
	}
	if r.log == nil || r.config.Incarnation != c.Incarnation {
		r.log = agent.NewUsageLog(c.Node, c.Incarnation)
	}
	r.config, r.cores = *c, c.Cores
	for i := range c.Channels {
		if c.Channels[i].Name == agent.Memory {
			r.memory = c.Channels[i].Size
		}
	}
	return nil
}

// resize takes in new sizes of the channels.
func (r *recorded) resize(sizes []float64) {
	for i, size := range sizes[:min(len(sizes), len(r.config.Channels))] {
		switch r.config.Channels[i].Name {
		case agent.CPU:
			r.cores = size
		case agent.Memory:
			r.memory = size
		}
	}
}

// sample is a sample of the channels in cores and bytes.
func (r *recorded) sample(at time.Time, values []float64) useSample {
	s := useSample{At: at, NoPressure: r.config.NoPressure}
	m := newMachine(r.cores, r.memory, r.config.NoPressure)
	for i, value := range values[:min(len(values), len(r.config.Channels))] {
		switch r.config.Channels[i].Name {
		case agent.CPU:
			s.CPU = m.tasks(value)
		case agent.Memory:
			s.Memory = m.bytes(value)
		}
	}
	return s
}

// roomOf is the room of a report on a machine of so many cores.
func roomOf(report *agent.Report, cores float64) (room nodeRoom) {
	if report.Limiting == agent.LimitingPronto {
		return room
	}
	if !report.Flags.CostUnknown && !report.Flags.WarmingUp {
		room.Pods = Is(report.Avail)
	}
	for i := range report.Channels {
		switch c := &report.Channels[i]; {
		case !(c.Unit > 0):
		case c.Name == agent.CPU:
			room.CPU = machine{size: cores, unit: c.Unit}.cores(c.Room)
		case c.Name == agent.Memory:
			room.Memory = Is(c.Room / c.Unit)
		}
	}
	return room
}
