package slice_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/energy/share"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/slice"
)

// The test binary is its own child.
func TestMain(m *testing.M) {
	children.Init(map[string]children.Role{
		"generator": slice.Main, "wait": wait, "fail": fail, "end": end, "burn": burn, "serve": serve,
	})
	os.Exit(m.Run())
}

// wait prints its number of CPUs, and waits.
func wait(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return err
	}
	fmt.Fprintln(out, set.Count(), strings.Join(args, " "))
	<-ctx.Done()
	return nil
}

func fail(context.Context, []string, io.Reader, io.Writer) error { return errors.New("no such luck") }

func end(_ context.Context, _ []string, _ io.Reader, out io.Writer) error {
	fmt.Fprintln(out, "ready")
	return nil
}

// serve prints the address that it serves at.
func serve(_ context.Context, args []string, in io.Reader, out io.Writer) error {
	fmt.Fprintln(out, args[0])
	_, err := io.Copy(io.Discard, in)
	return err
}

// burn uses CPU time until its input ends.
func burn(ctx context.Context, _ []string, _ io.Reader, out io.Writer) error {
	fmt.Fprintln(out, "burning")
	for ctx.Err() == nil {
	}
	return nil
}

// tick is the generator's update interval.
const tick = 50 * time.Millisecond

func firstCPU(t *testing.T) []int {
	t.Helper()
	cpus, err := children.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	return cpus[:1]
}

func line(t *testing.T, p *children.Process) string {
	t.Helper()
	l, err := p.Line(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// generator is a child that maintains the files of hosts in dir.
type generator struct {
	t *testing.T
	*children.Process
	syncs uint64
}

func startGenerator(t *testing.T, g *children.Group, dir string, hosts ...slice.Host) *generator {
	t.Helper()
	text, err := json.Marshal(slice.Config{Dir: dir, Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Start(children.Spec{Role: "generator", Args: []string{string(text)}})
	if err != nil {
		t.Fatal(err)
	}
	if l := line(t, p); l != "ready" {
		t.Fatalf("got line %q", l)
	}
	return &generator{t: t, Process: p}
}

func (g *generator) send(m slice.Message) {
	g.t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		g.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(g, "%s\n", text); err != nil {
		g.t.Fatal(err)
	}
}

func (g *generator) sync() {
	g.t.Helper()
	g.syncs++
	g.send(slice.Message{Sync: g.syncs})
	if l := line(g.t, g.Process); l != fmt.Sprint(g.syncs) {
		g.t.Fatalf("got answer %q", l)
	}
}

// joules returns a host's package counter.
func joules(t *testing.T, dir, host string) float64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, host, "class/powercap/intel-rapl:0/energy_uj"))
	if err != nil {
		t.Fatal(err)
	}
	micro, err := telemetry.ParseCounter(text)
	if err != nil {
		t.Fatal(err)
	}
	return float64(micro) / 1e6
}

// A host draws its idle power and, for each second of CPU time of its processes, the difference to full
// power, by the kernel's clock, read before and after. CPU time before a process joined does not count,
// nor does it count for another host.
func TestJoulesAreOfCPUTime(t *testing.T) {
	g, dir := newGroup(t), t.TempDir()
	// One of the two CPUs is never busy: a host at full power can draw no more, whatever an interval's
	// clocks show.
	const idle, full, most = 10., 70., 40.
	gen := startGenerator(t, g, dir, slice.Host{Name: "a", CPUs: 2, Idle: idle, Max: full}, slice.Host{Name: "b", CPUs: 1, Idle: idle, Max: most})
	p, err := g.Start(children.Spec{Role: "burn", CPUs: firstCPU(t)})
	if err != nil {
		t.Fatal(err)
	}
	line(t, p)
	before := p.CPU()
	gen.send(slice.Message{Join: &slice.Join{Host: "a", ID: "p", PID: p.PID(), Before: before}})
	type moment struct {
		early, late time.Time
		least, most time.Duration
		a, b        float64
	}
	look := func() (m moment) {
		m.early, m.least = time.Now(), p.CPU()
		gen.sync()
		m.late, m.most = time.Now(), p.CPU()
		m.a, m.b = joules(t, dir, "a"), joules(t, dir, "b")
		return m
	}
	from := look()
	for p.CPU()-from.most < 400*time.Millisecond {
		time.Sleep(10 * time.Millisecond)
	}
	to := look()
	const step = .01 // J of files written a tick later, and of counter steps
	low := idle*to.early.Sub(from.late).Seconds() + (most-idle)*(to.least-from.most).Seconds() - step
	high := idle*to.late.Sub(from.early).Seconds() + (most-idle)*(to.most-from.least).Seconds() + most*2*tick.Seconds()
	if got := to.a - from.a; got < low || got > high {
		t.Errorf("%.3f J, want %.3f to %.3f", got, low, high)
	}
	if got, all := to.b-from.b, idle*to.late.Sub(from.early).Seconds()+most*2*tick.Seconds(); got > all {
		t.Errorf("host without processes: got %.3f J, want at most %.3f", got, all)
	}
	if early := (most - idle) * before.Seconds(); from.a > early+high { // it was busy for longer than before
		t.Errorf("got %.3f J at the beginning", from.a)
	}
}

// A slice has the files that an agent reads: running pods, their CPU time, the machine's.
func TestAgentsReadTheFiles(t *testing.T) {
	g, dir := newGroup(t), t.TempDir()
	gen := startGenerator(t, g, dir, slice.Host{Name: "a", CPUs: 2, Idle: 1, Max: 2})
	cgroups := telemetry.CgroupConfig{Root: filepath.Join(dir, "a/cgroup"), ProcRoot: filepath.Join(dir, "a/proc")}
	pods, err := telemetry.NewCgroupPods(cgroups)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	events := make(chan telemetry.PodEvent, 100)
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := pods.Run(ctx, func(e telemetry.PodEvent) { events <- e }); err != nil {
			t.Error(err)
		}
	})
	defer watching.Wait()
	defer cancel()
	await := func(want ...string) {
		t.Helper()
		for e := range events {
			var running []string
			for _, p := range e.Pods {
				if p.State == telemetry.PodRunning {
					running = append(running, p.UID)
				}
			}
			slices.Sort(running)
			if e.Changed && slices.Equal(running, want) {
				return
			}
		}
	}
	reader, err := telemetry.NewReader(telemetry.Config{ProcRoot: cgroups.ProcRoot, CgroupRoot: cgroups.Root, CPU: telemetry.CPUUtilisation, Counter: telemetry.CounterStat})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if sizes := reader.Sizes(); sizes[0] != 2 {
		t.Errorf("got %v cores, want two", sizes[0])
	}
	p, err := g.Start(children.Spec{Role: "burn", CPUs: firstCPU(t)})
	if err != nil {
		t.Fatal(err)
	}
	line(t, p)
	gen.send(slice.Message{Join: &slice.Join{Host: "a", ID: "uid-1", PID: p.PID(), Pod: true}})
	await("uid-1")
	gen.send(slice.Message{Join: &slice.Join{Host: "a", ID: "uid-2", PID: os.Getpid(), Pod: true, Before: time.Hour}})
	await("uid-1", "uid-2")

	usage, err := telemetry.NewPodUsage(cgroups)
	if err != nil {
		t.Fatal(err)
	}
	defer usage.Close()
	least := p.CPU()
	gen.sync()
	most := p.CPU() + tick
	var read telemetry.CPUUsage
	if err := usage.ReadCPUTo(&read, time.Now()); err != nil {
		t.Fatal(err)
	}
	got := map[string]time.Duration{}
	for _, p := range read.Pods {
		got[p.UID] = p.CPU
	}
	if cpu := got["uid-1"]; cpu < least-time.Millisecond || cpu > most+100*tick {
		t.Errorf("pod with %v to %v of CPU time: got %v", least, most, cpu)
	}
	if got["uid-2"] != 0 || read.Tree < got["uid-1"] || read.Node.Busy > read.Tree+20*time.Millisecond || read.Node.Cores != 2 {
		t.Errorf("pods %v, tree %v, node %+v", got, read.Tree, read.Node)
	}

	cpu := p.CPU()
	p.Kill()
	<-p.Done()
	gen.send(slice.Message{Leave: &slice.Leave{Host: "a", ID: "uid-1", CPU: cpu + time.Second}})
	await("uid-2")
	gen.sync()
	if err := usage.ReadCPUTo(&read, time.Now()); err != nil {
		t.Fatal(err)
	}
	if read.Node.Busy < cpu+time.Second-20*time.Millisecond {
		t.Errorf("got %v of the machine, of which an ended pod used %v", read.Node.Busy, cpu+time.Second)
	}
	if read.Tree < cpu+time.Second-time.Millisecond {
		t.Errorf("got %v of the tree, of which an ended pod used %v", read.Tree, cpu+time.Second)
	}
}

// Guests are found on their host by their control groups, with their CPUs and CPU time; the host's
// energy includes all of them and its other processes.
func TestGuests(t *testing.T) {
	g, dir := newGroup(t), t.TempDir()
	gen := startGenerator(t, g, dir, slice.Host{
		Name: "host", CPUs: 3, Idle: 1, Max: 10, Guests: []slice.Guest{{Name: "vm-1", CPUs: 2}, {Name: "vm-2", CPUs: 1}},
	})
	var processes []*children.Process
	for _, at := range []string{"vm-1", "host"} {
		p, err := g.Start(children.Spec{Role: "burn", CPUs: firstCPU(t)})
		if err != nil {
			t.Fatal(err)
		}
		line(t, p)
		gen.send(slice.Message{Join: &slice.Join{Host: at, ID: "p", PID: p.PID()}})
		processes = append(processes, p)
	}
	least := []time.Duration{processes[0].CPU(), processes[1].CPU()}
	gen.sync()
	finder, err := share.NewFinder(share.FinderConfig{Mode: share.ByCgroup, ProcRoot: filepath.Join(dir, "host/proc"), CgroupRoot: filepath.Join(dir, "host/cgroup")})
	if err != nil {
		t.Fatal(err)
	}
	guests, err := finder.GuestsTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	most := processes[0].CPU()
	if len(guests) != 2 || guests[0].Name != "vm-1" || guests[0].VCPUs != 2 || guests[1].Name != "vm-2" || guests[1].VCPUs != 1 || guests[1].CPU != 0 {
		t.Errorf("guests %+v", guests)
	} else if cpu := guests[0].CPU; cpu < least[0]-time.Millisecond || cpu > most {
		t.Errorf("guest with %v to %v of CPU time: got %v", least[0], most, cpu)
	}
	usage, err := telemetry.NewPodUsage(telemetry.CgroupConfig{Root: filepath.Join(dir, "host/cgroup"), ProcRoot: filepath.Join(dir, "host/proc")})
	if err != nil {
		t.Fatal(err)
	}
	defer usage.Close()
	node, err := usage.ReadNode()
	if err != nil || node.Cores != 3 || node.Busy < least[0]+least[1]-20*time.Millisecond {
		t.Errorf("host: got %+v of %v and %v, error %v", node, least[0], least[1], err)
	}
	if _, err := os.Stat(filepath.Join(dir, "vm-1/class")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got counters of a guest: %v", err)
	}
}

// The generator refuses invalid input with a reason.
func TestGeneratorRefuses(t *testing.T) {
	good := `{"dir":"` + t.TempDir() + `","hosts":[{"name":"a","cpus":1,"idle":1,"max":2}]}`
	for _, test := range []struct{ args, in, want string }{
		{"", "", "arguments"}, {"{", "", "arguments"}, {`{"dir":""}`, "", "Dir"},
		{`{"dir":"x","hosts":[{"name":"a","cpus":0,"max":1}]}`, "", "Hosts.CPUs"},
		{`{"dir":"x","hosts":[{"name":"a","cpus":1,"idle":2,"max":1}]}`, "", "Hosts.Idle"},
		{`{"dir":"x","hosts":[{"name":"","cpus":1,"max":1}]}`, "", "Hosts.Name"},
		{`{"dir":"x","hosts":[{"name":"a/b","cpus":1,"max":1}]}`, "", "Hosts.Name"},
		{`{"dir":"x","hosts":[{"name":"..","cpus":1,"max":1}]}`, "", "Hosts.Name"},
		{`{"dir":"x","hosts":[{"name":"a","cpus":1,"max":1,"guests":[{"name":"a","cpus":1}]}]}`, "", "Hosts.Name"},
		{good, "nonsense\n", "message"}, {good, "{}\n", "message"},
		{good, `{"join":{"host":"b","id":"x","pid":1}}` + "\n", "Host"},
		{good, `{"leave":{"host":"a","id":"x"}}` + "\n", "id"},
	} {
		err := slice.Main(t.Context(), []string{test.args}, strings.NewReader(test.in), io.Discard)
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != test.want || !errors.Is(err, slice.ErrInvalid) {
			t.Errorf("%s with %q: got error %v, want of %s", test.args, test.in, err, test.want)
		}
	}
	if err := slice.Main(t.Context(), []string{good}, strings.NewReader(""), io.Discard); err != nil {
		t.Errorf("input that ends: got error %v", err)
	}
}

// rig is a machine that runs until the test ends.
type rig struct {
	*slice.Machine
	transitions chan simnode.Transition
	events      chan slice.Event
	stop        func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{transitions: make(chan simnode.Transition, 100), events: make(chan slice.Event, 100)}
	var err error
	r.Machine, err = slice.NewMachine(slice.MachineConfig{
		Name: "slice", CPUs: firstCPU(t), Group: newGroup(t),
		Child: func(p simnode.Pod) (children.Spec, error) {
			if len(p.Args) == 0 {
				return children.Spec{}, errors.New("no arguments")
			}
			return children.Spec{Role: p.Args[0], Args: p.Args[1:]}, nil
		},
		Observer: func(e slice.Event) { r.events <- e },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx, func(tr simnode.Transition) { r.transitions <- tr }); err != nil {
			t.Error(err)
		}
	})
	r.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(r.stop)
	return r
}

func (r *rig) bind(t *testing.T, uid string, args ...string) {
	t.Helper()
	if err := r.Bind(simnode.Pod{UID: uid, Args: args}); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) want(t *testing.T, uid string, phase simnode.Phase) {
	t.Helper()
	got := <-r.transitions
	got.At = time.Time{}
	if diff := cmp.Diff(simnode.Transition{UID: uid, Phase: phase}, got); diff != "" {
		t.Fatalf("transition (-want +got):\n%s", diff)
	}
}

// A pod is a process on the slice's CPUs with its container's arguments.
func TestMachine(t *testing.T) {
	r := newRig(t)
	spec := r.Spec()
	if spec.Name != "slice" || spec.Cores != 1 || spec.Memory != 1<<30 {
		t.Errorf("spec %+v", spec)
	}
	r.bind(t, "a", "wait", "x", "y")
	r.want(t, "a", simnode.Running)
	started, ready := <-r.events, <-r.events
	if started.UID != "a" || started.Node != "slice" || started.Process == nil || started.Ready != "" || started.Ended {
		t.Errorf("start: got %+v", started)
	}
	if ready.Ready != "1 x y" || ready.Process != started.Process {
		t.Errorf("ready: %+v", ready)
	}
	if err := r.Bind(simnode.Pod{UID: "a", Args: []string{"wait"}}); !errors.Is(err, simnode.ErrDuplicatePod) {
		t.Errorf("the same pod again: got error %v", err)
	}
	if n := r.Pods(); n != 1 {
		t.Errorf("%d pods", n)
	}
	r.Kill("a")
	r.want(t, "a", simnode.Killed)
	if e := <-r.events; !e.Ended || e.UID != "a" {
		t.Errorf("end: got %+v", e)
	}
	if n := r.Pods(); n != 0 {
		t.Errorf("got %d pods after its end", n)
	}
}

// The address that a process prints becomes its pod's address.
func TestMachineAddresses(t *testing.T) {
	r := newRig(t)
	for text, ip := range map[string]string{"127.9.8.7:80": "127.9.8.7", "[::1]:80": "::1", "localhost:80": "", "127.9.8.7": "", "ready": ""} {
		r.bind(t, text, "serve", text)
		got := <-r.transitions
		if got.Phase != simnode.Running || got.IP != ip {
			t.Errorf("%s: got %+v, want address %q", text, got, ip)
		}
	}
}

func TestMachinePhases(t *testing.T) {
	r := newRig(t)
	r.bind(t, "ends", "end")
	r.want(t, "ends", simnode.Running)
	r.want(t, "ends", simnode.Succeeded)
	r.bind(t, "fails", "fail")
	r.want(t, "fails", simnode.Failed)
	if err := r.Bind(simnode.Pod{UID: "none"}); err == nil {
		t.Error("a pod without a process was accepted")
	}
}

// A pod that is killed before its start never runs, and at most as many pods wait as a node has.
func TestMachineKillsWaitingPods(t *testing.T) {
	m, err := slice.NewMachine(slice.MachineConfig{
		Name: "slice", CPUs: firstCPU(t), Group: newGroup(t),
		Child: func(simnode.Pod) (children.Spec, error) { return children.Spec{Role: "wait"}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range simnode.MaxPods {
		uid := fmt.Sprint(i)
		if err := m.Bind(simnode.Pod{UID: uid}); err != nil {
			t.Fatal(err)
		}
		m.Kill(uid)
	}
	if err := m.Bind(simnode.Pod{UID: "more"}); !errors.Is(err, simnode.ErrBadPod) {
		t.Errorf("one pod over the limit: got error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan simnode.Transition, simnode.MaxPods)
	go func() { _ = m.Run(ctx, func(tr simnode.Transition) { ended <- tr }) }()
	defer cancel()
	for range simnode.MaxPods {
		if tr := <-ended; tr.Phase != simnode.Killed {
			t.Errorf("%+v", tr)
		}
	}
}

// The processes have ended when the machine has stopped.
func TestMachineStops(t *testing.T) {
	r := newRig(t)
	var processes []*children.Process
	for _, uid := range []string{"a", "b"} {
		r.bind(t, uid, "wait")
		r.want(t, uid, simnode.Running)
		processes = append(processes, (<-r.events).Process)
		<-r.events
	}
	r.stop()
	for _, p := range processes {
		select {
		case <-p.Done():
		default:
			t.Errorf("process %d still runs after the machine stopped", p.PID())
		}
	}
	if err := r.Bind(simnode.Pod{UID: "c", Args: []string{"wait"}}); !errors.Is(err, simnode.ErrStopped) {
		t.Errorf("bind after the end: got error %v", err)
	}
}

func TestNewMachineRefuses(t *testing.T) {
	child := func(simnode.Pod) (children.Spec, error) { return children.Spec{}, nil }
	g := &children.Group{}
	for name, c := range map[string]slice.MachineConfig{
		"Name": {CPUs: []int{0}, Group: g, Child: child}, "CPUs": {Name: "a", Group: g, Child: child},
		"Group": {Name: "a", CPUs: []int{0}}, "Memory": {Name: "a", CPUs: []int{0}, Group: g, Child: child, Memory: -1},
	} {
		_, err := slice.NewMachine(c)
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// newGroup returns a group with files in the test's directory, closed at its end.
func newGroup(t *testing.T) *children.Group {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	g, err := children.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}
