package requestreport

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/reserve"
)

// uidOf is a UID that differs where pods' names do at their ends.
func uidOf(pod string) types.UID { return types.UID("u-" + pod[len(pod)-5:]) }

// record writes the recording of an agent that samples for a while, on a machine of four cores and
// 16 GiB: the CPU's channel is at .25 and memory at .5 all the time, and the named pod takes half a
// core and a GiB.
func record(t *testing.T, node, pod string, length time.Duration) (dir string) {
	t.Helper()
	dir = t.TempDir()
	recordInto(t, dir, node, pod, noon, length)
	return dir
}

// recordInto is record of an agent that starts at a time, in a directory that may have recordings.
func recordInto(t *testing.T, dir, node, pod string, start time.Time, length time.Duration) {
	t.Helper()
	c := agent.Config{Node: node, Incarnation: uint64(start.UnixNano()), Schema: "test", Cores: 4, Channels: []agent.Channel{{Name: agent.CPU, Size: 4}, {Name: agent.Memory, Size: 16 * gibibyte}}}
	pipeline, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	recorder, err := recording.Create(dir, c, recording.Options{State: pipeline.State, Buffer: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	key := reserve.KeyOf(string(uidOf(pod)))
	pods := agent.RunningPods(key)
	recorder.Pods(start, pods)
	if _, _, err := pipeline.Pods(start, pods); err != nil {
		t.Fatal(err)
	}
	for since := 100 * time.Millisecond; since <= length; since += 100 * time.Millisecond {
		at, y := start.Add(since), []float64{.25, .5}
		recorder.Sample(at, y)
		report, ok, err := pipeline.Sample(at, y)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			recorder.Report(report)
		}
		if since%(10*time.Second) == 0 {
			readings := []agent.PodReading{{Pod: key, Age: since, Cores: 4, CPU: since / 2, Pressure: true, Memory: gibibyte, MemoryPeak: gibibyte}}
			recorder.Usage(at, readings)
			pipeline.Usage(at, readings)
		}
	}
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	if lost := recorder.Stats().Lost; lost > 0 {
		t.Fatalf("%d records are lost", lost)
	}
}

// Recordings show what nodes used, and of pods in the objects what their workloads need.
func TestRecordings(t *testing.T) {
	dir := record(t, "far", "free-5d4f8c7b9-run34", 20*time.Minute)
	r := gather(t, Config{Objects: strings.NewReader(file(t)), Recordings: []string{dir}})
	far := r.Nodes[0]
	used := coresAndBytes(2, 8*gibibyte)
	if diff := cmp.Diff(usageSummary{Mean: used, P95: used, P99: used}, far.Used, near); diff != "" || far.Name != "far" {
		t.Errorf("%s: %s", far.Name, diff)
	}
	// Half of each channel is left: of the CPU's, tasks that wait are one half.
	if room := far.Room; !room.CPU.Known || !room.Memory.Known || room.CPU.Value > 2 || room.CPU.Value < 0 || room.Memory.Value > 8*gibibyte || room.Memory.Value < 4*gibibyte {
		t.Errorf("room %+v", room)
	}
	if r.Nodes[1].Used.Mean.CPU.Known {
		t.Errorf("of the other node nothing was recorded: %+v", r.Nodes[1])
	}
	found := false
	for _, w := range r.Workloads {
		if w.Name == "free" {
			found = true
			if diff := cmp.Diff(coresAndBytes(.5, gibibyte), w.Need, near); diff != "" {
				t.Errorf("the need of free: %s", diff)
			}
		}
	}
	if !found || r.Total.Profiled != 2 {
		t.Errorf("%+v", r.Total)
	}
	if notes := strings.Join(r.Notes, "\n"); strings.Contains(notes, "is not among") {
		t.Errorf("notes %q", notes)
	}
}

// Recordings alone show use, of machines as large as they say, and no requests.
func TestRecordingsAlone(t *testing.T) {
	r := gather(t, Config{Recordings: []string{record(t, "a", "pod-1", 10*time.Second), record(t, "b", "pod-2", 10*time.Second)}})
	if r.Total.Nodes != 2 || r.Total.Requested.CPU.Known || r.Nodes[0].Capacity != coresAndBytes(4, 16*gibibyte) || r.Total.Used.Mean != coresAndBytes(4, 16*gibibyte) {
		t.Errorf("%+v, %+v", r.Total, r.Nodes[0])
	}
}

// The first report of an agent, which has measured no pod, shows no room in pods; and a recording of a
// node that the objects do not have is named.
func TestRecordingOfAnotherNode(t *testing.T) {
	dir := record(t, "elsewhere", "pod-1", 300*time.Millisecond)
	r := gather(t, Config{Objects: strings.NewReader(file(t)), Recordings: []string{dir}})
	if n := r.Nodes[0]; n.Name != "elsewhere" || n.Room.Pods.Known || !n.Room.Memory.Known || !n.Used.Mean.CPU.Known {
		t.Errorf("%+v", n)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "The node elsewhere of recording "+dir+" is not among the nodes") {
		t.Errorf("notes %q", notes)
	}
}

// A directory has the recordings of an agent's starts, one after the other, and none of another node's.
func TestRecordingsOfRestarts(t *testing.T) {
	dir, pod := record(t, "far", "free-5d4f8c7b9-run34", 5*time.Minute), "free-5d4f8c7b9-run34"
	recordInto(t, dir, "far", pod, noon.Add(10*time.Minute), 5*time.Minute)
	r := gather(t, Config{Objects: strings.NewReader(file(t)), Recordings: []string{dir}})
	if n := r.Nodes[0]; n.Spans < 60 || n.Spans > 62 || n.Used.Mean.CPU != Is(2) {
		t.Errorf("%+v", n)
	}
	for _, w := range r.Workloads {
		if diff := cmp.Diff(coresAndBytes(.5, gibibyte), w.Need, near); w.Name == "free" && diff != "" {
			t.Errorf("the need of free: %s", diff)
		}
	}
	recordInto(t, dir, "other", pod, noon.Add(20*time.Minute), time.Second)
	if _, err := Collect(t.Context(), Config{Timeout: 1, Recordings: []string{dir}}); err == nil || !strings.Contains(err.Error(), "it is of two nodes") {
		t.Error(err)
	}
}

// A node has one recording, a torn one is read up to there, and what is no recording is refused.
func TestBadRecordings(t *testing.T) {
	dir := record(t, "a", "pod-1", 30*time.Second)
	refused := func(what string, paths ...string) {
		t.Helper()
		_, err := Collect(t.Context(), Config{Timeout: 1, Recordings: paths})
		if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), paths[len(paths)-1]) {
			t.Errorf("%v: %v", paths, err)
		}
	}
	refused("another recording is of node a", dir, dir)
	other := filepath.Join(t.TempDir(), "x.spazio")
	if err := os.WriteFile(other, []byte("no recording of anything"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("nothing in it can be read", other)
	path := filepath.Join(dir, "00000001.spazio")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	r := gather(t, Config{Recordings: []string{dir}})
	if r.Nodes[0].Used.Mean.CPU != Is(2) || !strings.Contains(strings.Join(r.Notes, "\n"), "left out") {
		t.Errorf("%+v, %q", r.Nodes[0], r.Notes)
	}
}
