package experiment_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
	"github.com/spazio-scheduler/spazio/sim/workload"
)

// file is one that is read from its start and written at its end.
type file struct {
	io.Reader
	*bytes.Buffer
}

func (f file) Read(p []byte) (int, error) { return f.Reader.Read(p) }

func opened(content string) file {
	return file{strings.NewReader(content), bytes.NewBufferString(content)}
}

func kept(t *testing.T, f file, cases []experiment.Case, o experiment.Options) []experiment.Row {
	t.Helper()
	var err error
	if o.Kept, err = experiment.Keep(f, "a build"); err != nil {
		t.Fatal(err)
	}
	rows, err := experiment.Run(t.Context(), cases, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Kept.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// An interrupted comparison continues, and ends like an uninterrupted one.
func TestKeptRunsAreNotMadeAgain(t *testing.T) {
	p := experiment.Params{Nodes: 1, Pods: 8}
	b1 := cases(t, "b1", p, experiment.Sweep{Work: []float64{1, 2}, Law: []workload.Law{workload.Equal}})
	o := experiment.Options{Schedulers: []string{experiment.Default, "lower-bound"}, Seeds: []uint64{1, 2}}
	want, err := experiment.Run(t.Context(), b1, o)
	if err != nil {
		t.Fatal(err)
	}

	first := opened("")
	kept(t, first, b1[:1], o)
	cut := first.String()
	cut = cut[:len(cut)-20] // its last line is torn
	second := opened(cut)
	if diff := cmp.Diff(want, kept(t, second, b1, o)); diff != "" {
		t.Errorf("in two pieces (-want +got):\n%s", diff)
	}
	// The file's content is trusted.
	forged := strings.Replace(second.String(), `"makespan","value":`, `"makespan","value":1234`, 1)
	if got := kept(t, opened(forged), b1, o); cmp.Equal(want, got) {
		t.Error("a run that was kept was made again")
	}
	// Something else was run under the same names.
	p.Cluster.Latency = .5
	later := cases(t, "b1", p, experiment.Sweep{Work: []float64{1, 2}, Law: []workload.Law{workload.Equal}})
	if got := kept(t, opened(second.String()), later, o); cmp.Equal(want, got) {
		t.Error("runs of another latency were taken")
	}
	if _, err := experiment.Keep(opened(second.String()), "another"); !errors.Is(err, experiment.ErrOtherBuild) {
		t.Errorf("another build's: error %v", err)
	}
}

// Runs of another trace or of other pods are repeated, even if the files have the same names.
func TestKeptRunsAreOfTheirFiles(t *testing.T) {
	dir := t.TempDir()
	functions := func(minute string) []experiment.Case {
		for name, text := range map[string]string{
			"invocations.csv": "HashOwner,HashApp,HashFunction,Trigger,1\no,a,f,http," + minute + "\n",
			"durations.csv":   "HashOwner,HashApp,HashFunction,Average,percentile_Average_0,percentile_Average_100\no,a,f,1," + minute + "0,900\n",
			"memory.csv":      "HashOwner,HashApp,SampleCount,AverageAllocatedMb,AverageAllocatedMb_pct1\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return cases(t, "functions", experiment.Params{Nodes: 2, Duration: 60, Trace: os.DirFS(dir)}, experiment.Sweep{})
	}
	given := func(work float64) []experiment.Case {
		of, err := experiment.Given("pods", []sim.Pod{{Work: work}}).Cases(experiment.Params{Nodes: 1}, experiment.Sweep{})
		if err != nil {
			t.Fatal(err)
		}
		return of
	}
	o := experiment.Options{Schedulers: []string{experiment.Default}, Seeds: []uint64{1}}
	for name, make := range map[string]func(of string) []experiment.Case{
		"trace": functions,
		"pods":  func(of string) []experiment.Case { return given(float64(len(of))) },
	} {
		first := opened("")
		want := kept(t, first, make("5"), o)
		again := opened(first.String())
		if diff := cmp.Diff(want, kept(t, again, make("5"), o)); diff != "" || again.String() != first.String() {
			t.Errorf("%s: made again (-want +got):\n%s", name, diff)
		}
		if got := kept(t, opened(first.String()), make("70"), o); cmp.Equal(want, got) {
			t.Errorf("%s: runs of others were taken", name)
		}
	}
}

// The contents of a linked folder count; a link to what holds it ends nowhere.
func TestDigestFollowsLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "trace")); err != nil {
		t.Fatal(err)
	}
	sums := map[[32]byte]bool{}
	for _, text := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(outside, "file"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sum, err := experiment.Digest(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		sums[sum] = true
	}
	if len(sums) != 2 {
		t.Error("another file in a linked folder has the same digest")
	}
	if err := os.Symlink(outside, filepath.Join(outside, "itself")); err != nil {
		t.Fatal(err)
	}
	if _, err := experiment.Digest(os.DirFS(dir)); err == nil {
		t.Error("a digest of an endless folder")
	}
}

// A file can be resumed wherever its writing was interrupted, and another kind of file is not
// touched.
func TestKeptFileIsCutAnywhere(t *testing.T) {
	b1 := cases(t, "b1", experiment.Params{Nodes: 1, Pods: 4}, experiment.Sweep{Work: []float64{1}, Law: []workload.Law{workload.Equal}})
	o := experiment.Options{Schedulers: []string{experiment.Default, "lower-bound"}, Seeds: []uint64{1}}
	whole := opened("")
	want := kept(t, whole, b1, o)
	for cut := range len(whole.String()) {
		if cut > 40 && cut%97 != 0 {
			continue
		}
		again := opened(whole.String()[:cut])
		if diff := cmp.Diff(want, kept(t, again, b1, o)); diff != "" {
			t.Fatalf("cut after %d bytes (-want +got):\n%s", cut, diff)
		}
		if diff := cmp.Diff(want, kept(t, opened(again.String()), b1, o)); diff != "" {
			t.Fatalf("cut after %d bytes, and once more (-want +got):\n%s", cut, diff)
		}
	}
	for _, text := range []string{"notes\n", "{}", "1,2,3\n4,5,6\n"} {
		other := opened(text)
		if _, err := experiment.Keep(other, "a build"); !errors.Is(err, experiment.ErrOtherBuild) || other.String() != text {
			t.Errorf("%q: error %v, now %q", text, err, other.String())
		}
	}
}

// Rows are equal whether they ran under another name or again: Observe makes every run.
func TestRunsAlikeAreMadeOnce(t *testing.T) {
	p := experiment.Params{Nodes: 2, Pods: 20, Duration: 40}
	sweep := experiment.Sweep{Work: []float64{2}, Load: []float64{.5}}
	var all []experiment.Case
	for _, name := range []string{"finding-1-arrivals", "finding-6", "wrong-requests", "servers", "arrivals", "background"} {
		p.Trace = traces[name]
		all = append(all, cases(t, name, p, sweep)...)
	}
	o := experiment.Options{Seeds: []uint64{1, 2}, Workers: 3}
	shared, err := experiment.Run(t.Context(), all, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Observe = func(experiment.Case, string, uint64, sim.Result) {}
	each, err := experiment.Run(t.Context(), all, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(each, shared); diff != "" {
		t.Errorf("(-each on its own +shared):\n%s", diff)
	}
}

// counting is a directory that counts the files opened.
type counting struct {
	fs.FS
	opened *atomic.Int64
}

func (c counting) Open(name string) (fs.File, error) {
	if name != "." {
		c.opened.Add(1)
	}
	return c.FS.Open(name)
}

// A trace is read once, however many runs replay it.
func TestTracesAreReadOnce(t *testing.T) {
	for name, files := range traces {
		var opened atomic.Int64
		p := experiment.Params{Nodes: 2, Duration: 60, Trace: counting{files, &opened}}
		o := experiment.Options{Schedulers: []string{experiment.Default, "coin"}, Seeds: []uint64{1, 2, 3}, Workers: 2}
		runWith(t, cases(t, name, p, experiment.Sweep{Load: []float64{.3, .4}}), o, 2)
		if got := int(opened.Load()); got != len(files) {
			t.Errorf("%s: %d files opened of %d", name, got, len(files))
		}
	}
}
