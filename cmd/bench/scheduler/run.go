package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/embed"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	_ "k8s.io/component-base/logs/json/register" // scheduler_perf's flags name it
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	scheduler_perf "k8s.io/kubernetes/test/integration/scheduler_perf"
	"k8s.io/kubernetes/test/utils/client-go/ktesting"

	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// roleRun names the role of a run.
const roleRun = "run"

// order is what a run must do.
type order struct {
	Dir      string // its own
	Workload workload
	Plugin   bool
	// Ballast is the cores to be taken by a process beside a run without the
	// plugin.
	Ballast float64
}

// result is what a run measured of its last pods.
type result struct {
	Pods    int
	Seconds float64
	// Process and Scheduler are CPU seconds, Server is the part of Scheduler that
	// goes to receiving reports and waking pods.
	Process, Scheduler, Server float64
	// Beside is the cores that the process beside it took.
	Beside float64
}

func (r result) throughput() float64   { return float64(r.Pods-1) / r.Seconds }
func (r result) processCPU() float64   { return 1e3 * r.Process / float64(r.Pods-1) }
func (r result) schedulerCPU() float64 { return 1e3 * r.Scheduler / float64(r.Pods-1) }
func (r result) cycleCPU() float64     { return 1e3 * (r.Scheduler - r.Server) / float64(r.Pods-1) }

// run has a process measure one side.
func run(ctx context.Context, g *children.Group, o order) (r result, err error) {
	if o.Dir, err = os.MkdirTemp(g.Dir(), "run-"); err != nil {
		return r, err
	}
	defer os.RemoveAll(o.Dir)
	p, err := startRole(g, roleRun, o)
	if err != nil {
		return r, err
	}
	text, err := p.Line(ctx)
	if err != nil {
		return r, err
	}
	<-p.Done()
	return r, json.Unmarshal([]byte(text), &r)
}

// startRole starts a child, which reads what to do as JSON.
func startRole(g *children.Group, role string, orders any) (*children.Process, error) {
	p, err := g.Start(children.Spec{Role: role})
	if err != nil {
		return nil, err
	}
	return p, json.NewEncoder(p).Encode(orders)
}

// measure is the role of a run. It ends the process as soon as the last pod is
// bound: to take scheduler_perf's cluster down would take longer than to measure.
func measure(_ context.Context, _ []string, in io.Reader, out io.Writer) error {
	os.Stdout = os.Stderr // scheduler_perf talks, too
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := errors.Join(os.Symlink(self, filepath.Join(o.Dir, etcdName)), os.Setenv("TMPDIR", o.Dir),
		os.Setenv("PATH", o.Dir+string(os.PathListSeparator)+os.Getenv("PATH"))); err != nil {
		return err
	}
	config, err := o.Workload.write(o.Dir, o.Plugin)
	if err != nil {
		return err
	}
	g, err := children.NewGroup()
	if err != nil {
		return err
	}
	hub := plugin.NewHub(plugin.HubOptions{})
	watch := &stopwatch{order: o, out: out, done: make(chan error, 1)}
	registry := frameworkruntime.Registry{stopwatchName: watch.New, plugin.Name: serving(hub.New)}
	// scheduler_perf is made for go test.
	os.Args = []string{os.Args[0], "-test.run=^$", "-test.bench=.", "-test.benchtime=1x", "-test.timeout=0"}
	testing.Init()
	if err := scheduler_perf.InitTests(); err != nil {
		return err
	}
	go func() {
		if err := <-watch.done; err != nil {
			fmt.Fprintln(os.Stderr, "scheduler:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}()
	testing.Main(regexp.MatchString, nil, []testing.InternalBenchmark{{Name: "BenchmarkPerfScheduling", F: func(b *testing.B) {
		scheduler_perf.RunBenchmarkPerfScheduling(b, config, "spazio", registry,
			scheduler_perf.WithPrepareFn(unlabel),
			scheduler_perf.WithNodeUpdateFn(func(_ ktesting.TContext, _ *scheduler.Scheduler, _ *scheduler_perf.Workload, nodes *corev1.NodeList) (err error) {
				watch.beside, err = startNeighbour(g, o, hub, nodes)
				return err
			}))
	}}}, nil)
	return nil
}

// etcdName is the program that scheduler_perf starts.
const etcdName = "etcd"

// serveEtcd is etcd, as far as scheduler_perf asks for it. It never syncs, for the disk is not what is
// measured, and ends with the run that started it.
func serveEtcd() {
	given := map[string]string{}
	for i := 1; i+1 < len(os.Args); i += 2 {
		given[strings.TrimLeft(os.Args[i], "-")] = os.Args[i+1]
	}
	urls := func(flag string) types.URLs { return types.MustNewURLs([]string{given[flag]}) }
	config := embed.NewConfig()
	config.Dir, config.LogLevel, config.QuotaBackendBytes, config.UnsafeNoFsync = given["data-dir"], "warn", 8<<30, true
	config.ListenClientUrls, config.AdvertiseClientUrls = urls("listen-client-urls"), urls("advertise-client-urls")
	config.ListenPeerUrls, config.AdvertisePeerUrls = urls("listen-peer-urls"), urls("listen-peer-urls")
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	parent := os.Getppid()
	if _, err := embed.StartEtcd(config); err != nil {
		panic(err)
	}
	for os.Getppid() == parent {
		time.Sleep(200 * time.Millisecond)
	}
}

// stopwatchName is that of a plugin which runs on both sides and times the
// bindings of the measured pods.
const stopwatchName = "Stopwatch"

type stopwatch struct {
	order  order
	out    io.Writer         // for the result
	beside *children.Process // whose share of the machine is to be known
	done   chan error        // when the last pod has been bound

	mu                sync.Mutex
	bound             int
	began             time.Time
	ownCPU, besideCPU time.Duration
	cpuProfile        bytes.Buffer
	err               error
}

// New is the plugin's factory. What the goroutine starts from here until unlabel
// belongs to the scheduler.
func (s *stopwatch) New(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
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
		s.began, s.besideCPU = time.Now(), s.beside.CPU()
		s.ownCPU, s.err = children.OwnCPUTime()
		s.err = errors.Join(s.err, pprof.StartCPUProfile(&s.cpuProfile))
	case s.order.Workload.Pods:
		s.done <- errors.Join(s.err, s.end())
	}
}

// end writes the result.
func (s *stopwatch) end() error {
	r := result{Pods: s.bound, Seconds: time.Since(s.began).Seconds()}
	own, err := children.OwnCPUTime()
	beside := s.beside.CPU()
	pprof.StopCPUProfile()
	if err != nil {
		return err
	}
	seconds, err := secondsByPart(s.cpuProfile.Bytes())
	if err != nil {
		return err
	}
	r.Process, r.Beside = (own - s.ownCPU).Seconds(), (beside-s.besideCPU).Seconds()/r.Seconds
	r.Scheduler, r.Server = seconds[partScheduler]+seconds[partServer], seconds[partServer]
	return json.NewEncoder(s.out).Encode(r)
}

// secondsByPart is the CPU time in a profile by the label of goroutines. What the collector has an
// allocating goroutine do is left out: most of it is for the API server.
func secondsByPart(text []byte) (map[string]float64, error) {
	p, err := profile.ParseData(text)
	if err != nil {
		return nil, err
	}
	collects := func(l *profile.Location) bool {
		return slices.ContainsFunc(l.Line, func(l profile.Line) bool { return l.Function != nil && l.Function.Name == "runtime.gcAssistAlloc" })
	}
	seconds := map[string]float64{}
	for _, s := range p.Sample { // the second value is in nanoseconds
		if !slices.ContainsFunc(s.Location, collects) {
			seconds[strings.Join(s.Label[labelKey], "")] += float64(s.Value[1]) / 1e9
		}
	}
	return seconds, nil
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
