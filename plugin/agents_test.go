package plugin_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/spazio-scheduler/spazio/agent"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
)

// versions returns the number of agents by version, as Prometheus reads it.
func versions(t *testing.T) map[string]int {
	t.Helper()
	w := httptest.NewRecorder()
	legacyregistry.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	all := map[string]int{}
	for line := range strings.Lines(w.Body.String()) {
		if rest, ok := strings.CutPrefix(line, `spazio_agents{version="`); ok {
			version, count, _ := strings.Cut(strings.TrimSpace(rest), `"} `)
			n, err := strconv.Atoi(count)
			if err != nil {
				t.Fatal(err)
			}
			all[version] = n
		}
	}
	return all
}

// openAs opens the stream of an agent with a user agent of this name.
func (c *cluster) openAs(name, node string) (s *stream, leave func()) {
	c.t.Helper()
	conn, err := grpc.NewClient(c.hub.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUserAgent(name))
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	leave = func() { cancel(); _ = conn.Close() }
	c.t.Cleanup(leave)
	opened, err := spaziov1.NewSignalServiceClient(conn).Publish(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	return &stream{BidiStreamingClient: opened, c: c, node: node}, leave
}

// TestAgentVersions: agents count by their version from their first report to their end; an agent
// without a version counts as unknown, and the number of distinct versions is bounded.
func TestAgentVersions(t *testing.T) {
	const most = 16 // as in the metric's help
	c := newCluster(t, setup{nodes: most + 8})
	report := func(i int, name string) (leave func()) {
		s, leave := c.openAs(name, nodeName(i))
		s.settle(agent.Report{Avail: 1})
		return leave
	}
	first := report(0, "spazio-agent/v1.0.0")
	second := report(1, "spazio-agent/v1.0.0")
	report(2, "spazio-agent/v1.0.1-0.20261123-abc+dirty")
	report(3, "somebody")
	report(4, "spazio-agent/"+strings.Repeat("9", 65))
	report(6, "spazio-agent/\xff\xfe") // no valid UTF-8, which no label may have
	c.openAs("spazio-agent/silent", nodeName(5))
	want := map[string]int{"v1.0.0": 2, "v1.0.1-0.20261123-abc+dirty": 1, "unknown": 3}
	if diff := cmp.Diff(want, versions(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first()
	c.eventually("one has left", func() bool { return versions(t)["v1.0.0"] == 1 })
	second()
	c.eventually("no series is left of its version", func() bool { _, ok := versions(t)["v1.0.0"]; return !ok })
	var leave []func()
	for i := range most {
		leave = append(leave, report(7+i, fmt.Sprintf("spazio-agent/v2.%d", i)))
	}
	if got := versions(t); got["v2.13"] != 1 || got["other"] != 2 || len(got) != most+1 {
		t.Errorf("many versions: got %v", got)
	}
	for _, l := range leave {
		l()
	}
	c.eventually("they have left", func() bool {
		return cmp.Equal(versions(t), map[string]int{"v1.0.1-0.20261123-abc+dirty": 1, "unknown": 3})
	})
}

// TestTimesOfPods: the time to find a node counts from the first attempt, and the time in flight from
// the reservation, once each.
func TestTimesOfPods(t *testing.T) {
	const reserved, listed = "spazio_time_to_reserve_seconds_", "spazio_time_to_listed_seconds_"
	clock := newClock()
	c := newCluster(t, setup{nodes: 1, options: plugin.HubOptions{Now: clock.Now}})
	s := c.open(c.dial(), nodeName(0))
	s.settle(agent.Report{})
	names := []string{reserved + "count", reserved + "sum", listed + "count", listed + "sum"}
	before := map[string]float64{}
	for _, name := range names {
		before[name] = counter(t, name)
	}
	expect := func(when string, want ...float64) {
		t.Helper()
		for i, name := range names {
			if got := counter(t, name) - before[name]; got < want[i]-1e-6 || got > want[i]+1e-6 {
				t.Errorf("%s: %s rose by %g, want %g", when, name, got, want[i])
			}
		}
	}
	pod := newPod(0)
	c.arrive(pod)
	for range 2 {
		if _, status := c.schedule(pod, c.infos); status.IsSuccess() {
			t.Fatal("found room")
		}
		clock.advance(time.Second)
		expect("while it waits", 0, 0, 0, 0)
	}
	s.settle(agent.Report{Avail: 1})
	if _, status := c.schedule(pod, c.infos); !status.IsSuccess() {
		t.Fatal(status)
	}
	expect("reserved", 1, 2, 0, 0)
	clock.advance(3 * time.Second)
	key := reserve.KeyOf(string(pod.UID))
	s.settle(agent.Report{Pods: []reserve.PodKey{key}})
	expect("listed", 1, 2, 1, 3)
	clock.advance(time.Second)
	s.settle(agent.Report{Avail: .5, Pods: []reserve.PodKey{key}})
	expect("listed again", 1, 2, 1, 3)
}
