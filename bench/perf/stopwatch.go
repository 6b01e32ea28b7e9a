package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"runtime/pprof"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/test/utils/client-go/ktesting"

	"github.com/spazio-scheduler/spazio/bench/internal/process"
	"github.com/spazio-scheduler/spazio/bench/perf/cpuprofile"
)

// stopwatchName is that of a plugin which runs on both sides and times the
// bindings of the measured pods.
const stopwatchName = "Stopwatch"

type stopwatch struct {
	pods    int
	profile string // file for the CPU profile, if not empty

	mu         sync.Mutex
	bound      int
	began      time.Time
	beganCPU   time.Duration
	besideCPU  time.Duration
	beside     *exec.Cmd
	cpuProfile bytes.Buffer
	result     result
	err        error
	done       chan struct{}
	once       sync.Once
}

func (s *stopwatch) finished() chan struct{} {
	s.once.Do(func() { s.done = make(chan struct{}) })
	return s.done
}

// wait returns the result when the last pod has been bound.
func (s *stopwatch) wait() (result, error) {
	<-s.finished()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.result, s.err
}

// neighbour names the process whose share of the machine is to be known.
func (s *stopwatch) neighbour(cmd *exec.Cmd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beside = cmd
}

// New is the plugin's factory. What the goroutine starts from here until unlabel
// belongs to the scheduler.
func (s *stopwatch) New(ctx context.Context, _ runtime.Object, _ fwk.Handle) (fwk.Plugin, error) {
	label(partScheduler)
	return s, nil
}

// Name returns the plugin's name.
func (*stopwatch) Name() string { return stopwatchName }

// PostBind counts a measured pod.
func (s *stopwatch) PostBind(_ context.Context, _ fwk.CycleState, pod *corev1.Pod, _ string) {
	if pod.Namespace != measured {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound++
	switch s.bound {
	case 1:
		s.begin()
	case s.pods:
		s.end()
	}
}

func (s *stopwatch) begin() {
	s.began = time.Now()
	if s.beganCPU, s.err = process.Own(); s.err != nil {
		return
	}
	if s.besideCPU, s.err = process.CPU(s.beside.Process.Pid); s.err != nil {
		return
	}
	s.err = pprof.StartCPUProfile(&s.cpuProfile)
}

func (s *stopwatch) end() {
	defer close(s.finished())
	r := result{Pods: s.bound, Seconds: time.Since(s.began).Seconds()}
	cpu, err := process.Own()
	pprof.StopCPUProfile()
	if s.err != nil || err != nil {
		s.err = firstError(s.err, err)
		return
	}
	besideCPU, err := process.CPU(s.beside.Process.Pid)
	if err != nil {
		s.err = err
		return
	}
	r.Process, r.Beside = (cpu - s.beganCPU).Seconds(), (besideCPU-s.besideCPU).Seconds()/r.Seconds
	if s.profile != "" {
		s.err = os.WriteFile(s.profile, s.cpuProfile.Bytes(), 0o644)
	}
	// Most of what the collector does is for the API server.
	seconds, err := cpuprofile.Seconds(s.cpuProfile.Bytes(), labelKey, "runtime.gcAssistAlloc")
	r.Scheduler, r.Server = seconds[partScheduler]+seconds[partServer], seconds[partServer]
	s.result, s.err = r, firstError(s.err, err)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// The label of goroutines, which those they start inherit: the scheduler's, and
// of these what the plugin runs besides, the server of reports above all.
const labelKey, partScheduler, partServer = "part", "scheduler", "server"

func label(part string) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(labelKey, part)))
}

// serving is a factory that labels what its plugin starts.
func serving(factory frameworkruntime.PluginFactory) frameworkruntime.PluginFactory {
	return func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		label(partServer)
		defer label(partScheduler)
		return factory(ctx, args, handle)
	}
}

// unlabel runs when the scheduler has been started: what follows on this
// goroutine are scheduler_perf's own clients.
func unlabel(ktesting.TContext) error {
	pprof.SetGoroutineLabels(context.Background())
	return nil
}
