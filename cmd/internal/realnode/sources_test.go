//go:build realnode && linux

package realnode

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/kube"
)

// sourcesAgree is how long the last source may lag behind the first, on a machine with little other
// load. The kubelet inspects its containers once a second, and writes the result to the API later.
const sourcesAgree = 5 * time.Second

// Through churn, all sources of pods, the kubelet's own list included, converge to the same pods, and
// none misses a begin or an end.
func TestSources(t *testing.T) {
	s := watchSources(t)
	const steps, each, kept = 6, 3, 2
	pods := map[types.UID]string{}
	var standing []*corev1.Pod
	for step := range steps {
		for i := range each {
			pod := worker(fmt.Sprintf("source-%d-%d", step, i), defaults, "-sleep=1h")
			create(t, pod)
			pod = get(t, pod.Name)
			pods[pod.UID] = pod.Name
			standing = append(standing, pod)
		}
		// The next ones start as these end: the ends are still reported.
		s.shown(t, standing)
		for len(standing) > kept {
			if err := node.gone(t.Context(), "default", standing[0].Name); err == nil {
				t.Fatalf("%s was missing", standing[0].Name)
			}
			standing = standing[1:]
		}
	}
	s.agree(t, standing)
	for _, pod := range standing {
		remove(t, pod)
	}
	s.agree(t, nil)
	lags := s.lags(t, pods)
	note(t, t.Name(), lags)
	for _, name := range s.names() {
		l := lags[name]
		t.Logf("%-10s behind the first: begins %.2f s (median), %.2f s (most); ends %.2f s, %.2f s",
			name, l.Begin.Median, l.Begin.Most, l.End.Median, l.End.Most)
		if most := time.Duration(max(l.Begin.Most, l.End.Most) * float64(time.Second)); most > sourcesAgree && !*loaded {
			t.Errorf("%s: got a lag of %v, want at most %v", name, most, sourcesAgree)
		}
	}
}

// sources observes several pod sources of the node. They are safe for concurrent use.
type sources struct {
	mu      sync.Mutex
	running map[string]map[types.UID]bool
	begins  map[string]map[types.UID]time.Time
	ends    map[string]map[types.UID]time.Time
}

// watchSources follows all sources until the test ends.
func watchSources(t *testing.T) *sources {
	t.Helper()
	s := &sources{
		running: map[string]map[types.UID]bool{},
		begins:  map[string]map[types.UID]time.Time{},
		ends:    map[string]map[types.UID]time.Time{},
	}
	groups, err := telemetry.NewCgroupPods(telemetry.CgroupConfig{Root: cgroups})
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := podsource.NewCRI(podsource.Config{Endpoint: node.socket()})
	if err != nil {
		t.Fatal(err)
	}
	api, err := kube.New(kube.Config{REST: administrator(t), Node: nodeName})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	t.Cleanup(func() { cancel(); group.Wait() })
	for name, source := range map[string]telemetry.PodSource{
		"cgroup": groups, "cri": runtime, "API": api, "kubelet": kubeletList{},
	} {
		s.running[name], s.begins[name], s.ends[name] = map[types.UID]bool{}, map[types.UID]time.Time{}, map[types.UID]time.Time{}
		group.Go(func() {
			if err := source.Run(ctx, func(e telemetry.PodEvent) { s.observe(name, e) }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	return s
}

// observe processes a source's event.
func (s *sources) observe(name string, e telemetry.PodEvent) {
	if !e.Changed {
		return
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	running := map[types.UID]bool{}
	for _, pod := range e.Pods {
		uid := types.UID(pod.UID)
		if pod.State != telemetry.PodRunning {
			continue
		}
		if running[uid] = true; !s.running[name][uid] {
			s.begins[name][uid] = now
		}
	}
	for uid := range s.running[name] {
		if !running[uid] {
			s.ends[name][uid] = now
		}
	}
	s.running[name] = running
}

func (s *sources) names() []string { return slices.Sorted(maps.Keys(s.begins)) }

// shown returns when every source has all these pods.
func (s *sources) shown(t *testing.T, pods []*corev1.Pod) {
	t.Helper()
	eventually(t, "all sources show the pods", func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for name, running := range s.running {
			for _, pod := range pods {
				if !running[pod.UID] {
					return fmt.Errorf("%s lacks %s", name, pod.Name)
				}
			}
		}
		return nil
	})
}

// agree returns when every source has these pods, and the same other ones.
func (s *sources) agree(t *testing.T, pods []*corev1.Pod) {
	t.Helper()
	s.shown(t, pods)
	eventually(t, "all sources show the same pods", func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		first := s.running["API"]
		for name, running := range s.running {
			if !maps.Equal(first, running) {
				return fmt.Errorf("the API shows %v, %s %v", first, name, running)
			}
		}
		return nil
	})
}

// A lag is how many seconds a source is behind the first that reports a pod's begin, or its end.
type lag struct{ Begin, End spread }

type spread struct{ Median, Most float64 }

// lags returns those over the pods, and fails the test if a source missed one.
func (s *sources) lags(t *testing.T, pods map[types.UID]string) map[string]lag {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	behind := func(times map[string]map[types.UID]time.Time, name, what string) spread {
		var all []float64
		for uid, pod := range pods {
			at, seen := times[name][uid]
			if !seen {
				t.Errorf("%s missed the %s of %s", name, what, pod)
				continue
			}
			first := at
			for _, others := range times {
				if o, seen := others[uid]; seen && o.Before(first) {
					first = o
				}
			}
			all = append(all, at.Sub(first).Seconds())
		}
		if len(all) == 0 {
			return spread{}
		}
		return spread{median(all), slices.Max(all)}
	}
	out := map[string]lag{}
	for _, name := range s.names() {
		out[name] = lag{behind(s.begins, name, "begin"), behind(s.ends, name, "end")}
	}
	return out
}

// kubeletList is the kubelet's own list of running pods, polled several times a second.
type kubeletList struct{}

func (kubeletList) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	for {
		text, err := node.client.CoreV1().RESTClient().Get().
			AbsPath("/api/v1/nodes/" + nodeName + "/proxy/runningpods/").DoRaw(ctx)
		var list corev1.PodList
		if err == nil {
			err = json.Unmarshal(text, &list)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("ask the kubelet: %w", err)
		}
		e := telemetry.PodEvent{At: time.Now(), Changed: true}
		for _, pod := range list.Items {
			if len(pod.Spec.Containers) > 0 {
				e.Pods = append(e.Pods, telemetry.Pod{UID: string(pod.UID), State: telemetry.PodRunning})
			}
		}
		slices.SortFunc(e.Pods, func(a, b telemetry.Pod) int { return strings.Compare(a.UID, b.UID) })
		notify(e)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}
