package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// ErrPods is the reason why a file of pods was refused; match it with errors.Is.
var ErrPods = errors.New("workload: bad file of pods")

// columns of a file of pods. Required are arrival, and work or phases.
var columns = []string{"arrival", "work", "cores", "memory", "threads", "owner", "request_cores", "request_memory", "limit_cores", "limit_memory", "phases"}

// ReadPods reads a workload: CSV with a header of these columns in any order, arrival
// (seconds) and work (core-seconds) or phases required, cores (default 1), memory (bytes, 0),
// threads (as many as cores, rounded up), owner, and what the pod declares, 0 for nothing:
// request_cores, request_memory, limit_cores and limit_memory (bytes). Limits count for the
// class of its quality of service and the requests that follow from them; they do not act.
// A pod that changes has phases in the place of work, cores and memory:
//
//	3 x 1 x 1e8; 30 x .8 x 5e8 x 2e8 x 5; 10 x 0 x 1e8
//
// are three seconds of a core and 100 MB; half a minute of .8 cores and 500 MB, on which up to
// 200 MB of garbage come every five seconds; and a pause of ten (node.Stage). An empty cell is
// the default. Of what a run refuses, see sim.Run, it knows nothing. A malformed file is
// ErrPods.
func ReadPods(r io.Reader) ([]sim.Pod, error) {
	lines := csv.NewReader(r)
	header, err := lines.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it is empty; its first line names columns, of %s", ErrPods, strings.Join(columns, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPods, err)
	}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
		if !slices.Contains(columns, header[i]) || slices.Contains(header[:i], header[i]) {
			return nil, fmt.Errorf("%w: column %q; there are %s, each once", ErrPods, header[i], strings.Join(columns, ", "))
		}
	}
	for _, required := range []string{"arrival", "work"} {
		if !slices.Contains(header, required) && (required == "arrival" || !slices.Contains(header, "phases")) {
			return nil, fmt.Errorf("%w: no column %q", ErrPods, required)
		}
	}
	var pods []sim.Pod
	for {
		cells, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return pods, nil
		}
		if err != nil { // names the line
			return nil, fmt.Errorf("%w: %w", ErrPods, err)
		}
		line, _ := lines.FieldPos(0)
		if len(pods) == maxPods {
			return nil, fmt.Errorf("%w: line %d: more than %d pods", ErrPods, line, maxPods)
		}
		p, err := podOf(header, cells)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrPods, line, err)
		}
		pods = append(pods, p)
	}
}

func podOf(header, cells []string) (sim.Pod, error) {
	var p sim.Pod
	var threads float64
	fields := map[string]*float64{"arrival": &p.Created, "work": &p.Work, "cores": &p.Cores, "memory": &p.Memory, "threads": &threads,
		"request_cores": &p.Request.CPU, "request_memory": &p.Request.Memory,
		"limit_cores": &p.Limit.CPU, "limit_memory": &p.Limit.Memory}
	phases := slices.Index(header, "phases")
	hasPhases := phases >= 0 && strings.TrimSpace(cells[phases]) != ""
	for i, cell := range cells {
		cell = strings.TrimSpace(cell)
		if header[i] == "owner" {
			p.Workload = cell
			continue
		}
		if header[i] == "phases" {
			var err error
			if p.Phases, err = phasesOf(cell); err != nil {
				return p, fmt.Errorf("phases: %w", err)
			}
			continue
		}
		if cell == "" && header[i] != "arrival" && (header[i] != "work" || hasPhases) {
			continue
		}
		v, err := number(cell)
		if err != nil {
			return p, fmt.Errorf("%s: %w", header[i], err)
		}
		*fields[header[i]] = v
	}
	if threads != math.Trunc(threads) || threads > node.MaxThreads {
		return p, fmt.Errorf("threads: %g is not a whole number up to %d", threads, node.MaxThreads)
	}
	p.Threads = int(threads)
	return p, nil
}

// phasesOf reads the phases of a pod.
func phasesOf(cell string) ([]node.Stage, error) {
	if cell == "" {
		return nil, nil
	}
	var all []node.Stage
	for part := range strings.SplitSeq(cell, ";") {
		var s node.Stage
		to := []*float64{&s.Seconds, &s.Cores, &s.Memory, &s.Garbage, &s.Period}
		values := fields(part, "x")
		if len(values) != 3 && len(values) != len(to) {
			return nil, fmt.Errorf("%q is not seconds x cores x bytes, and perhaps x bytes of garbage x seconds", part)
		}
		for i, value := range values {
			var err error
			if *to[i], err = number(value); err != nil {
				return nil, err
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// StartUp returns the pods with start-up latencies drawn by the seed.
func StartUp(seed uint64, pods []sim.Pod) []sim.Pod {
	startups := newStreams(seed).startups
	pods = slices.Clone(pods)
	for i := range pods {
		pods[i].Startup = node.StartupLatency(startups)
	}
	return pods
}
