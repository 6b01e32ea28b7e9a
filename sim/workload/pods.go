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

// columns of a file of pods, the first two required.
var columns = []string{"arrival", "work", "cores", "memory", "threads", "owner", "request_cores", "request_memory"}

// ReadPods reads a workload: CSV with a header of these columns in any order, arrival
// (seconds) and work (core-seconds) required, cores (default 1), memory (bytes, 0),
// threads (as many as cores, rounded up), owner, and request_cores and request_memory
// (bytes), what the pod declares, 0 for nothing. An empty cell is the default. Of
// what a run refuses, see sim.Run, it knows nothing. A malformed file is ErrPods.
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
	for _, required := range columns[:2] {
		if !slices.Contains(header, required) {
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
		"request_cores": &p.Request.CPU, "request_memory": &p.Request.Memory}
	for i, cell := range cells {
		cell = strings.TrimSpace(cell)
		if header[i] == "owner" {
			p.Workload = cell
			continue
		}
		if cell == "" && header[i] != "arrival" && header[i] != "work" {
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

// StartUp returns the pods with start-up latencies drawn by the seed.
func StartUp(seed uint64, pods []sim.Pod) []sim.Pod {
	startups := newStreams(seed).startups
	pods = slices.Clone(pods)
	for i := range pods {
		pods[i].Startup = node.StartupLatency(startups)
	}
	return pods
}
