package telemetry_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spazio-scheduler/spazio/telemetry"
)

// BenchmarkChurn runs the source in real time beside a node on which nine pods a second start and
// end, some 50 being alive: an operation is one pod's life. It reports the CPU time of the process
// without that of the thread that plays the node; source=none is the cost of the Go runtime and of
// sleeping, processes=none are cgroups without processes.
func BenchmarkChurn(b *testing.B) {
	for _, tc := range []struct {
		name              string
		source, processes bool
	}{
		{"source=none", false, true},
		{"processes=all", true, true},
		{"processes=none", true, false},
	} {
		b.Run(tc.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			n := newChurningNode(b, tc.processes)
			if tc.source {
				ended := n.run(telemetry.CgroupConfig{}, func(telemetry.PodEvent) {})
				defer ended()
			}
			n.play(8 * time.Second / churnPeriod) // until as many end as start
			before, start := n.cpu(), time.Now()
			for b.Loop() {
				n.play(1)
			}
			used := n.cpu() - before
			b.ReportMetric(0, "ns/op") // it is the period
			b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-µs/pod")
			b.ReportMetric(1000*used.Seconds()/time.Since(start).Seconds(), "millicores")
		})
	}
}

// BenchmarkDetection measures from the creation of a pod's cgroup to the churn event, on a node
// with 50 pods without recent events.
func BenchmarkDetection(b *testing.B) {
	n := newChurningNode(b, true)
	n.play(50)
	churn := make(chan time.Time, 1)
	ended := n.run(telemetry.CgroupConfig{Gather: time.Millisecond}, func(e telemetry.PodEvent) {
		if e.Churn {
			churn <- time.Now()
		}
	})
	defer ended()
	var latencies []float64
	for i := 0; b.Loop(); i++ {
		time.Sleep(20 * time.Millisecond)
		made := time.Now()
		n.mkdir(n.path(1000+i, ""))
		latencies = append(latencies, 1000*(<-churn).Sub(made).Seconds())
	}
	slices.Sort(latencies)
	b.ReportMetric(0, "ns/op") // it is the pause
	b.ReportMetric(latencies[len(latencies)/2], "p50-ms")
	b.ReportMetric(latencies[len(latencies)*99/100], "p99-ms")
	b.ReportMetric(latencies[len(latencies)-1], "max-ms")
}

// churnPeriod is the time from one pod's start to the next one's.
const churnPeriod = 111 * time.Millisecond

// churningNode plays the cgroups of a node on which pods come and go.
type churningNode struct {
	testing.TB
	root, proc string
	processes  bool
	pods       int
	due        []action // by time
	start      time.Time
}

type action struct {
	at time.Duration
	do func()
}

func newChurningNode(tb testing.TB, processes bool) *churningNode {
	n := &churningNode{TB: tb, root: tb.TempDir(), proc: tb.TempDir(), processes: processes, start: time.Now()}
	n.mkdir(filepath.Join(n.root, "kubepods", "burstable"))
	for pid, comm := range map[string]string{"1": "runc:[2:INIT]", "2": "pause", "3": "sh"} {
		n.mkdir(filepath.Join(n.proc, pid))
		n.write(filepath.Join(n.proc, pid, "comm"), comm+"\n")
	}
	return n
}

// run runs a source over the node until the returned function is called.
func (n *churningNode) run(c telemetry.CgroupConfig, notify func(telemetry.PodEvent)) (end func()) {
	c.Root, c.ProcRoot = n.root, n.proc
	source, err := telemetry.NewCgroupPods(c)
	if err != nil {
		n.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended, first := make(chan error, 1), make(chan struct{}, 1)
	go func() {
		ended <- source.Run(ctx, func(e telemetry.PodEvent) {
			select {
			case first <- struct{}{}:
			default:
			}
			notify(e)
		})
	}()
	<-first
	return func() {
		cancel()
		if err := <-ended; err != nil {
			n.Error(err)
		}
	}
}

// play starts that many pods, one a period, and does what is due meanwhile, with the timing of a
// node with containerd.
func (n *churningNode) play(pods time.Duration) {
	for range pods {
		i, at := n.pods, time.Duration(n.pods)*churnPeriod
		n.pods++
		n.at(at, func() { n.mkdir(n.path(i, "")) })
		n.at(at+98*time.Millisecond, func() { n.container(i, "sandbox") })
		n.at(at+159*time.Millisecond, func() { n.enter(i, "sandbox", "2") })
		n.at(at+214*time.Millisecond, func() { n.container(i, "app") })
		n.at(at+240*time.Millisecond, func() { n.enter(i, "app", "3") })
		n.at(at+2500*time.Millisecond, func() { n.remove(i, "app") })
		n.at(at+2600*time.Millisecond, func() { n.remove(i, "sandbox") })
		n.at(at+5500*time.Millisecond, func() { n.remove(i, "") })
		for len(n.due) > 0 && n.due[0].at < at+churnPeriod {
			time.Sleep(time.Until(n.start.Add(n.due[0].at)))
			n.due[0].do()
			n.due = n.due[1:]
		}
	}
}

func (n *churningNode) at(t time.Duration, do func()) {
	i, _ := slices.BinarySearchFunc(n.due, t, func(a action, t time.Duration) int { return cmp.Compare(a.at, t) })
	n.due = slices.Insert(n.due, i, action{t, do})
}

func (n *churningNode) path(pod int, elem string) string {
	return filepath.Join(n.root, "kubepods", "burstable", fmt.Sprintf("pod%08d-1111-2222-3333-444455556666", pod), elem)
}

func (n *churningNode) container(pod int, name string) {
	n.mkdir(n.path(pod, name))
	n.write(filepath.Join(n.path(pod, name), "cgroup.procs"), "")
	n.enter(pod, name, "1")
}

func (n *churningNode) enter(pod int, name, pid string) {
	if n.processes {
		n.write(filepath.Join(n.path(pod, name), "cgroup.procs"), pid+"\n")
	}
}

func (n *churningNode) remove(pod int, name string) {
	if err := os.RemoveAll(n.path(pod, name)); err != nil {
		n.Error(err)
	}
}

func (n *churningNode) mkdir(path string) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		n.Error(err)
	}
}

func (n *churningNode) write(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		n.Error(err)
	}
}

// cpu is what the process used so far, except for this thread.
func (n *churningNode) cpu() time.Duration {
	var total time.Duration
	for _, who := range []struct{ who, sign int }{{unix.RUSAGE_SELF, 1}, {unix.RUSAGE_THREAD, -1}} {
		var u unix.Rusage
		if err := unix.Getrusage(who.who, &u); err != nil {
			n.Fatal(err)
		}
		total += time.Duration(who.sign) * time.Duration(unix.TimevalToNsec(u.Utime)+unix.TimevalToNsec(u.Stime))
	}
	return total
}
