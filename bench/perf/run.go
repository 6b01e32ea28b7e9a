package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	_ "k8s.io/component-base/logs/json/register" // scheduler_perf's flags name it
	"k8s.io/kubernetes/pkg/scheduler"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	scheduler_perf "k8s.io/kubernetes/test/integration/scheduler_perf"
	"k8s.io/kubernetes/test/utils/client-go/ktesting"

	"github.com/spazio-scheduler/spazio/plugin"
)

const roleRun = "run"

// order is what a run is told to do, by a file in its directory.
type order struct {
	Workload workload
	Plugin   bool
	// Ballast is the cores to be taken by a process beside a run without the
	// plugin.
	Ballast float64
	Profile string // where to keep the CPU profile, if anywhere
}

// result is what a run measured of its last pods.
type result struct {
	Pods    int     `json:"pods"`
	Seconds float64 `json:"seconds"`
	// Process and Scheduler are CPU seconds, Server is the part of Scheduler that
	// goes to receiving reports and waking pods.
	Process   float64 `json:"process_cpu"`
	Scheduler float64 `json:"scheduler_cpu"`
	Server    float64 `json:"server_cpu"`
	// Beside is the cores that the process beside it took.
	Beside float64 `json:"beside_cores"`
}

func (r result) throughput() float64   { return float64(r.Pods-1) / r.Seconds }
func (r result) processCPU() float64   { return r.Process / float64(r.Pods-1) }
func (r result) schedulerCPU() float64 { return r.Scheduler / float64(r.Pods-1) }
func (r result) cycleCPU() float64     { return (r.Scheduler - r.Server) / float64(r.Pods-1) }

// run has a process measure one side.
func (c *comparison) run(pair int, withPlugin bool) (result, error) {
	dir, err := os.MkdirTemp(c.dir, "run-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	o := order{Workload: c.workload, Plugin: withPlugin, Ballast: c.ballast}
	if c.profiles != "" {
		o.Profile = filepath.Join(c.profiles, fmt.Sprintf("%s-%d-%02d-%v.pprof", c.workload.Name, c.workload.Nodes, pair+1, withPlugin))
	}
	if err := writeJSON(filepath.Join(dir, "order"), o); err != nil {
		return result{}, err
	}
	binary, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	if err := os.Symlink(binary, filepath.Join(dir, etcdName)); err != nil {
		return result{}, err
	}
	var output bytes.Buffer
	run := exec.Command(binary)
	run.Dir = dir
	run.Env = append(os.Environ(), roleVariable+"="+roleRun, "TMPDIR="+dir, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	run.Stdout, run.Stderr = &output, &output
	var r result
	if err := run.Run(); err != nil {
		return r, fmt.Errorf("pair %d, plugin %v: %w; it said:\n%s", pair+1, withPlugin, err, tail(output.Bytes()))
	}
	if err := readJSON(filepath.Join(dir, "result"), &r); err != nil {
		return r, fmt.Errorf("pair %d, plugin %v: %w; it said:\n%s", pair+1, withPlugin, err, tail(output.Bytes()))
	}
	return r, nil
}

func tail(text []byte) []byte { return text[max(0, len(text)-8<<10):] }

func writeJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// measure is the role of a run. It ends the process as soon as the last pod is
// bound: to take scheduler_perf's cluster down would take longer than to measure.
func measure() error {
	var o order
	if err := readJSON("order", &o); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	config, err := o.Workload.write(dir, o.Plugin)
	if err != nil {
		return err
	}
	hub := plugin.NewHub(plugin.HubOptions{})
	watch := &stopwatch{pods: o.Workload.Pods, profile: o.Profile}
	registry := frameworkruntime.Registry{stopwatchName: watch.New, plugin.Name: serving(hub.New)}
	// scheduler_perf is made for go test.
	os.Args = []string{os.Args[0], "-test.run=^$", "-test.bench=.", "-test.benchtime=1x", "-test.timeout=0"}
	testing.Init()
	if err := scheduler_perf.InitTests(); err != nil {
		return err
	}
	go func() { exit(watch.wait()) }()
	testing.Main(regexp.MatchString, nil, []testing.InternalBenchmark{{Name: "BenchmarkPerfScheduling", F: func(b *testing.B) {
		scheduler_perf.RunBenchmarkPerfScheduling(b, config, "spazio", registry,
			scheduler_perf.WithPrepareFn(unlabel),
			scheduler_perf.WithNodeUpdateFn(func(t ktesting.TContext, _ *scheduler.Scheduler, _ *scheduler_perf.Workload, nodes *corev1.NodeList) error {
				neighbour, err := startNeighbour(o, hub, nodes)
				watch.neighbour(neighbour)
				return err
			}))
	}}}, nil)
	return nil
}

func exit(r result, err error) {
	if err == nil {
		err = writeJSON("result", r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
