//go:build realnode && linux

package realnode

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// A batch is the result of pods that were created at once.
type batch struct {
	Scheduler string
	Pods      int
	CPU       float64 // seconds of each pod
	Makespan  float64 // seconds from the first creation to the last end
	Run       float64 // mean seconds from the program's start to its end
	Sojourn   float64 // mean seconds from the creation to the end
	Queue     float64 // mean seconds from the creation to the bind
	Startup   float64 // mean seconds from the bind to the program's start
	AtOnce    int     // most programs that ran at once
	Bound     int     // most pods that were bound and had not ended
	Pressure  float64 // share of the time in which some task waited for a CPU
	Busy      float64 // share of busy cores
	Load      float64 // load average of the machine before
}

// fates records when pods were created, bound and done. It is safe for concurrent use.
type fates struct {
	mu      sync.Mutex
	created map[string]time.Time
	bound   map[string]time.Time
	ended   map[string]*corev1.Pod
}

func newFates() *fates {
	return &fates{created: map[string]time.Time{}, bound: map[string]time.Time{}, ended: map[string]*corev1.Pod{}}
}

// observe records a pod's state.
func (f *fates) observe(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.bound[pod.Name]; !known && pod.Spec.NodeName != "" {
		f.bound[pod.Name] = time.Now()
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		f.ended[pod.Name] = pod
	}
}

// follow observes the pods of a label until the test ends.
func (f *fates) follow(t *testing.T, label string) {
	t.Helper()
	factory := informers.NewSharedInformerFactoryWithOptions(node.client, 0, informers.WithNamespace("default"),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "batch=" + label }))
	pods := factory.Core().V1().Pods().Informer()
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: f.observe, UpdateFunc: func(_, object any) { f.observe(object) },
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	cache.WaitForCacheSync(ctx.Done(), pods.HasSynced)
}

// submit creates the pods of a batch, named by its label, as fast as the API accepts them, and removes
// them after the test.
func (f *fates) submit(t *testing.T, label string, count int, pod func(name string) *corev1.Pod) {
	t.Helper()
	f.follow(t, label)
	t.Cleanup(func() { removeBatch(t, label) })
	for i := range count {
		p := pod(label + "-" + strconv.Itoa(i))
		p.Labels = map[string]string{"batch": label}
		f.mu.Lock()
		f.created[p.Name] = time.Now()
		f.mu.Unlock()
		if _, err := node.client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func removeBatch(t *testing.T, label string) {
	t.Helper()
	which := metav1.ListOptions{LabelSelector: "batch=" + label}
	eventually(t, "the batch's pods are gone", func(ctx context.Context) error {
		pods := node.client.CoreV1().Pods("default")
		if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, which); err != nil {
			return err
		}
		left, err := pods.List(ctx, which)
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("%d pods are there", len(left.Items))
		}
		return err
	})
}

// wait returns when so many pods have ended; batches may last longer than await allows, so each end
// restarts its limit.
func (f *fates) wait(t *testing.T, count int) {
	t.Helper()
	for seen := 0; seen < count; {
		before := seen
		eventually(t, fmt.Sprintf("%d of %d pods ended", before+1, count), func(context.Context) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if seen = len(f.ended); seen > before {
				return nil
			}
			return fmt.Errorf("%d of %d ended, %d bound", seen, count, len(f.bound))
		})
	}
}

// An interval of a pod's life.
type interval[T any] struct{ from, to T }

// atMost returns how many of the intervals overlap at most.
func atMost[T any](all []interval[T], compare func(a, b T) int) (most int) {
	for _, a := range all {
		n := 0
		for _, b := range all {
			if compare(b.from, a.from) <= 0 && compare(b.to, a.from) > 0 {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// perPod divides sums by the number of pods.
func (b *batch) perPod(pods int) {
	for _, sum := range []*float64{&b.Run, &b.Sojourn, &b.Queue, &b.Startup, &b.CPU} {
		*sum /= float64(max(1, pods))
	}
}

// figures summarizes a batch whose pods have all ended, and fails the test if one did not succeed.
func (f *fates) figures(t *testing.T) (b batch) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var runs, lives []interval[time.Time]
	var first, last time.Time
	for name, pod := range f.ended {
		w, err := words(pod)
		if err != nil || pod.Status.Phase != corev1.PodSucceeded {
			t.Errorf("%s is %s: %v %v", name, pod.Status.Phase, err, pod.Status.ContainerStatuses)
			continue
		}
		created, bound := f.created[name], f.bound[name]
		if first.IsZero() || created.Before(first) {
			first = created
		}
		if w.Ended.After(last) {
			last = w.Ended
		}
		runs, lives = append(runs, interval[time.Time]{w.Began, w.Ended}), append(lives, interval[time.Time]{bound, w.Ended})
		b.Run += w.Ended.Sub(w.Began).Seconds()
		b.Sojourn += w.Ended.Sub(created).Seconds()
		b.Queue += bound.Sub(created).Seconds()
		b.Startup += w.Began.Sub(bound).Seconds()
		b.CPU += w.CPU.Seconds()
	}
	b.Pods, b.Makespan = len(runs), last.Sub(first).Seconds()
	b.perPod(len(runs))
	b.AtOnce, b.Bound = atMost(runs, time.Time.Compare), atMost(lives, time.Time.Compare)
	return b
}

// A meter reads the kernel's counters.
type meter struct {
	at       time.Time
	pressure time.Duration // in which some task waited
	busy     float64       // core-seconds
}

func readMeter(t *testing.T) (m meter) {
	t.Helper()
	m.at = time.Now()
	text, err := os.ReadFile("/proc/pressure/cpu")
	if err != nil {
		t.Fatal(err)
	}
	_, total, _ := strings.Cut(strings.SplitN(string(text), "\n", 2)[0], "total=")
	micros, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	m.pressure = time.Duration(micros) * time.Microsecond
	if text, err = os.ReadFile("/proc/stat"); err != nil {
		t.Fatal(err)
	}
	// user nice system idle iowait irq softirq steal
	for i, field := range strings.Fields(strings.SplitN(string(text), "\n", 2)[0])[1:9] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			t.Fatal(err)
		}
		if i != 3 && i != 4 {
			m.busy += ticks / 100
		}
	}
	return m
}

// since adds the kernel's counts during a batch to it.
func (m meter) since(t *testing.T, b *batch) {
	t.Helper()
	now := readMeter(t)
	elapsed := now.at.Sub(m.at)
	b.Pressure = float64(now.pressure-m.pressure) / float64(elapsed)
	b.Busy = (now.busy - m.busy) / elapsed.Seconds() / float64(runtime.NumCPU())
}

// quiet returns when the machine has had little load for a while, so that a batch does not overlap the
// last one's end.
func quiet(t *testing.T) (load float64) {
	t.Helper()
	const calm, share = 3 * time.Second, .15
	eventually(t, "the machine is quiet", func(ctx context.Context) error {
		var b batch
		m := readMeter(t)
		select {
		case <-time.After(calm):
		case <-ctx.Done():
			return ctx.Err()
		}
		if m.since(t, &b); b.Busy > share && !*loaded {
			return fmt.Errorf("%.0f %% of the cores are busy", 100*b.Busy)
		}
		return nil
	})
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	load, err = strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return load
}

// run runs one batch to its end on a quiet machine.
func run(t *testing.T, label, scheduler string, count int, arguments ...string) batch {
	t.Helper()
	return runBeside(t, quiet(t), label, scheduler, count, arguments...)
}

// runBeside runs one batch to its end beside the machine's other load; load is the load average before.
func runBeside(t *testing.T, load float64, label, scheduler string, count int, arguments ...string) (b batch) {
	t.Helper()
	t.Run(label, func(t *testing.T) {
		m, f := readMeter(t), newFates()
		f.submit(t, label, count, func(name string) *corev1.Pod { return worker(name, scheduler, arguments...) })
		f.wait(t, count)
		b = f.figures(t)
		m.since(t, &b)
		b.Scheduler, b.Load = scheduler, load
		t.Logf("%+v", b)
	})
	return b
}

// median returns the median of figures, for an even number the upper middle one.
func median(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[len(sorted)/2]
}
