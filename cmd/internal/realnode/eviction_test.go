//go:build realnode && linux

package realnode

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/spazio-scheduler/spazio/sim"
	simulation "github.com/spazio-scheduler/spazio/sim/node"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

var evictionRuns = flag.Int("eviction-runs", 0, "how many batches the test of the eviction model runs, of seven minutes each; 0 leaves it out")

// The batch of the eviction model's test: each pod takes its memory within seconds, works and sleeps.
// Together they want almost three times as much memory as there is.
const (
	shortJobs    = 24
	shortMemory  = 350 << 20 // bytes of each pod
	shortGrow    = 5         // seconds
	shortWork    = 1         // core-seconds
	shortSleep   = 15        // seconds
	memoryForAll = 3 << 30   // bytes that the pods may have before the kubelet evicts
	simulations  = 20        // seeds
	tolerance    = .15       // of the model's means
	steady       = 20 << 20  // bytes by which the system's own memory may move while a threshold is taken
)

// shortage is what became of a batch on a node that is short of memory.
type shortage struct {
	Kills, Evictions, GaveUp int
	Makespan                 float64 // seconds from the first creation to the end of the last Job
}

// TestEvictionModel runs batches of Jobs without requests whose pods want more memory than the node has
// for them, under the default scheduler, and compares the kernel's kills, the kubelet's evictions and
// the makespan with the simulator's. The kubelet evicts and the kernel kills long before the machine
// itself is short of memory.
func TestEvictionModel(t *testing.T) {
	if *evictionRuns < 1 {
		t.Log("not run: it takes seven minutes a batch, see the flag -eviction-runs")
		return
	}
	quiet(t)
	t.Cleanup(func() { evictBelow(t, 0) })
	var real, model []shortage
	for i := range *evictionRuns {
		evictAbove(t, memoryForAll)
		real = append(real, runShort(t, fmt.Sprintf("short-%d", i)))
	}
	for seed := range uint64(simulations) {
		model = append(model, simulateShort(t, seed+1))
	}
	note(t, "eviction", map[string][]shortage{"real": real, "simulated": model})
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tkills\tevictions\tgave up\tmakespan s\t")
	line := func(name string, s shortage) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.0f\t\n", name, s.Kills, s.Evictions, s.GaveUp, s.Makespan)
	}
	for _, s := range real {
		line("real", s)
	}
	for _, s := range model {
		line("simulated", s)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", text.String())
	for _, of := range []struct {
		what  string
		value func(shortage) float64
	}{
		{"kills and evictions", func(s shortage) float64 { return float64(s.Kills + s.Evictions) }},
		{"makespan", func(s shortage) float64 { return s.Makespan }},
	} {
		measured, modelled := meanOf(real, of.value), meanOf(model, of.value)
		t.Logf("%s: %.4g measured, %.4g simulated, ratio %.3f", of.what, measured, modelled, measured/modelled)
		if math.Abs(measured/modelled-1) > tolerance {
			t.Errorf("%s: %.4g measured is more than %.0f %% off %.4g", of.what, measured, 100*tolerance, modelled)
		}
	}
}

func meanOf(all []shortage, value func(shortage) float64) float64 {
	sum := 0.
	for _, s := range all {
		sum += value(s)
	}
	return sum / float64(len(all))
}

// availableByKubelet returns the memory that is available by the kubelet's own reckoning, in bytes.
func availableByKubelet(t *testing.T) int64 {
	t.Helper()
	var summary struct {
		Node struct {
			Memory struct{ AvailableBytes int64 }
		}
	}
	eventually(t, "the kubelet knows its memory", func(ctx context.Context) error {
		text, err := node.client.CoreV1().RESTClient().Get().Resource("nodes").Name(nodeName).
			SubResource("proxy").Suffix("stats/summary").DoRaw(ctx)
		if err == nil {
			err = json.Unmarshal(text, &summary)
		}
		if err == nil && summary.Node.Memory.AvailableBytes == 0 {
			err = errors.New("no availableBytes in stats/summary")
		}
		return err
	})
	return summary.Node.Memory.AvailableBytes
}

// evictAbove lets the kubelet evict pods once all pods together take more than these bytes, and limits them
// to EvictionThreshold bytes more. The memory of the system itself moves by as much as that, so each batch
// has a threshold of its own, which is taken again until it has held for 20 s.
func evictAbove(t *testing.T, bytes int64) {
	t.Helper()
	evictBelow(t, 100<<20)
	eventually(t, "the system's memory is steady", func(ctx context.Context) error {
		evictBelow(t, availableByKubelet(t)-bytes)
		select {
		case <-time.After(20 * time.Second): // two readings of the kubelet's
		case <-ctx.Done():
		}
		if off := drift(t, bytes); off < -steady || off > steady {
			return fmt.Errorf("it differs by %d MiB after 20 s", off>>20)
		}
		return nil
	})
	// A kubelet that starts sets the limit of the pods' cgroup once.
	eventually(t, "the pods' limit holds", func(ctx context.Context) error {
		limitPods(t, bytes+simulation.EvictionThreshold)
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
		}
		if limit := podLimit(t); limit > bytes+simulation.EvictionThreshold {
			return fmt.Errorf("it is %d bytes", limit)
		}
		return nil
	})
}

// drift returns how many bytes more than these the pods may take before the kubelet evicts them, while
// there are none.
func drift(t *testing.T, bytes int64) int64 {
	t.Helper()
	return availableByKubelet(t) - node.evictBelow - bytes
}

// evictBelow restarts the kubelet, which evicts pods when fewer bytes are available.
func evictBelow(t *testing.T, bytes int64) {
	t.Helper()
	node.evictBelow = bytes
	if err := errors.Join(node.kubelet.stop(), node.startKubelet(), node.waitReady()); err != nil {
		t.Fatal(err)
	}
	availableByKubelet(t) // which the new kubelet can tell once it runs
}

// podLimit returns the pods' limit that limitPods has set.
func podLimit(t *testing.T) (bytes int64) {
	t.Helper()
	file, _ := podLimitFile()
	text, err := os.ReadFile(file)
	if err == nil {
		bytes, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// runShort runs one batch to the end of its last Job.
func runShort(t *testing.T, label string) (s shortage) {
	t.Helper()
	t.Run(label, func(t *testing.T) {
		quiet(t)
		l := losses{kills: map[types.UID]map[string]bool{}, evicted: map[types.UID]bool{}, ended: map[string]bool{}}
		l.follow(t, label)
		begin := time.Now()
		t.Cleanup(func() {
			now, which := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, metav1.ListOptions{LabelSelector: "batch=" + label}
			if err := node.client.BatchV1().Jobs("default").DeleteCollection(context.Background(), now, which); err != nil {
				t.Error(err)
			}
			removeBatch(t, label)
		})
		for i := range shortJobs {
			pod := worker("", defaults, fmt.Sprintf("-memory=%d", shortMemory), fmt.Sprintf("-grow=%ds", shortGrow),
				fmt.Sprintf("-cpu=%ds", shortWork), fmt.Sprintf("-sleep=%ds", shortSleep))
			pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
			labels := map[string]string{"batch": label}
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", label, i), Labels: labels}}
			job.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod.Spec}
			if _, err := node.client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for done := 0; done < shortJobs; {
			before := done
			// Five minutes of MemoryPressure and the last back-off may pass without an end.
			deadline := time.Now().Add(2 * readyTime)
			for done = l.count(&s); done == before; done = l.count(&s) {
				if time.Now().After(deadline) {
					t.Fatalf("%d of %d Jobs ended; %+v", done, shortJobs, s)
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		s.Makespan = time.Since(begin).Seconds()
		if limit := podLimit(t); limit > memoryForAll+simulation.EvictionThreshold {
			t.Fatalf("the pods' limit is %d bytes now", limit)
		}
		t.Logf("%+v", s)
	})
	return s
}

// losses records the kills, evictions and ends of a batch's pods and Jobs. It is safe for concurrent use.
type losses struct {
	mu      sync.Mutex
	kills   map[types.UID]map[string]bool // pods' containers that the kernel killed
	evicted map[types.UID]bool            // pods
	ended   map[string]bool               // Jobs, by name; true for one that failed
}

// follow records the pods and Jobs of a label until the test ends.
func (l *losses) follow(t *testing.T, label string) {
	t.Helper()
	factory := informers.NewSharedInformerFactoryWithOptions(node.client, 0, informers.WithNamespace("default"),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "batch=" + label }))
	for informer, observe := range map[cache.SharedIndexInformer]func(any){
		factory.Core().V1().Pods().Informer(): l.observePod, factory.Batch().V1().Jobs().Informer(): l.observeJob,
	} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: observe, UpdateFunc: func(_, object any) { observe(object) }, DeleteFunc: observe,
		}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	factory.WaitForCacheSync(ctx.Done())
}

// observePod records what a pod's status shows. The last container of a pod that the kubelet evicted
// was killed by the kubelet, which may give the reason in a later status.
func (l *losses) observePod(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if pod.Status.Reason == "Evicted" {
		l.evicted[pod.UID] = true
	}
	for _, status := range pod.Status.ContainerStatuses {
		for _, state := range []corev1.ContainerState{status.LastTerminationState, status.State} {
			if end := state.Terminated; end != nil && end.ExitCode == 137 {
				if l.kills[pod.UID] == nil {
					l.kills[pod.UID] = map[string]bool{}
				}
				l.kills[pod.UID][end.ContainerID] = true
			}
		}
		if end := status.State.Terminated; end != nil && l.evicted[pod.UID] {
			delete(l.kills[pod.UID], end.ContainerID)
		}
	}
}

func (l *losses) observeJob(object any) {
	job, ok := object.(*batchv1.Job)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			l.ended[job.Name] = c.Type == batchv1.JobFailed
		}
	}
}

// count sets the counts so far and returns how many Jobs have ended.
func (l *losses) count(s *shortage) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Kills, s.Evictions, s.GaveUp = 0, len(l.evicted), 0
	for _, containers := range l.kills {
		s.Kills += len(containers)
	}
	for _, failed := range l.ended {
		if failed {
			s.GaveUp++
		}
	}
	return len(l.ended)
}

// simulateShort returns what the simulator makes of the batch: on a node of this machine's cores with
// the memory that the pods have.
func simulateShort(t *testing.T, seed uint64) (s shortage) {
	t.Helper()
	latencies := rand.New(rand.NewPCG(seed, 0))
	pods := make([]sim.Pod, shortJobs)
	for i := range pods {
		pods[i].Startup = simnode.StartupLatency(latencies).Seconds()
		for tenth := range 10 {
			pods[i].Phases = append(pods[i].Phases, simulation.Stage{Seconds: shortGrow / 10., Memory: shortMemory / 10. * float64(tenth+1)})
		}
		pods[i].Phases = append(pods[i].Phases,
			simulation.Stage{Seconds: shortWork, Cores: 1, Memory: shortMemory},
			simulation.Stage{Seconds: shortSleep, Memory: shortMemory})
	}
	r, err := sim.Run(t.Context(), sim.Config{
		Nodes: 1, Seed: seed, Scheduler: sim.Default{},
		Node: simulation.Params{Cores: runtime.NumCPU(), Memory: memoryForAll + simulation.EvictionThreshold, BaseMemory: 1e-9},
	}, pods)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Records {
		s.Kills, s.Evictions = s.Kills+p.Kills, s.Evictions+p.Evictions
		if p.GaveUp {
			s.GaveUp++
		}
	}
	s.Makespan = r.End
	return s
}
