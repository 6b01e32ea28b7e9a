//go:build realnode && linux

package realnode

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	soak     = flag.Duration("soak", 0, "how long the soak lasts, as in 2h; 0 leaves it out")
	soakRate = flag.Float64("soak-rate", 1, "the soak's pods a second")
)

// The soak's limits, and the shortest soak that they apply to: a process's first minutes do not predict
// the days after.
const (
	slopeLimit    = 1.0 // MiB per hour
	countLimit    = 5   // change of goroutines or descriptors since the processes settled
	diskLimit     = 16  // growth of our pods' volumes and logs, in MiB
	soakLeast     = 2 * time.Hour
	soakWaiting   = 200 // the most waiting pods
	samplesOfSoak = 240
	sampleApart   = 10 * time.Second // at least, since sampling takes time, too
)

// TestSoak runs pods through the node, one per second, for the configured time, and observes our
// programs' resources.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Log("not run: it takes the time that the flag -soak names")
		return
	}
	install(t)
	before := observeSoak(t, 0)
	f := newStream(t)
	begin := time.Now()
	samples := []soakSample{}
	next := time.Duration(0)
	for made := 0; ; {
		since := time.Since(begin)
		if since >= next {
			samples = append(samples, observeSoak(t, since))
			next += max(*soak/samplesOfSoak, sampleApart)
		}
		if since >= *soak {
			break
		}
		if float64(made) < since.Seconds()**soakRate && f.waiting() < soakWaiting {
			f.make(t, made)
			made++
			continue
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.drain(t)
	quiet(t)
	eventually(t, "no pod is in flight", func(context.Context) error {
		if n := value(t, leaderMetrics(t), "spazio_inflight_pods"); n != 0 {
			return fmt.Errorf("%v are", n)
		}
		return nil
	})
	samples = append(samples, observeSoak(t, time.Since(begin)))
	report := summariseSoak(before, samples, f.counts())
	note(t, t.Name(), report)
	t.Logf("%v: %+v; ledger entries that expired %v, pods in flight in the end 0; disk %+.1f MiB",
		*soak, report.Pods, report.Expired, report.Disk)
	for _, name := range slices.Sorted(maps.Keys(report.Processes)) {
		p := report.Processes[name]
		t.Logf("%-45s RSS %.1f → %.1f MiB, slope %+.2f MiB/h; goroutines %.0f → %.0f; descriptors %.0f → %.0f",
			name, p.RSS.From, p.RSS.To, p.Slope, p.Goroutines.From, p.Goroutines.To, p.Descriptors.From, p.Descriptors.To)
	}
	report.hold(t)
}

// A soakSample is the state of our programs at a time.
type soakSample struct {
	At        time.Duration
	Processes map[string]processSample
	Expired   float64 // entries of the leader's ledger without a bind
	Disk      float64 // MiB of our pods' volumes and logs
}

type processSample struct{ RSS, Goroutines, Descriptors float64 }

// ours are our long-running programs, with each one's namespace and the port of its debug address.
var ours = []struct {
	program, namespace string
	port               int
}{
	{"spazio-agent", "spazio-agent", 9691},
	{"spazio-aggregator", "spazio-system", 9693},
	{"spazio-scheduler", "spazio-system", 9694},
}

func observeSoak(t *testing.T, at time.Duration) soakSample {
	t.Helper()
	s := soakSample{At: at, Processes: map[string]processSample{}}
	for _, o := range ours {
		pods, err := node.client.CoreV1().Pods(o.namespace).List(t.Context(),
			metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + o.program})
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods.Items {
			pid := processesOf(t, o.program, pod.UID)[0]
			text := metricsOf(t, o.namespace, pod.Name, o.port)
			s.Processes[pod.Name] = processSample{resident(t, pid), value(t, text, "go_goroutines"), descriptors(t, pid)}
			s.Disk += diskOf(t, &pod)
		}
	}
	s.Expired = value(t, leaderMetrics(t), `spazio_ledger_corrections_total{kind="expired"}`)
	return s
}

// A soakReport is the result of a soak.
type soakReport struct {
	Lasted    float64 // seconds
	Pods      soakCounts
	Processes map[string]processReport
	Expired   float64
	Disk      float64 // growth in MiB
	Samples   []soakSample
}

type processReport struct {
	RSS, Goroutines, Descriptors change
	Slope                        float64 // MiB per hour
}

// A change is from the settled state to the end.
type change struct{ From, To float64 }

// summariseSoak compares the end with the state after a twelfth of the time, ten minutes of two hours,
// and fits the slope to the last three quarters.
func summariseSoak(before soakSample, samples []soakSample, pods soakCounts) soakReport {
	last := samples[len(samples)-1]
	r := soakReport{
		Lasted: last.At.Seconds(), Pods: pods, Processes: map[string]processReport{},
		Expired: last.Expired - before.Expired, Disk: last.Disk - before.Disk, Samples: samples,
	}
	settled := samples[slices.IndexFunc(samples, func(s soakSample) bool { return s.At >= last.At/12 })]
	for name, to := range last.Processes {
		from, there := settled.Processes[name]
		if !there {
			continue // hold reports it as lost
		}
		var x, y []float64
		for _, s := range samples {
			if p, there := s.Processes[name]; there && s.At >= last.At/4 {
				x, y = append(x, s.At.Hours()), append(y, p.RSS)
			}
		}
		r.Processes[name] = processReport{
			change{from.RSS, to.RSS}, change{from.Goroutines, to.Goroutines}, change{from.Descriptors, to.Descriptors}, theilSen(x, y),
		}
	}
	return r
}

// theilSen returns the median of the slopes between any two points.
func theilSen(x, y []float64) float64 {
	var slopes []float64
	for i := range x {
		for j := range i {
			if x[i] != x[j] {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	return median(slopes)
}

// hold fails the test if a limit is exceeded. Growth until a process settles counts only after a soak
// that is long enough.
func (r soakReport) hold(t *testing.T) {
	t.Helper()
	if r.Pods.Failed > 0 || r.Pods.Restarted > 0 || r.Pods.Succeeded != r.Pods.Made {
		t.Errorf("pods: %+v", r.Pods)
	}
	if r.Expired > 0 {
		t.Errorf("got %v ledger entries dropped without a bind", r.Expired)
	}
	if r.Disk > diskLimit {
		t.Errorf("got %.1f MiB more on disk", r.Disk)
	}
	if want := len(r.Samples[0].Processes); len(r.Processes) != want {
		t.Errorf("got %d of %d processes at the end", len(r.Processes), want)
	}
	long := time.Duration(r.Lasted*float64(time.Second)) >= soakLeast
	for name, p := range r.Processes {
		for what, c := range map[string]change{"goroutines": p.Goroutines, "descriptors": p.Descriptors} {
			if d := c.To - c.From; d > countLimit || long && d < -countLimit {
				t.Errorf("%s has %v %s, had %v", name, c.To, what, c.From)
			}
		}
		if long && p.Slope > slopeLimit {
			t.Errorf("%s: got a growth of %.2f MiB per hour", name, p.Slope)
		}
	}
}

// soakCounts are numbers of pods by their outcome.
type soakCounts struct {
	Made, Succeeded, Failed, Restarted int
	Rate                               float64 // per second, from the first creation to the last end
}

// A stream creates pods one by one and deletes them as they end.
type stream struct {
	*fates
	counted     soakCounts
	begin, last time.Time
	deleted     map[string]bool
}

const soakLabel = "soak"

func newStream(t *testing.T) *stream {
	t.Helper()
	s := &stream{fates: newFates(), begin: time.Now(), deleted: map[string]bool{}}
	s.follow(t, soakLabel)
	t.Cleanup(func() { removeBatch(t, soakLabel) })
	return s
}

// make creates a pod and deletes those that have ended.
func (s *stream) make(t *testing.T, i int) {
	t.Helper()
	pod := worker(soakLabel+"-"+strconv.Itoa(i), spazio, "-cpu=200ms")
	pod.Labels = map[string]string{"batch": soakLabel}
	if _, err := node.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.counted.Made++
	s.mu.Unlock()
	s.sweep(t)
}

// sweep counts the ended pods and deletes them.
func (s *stream) sweep(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	var done []*corev1.Pod
	for name, pod := range s.ended {
		if !s.deleted[name] {
			s.deleted[name] = true
			done = append(done, pod)
		}
		s.ended[name] = nil
	}
	s.mu.Unlock()
	for _, pod := range done {
		if pod.Status.Phase == corev1.PodSucceeded {
			s.counted.Succeeded++
		} else {
			s.counted.Failed++
		}
		for _, c := range pod.Status.ContainerStatuses {
			s.counted.Restarted += int(c.RestartCount)
		}
		s.last = time.Now()
		if err := node.client.CoreV1().Pods("default").Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
			t.Errorf("%s: %v", pod.Name, err)
		}
	}
}

func (s *stream) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counted.Made - len(s.ended)
}

// drain returns when all pods have ended.
func (s *stream) drain(t *testing.T) {
	t.Helper()
	s.wait(t, s.counted.Made)
	s.sweep(t)
}

func (s *stream) counts() soakCounts {
	s.counted.Rate = float64(s.counted.Succeeded) / s.last.Sub(s.begin).Seconds()
	return s.counted
}
