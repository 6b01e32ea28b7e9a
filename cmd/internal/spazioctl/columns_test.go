package spazioctl_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/report/text"
	"github.com/spazio-scheduler/spazio/reserve"
)

// hostile are names that want to be more than names, or are longer than a line.
var hostile = []string{
	strings.Repeat("n", 253), strings.Repeat("節点", 80), "\x1b[2J\x1b]0;title\a", "<img src=x onerror=alert(1)>", "a\nb\r\nc\td",
	"\u202edlrow\u202c", "e\u0301" + strings.Repeat("e\u0301\u0302", 60), strings.Repeat("🚀", 70), "\xff\xfe", "node-1",
}

// crowd is a fleet of 5,000 nodes with the largest values and worst names.
func crowd() plugin.Status {
	s := plugin.Status{Ledger: reserve.Census{Assumed: 123456, Bound: 123456, Absorbed: 1234567, Held: 1}, Waiting: 1}
	for i := range 5000 {
		cores, bytes := 4096.0, 1e15
		name, channels := hostile[i%len(hostile)], 12
		if i >= 5*len(hostile) { // most have names as nodes have
			name, channels = "ip-10-0-255-255.eu-central-1.compute.internal-", 2
		}
		n := plugin.NodeState{
			Node: fmt.Sprint(name, i), Signal: "missing", Age: 1000 * time.Hour, Avail: -1e6, Running: 123456, K: 1e6, Limiting: name, InFlight: 1e6, Held: 1e6,
			Free: -1e6, Slots: 1e6, Reason: strings.Repeat("no room ", 1+channels/3), Cores: &cores, Bytes: &bytes,
			Flags: agent.Flags{WarmingUp: true, Churn: true, CostUnknown: true, NoPressure: true},
		}
		if i%3 > 0 {
			n.Signal = []string{"fresh", "stale"}[i%2]
		}
		for range channels {
			n.Channels = append(n.Channels, plugin.ChannelState{Name: name, Usage: 1e3, Capacity: 1e3, Cost: 1e3})
		}
		good := 1e6
		n.Energy = &plugin.NodeEnergy{Quality: name, Watts: 1e6, SD: 1e6, Max: 1e6, Idle: 1e6, Marginal: 1e6, Busy: 4096, InFlightCores: 4096, Goodness: &good, Flags: name}
		s.Nodes = append(s.Nodes, n)
	}
	s.Energy = &plugin.EnergyStatus{Objective: "Marginal", Cores: .5}
	for _, name := range hostile {
		s.Energy.Workloads = append(s.Energy.Workloads, plugin.WorkloadEnergy{Workload: name, Cores: 1e6, Watts: 1e9, SD: 1e9, Pods: 1e9, Known: true, Joules: 1e15})
	}
	return s
}

// explained is a pod in that fleet.
func explained() plugin.Explanation {
	s, at, score := crowd(), time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), int64(100)
	e := plugin.Explanation{
		Pod: strings.Join(hostile, "/"), UID: "u", Profile: hostile[1], Ours: true, State: "waiting", Node: hostile[0],
		Unscheduled: "0/5000 nodes are available: " + strings.Repeat("5000 node(s) had untolerated taint(s) {節点: x}, ", 20),
		Attempt:     &plugin.Attempt{At: at, Nodes: 5000, Refusals: []plugin.Refusal{{Nodes: 4999, Message: hostile[1]}, {Nodes: 1, Message: hostile[2]}}},
		Workload:    &plugin.WorkloadState{Workload: hostile[0], Source: "profile"},
		Energy:      &s.Energy.Workloads[0],
		RoomSince:   &at,
		Steps:       []plugin.Step{{Name: plugin.StepReserved, At: &at, Node: hostile[1]}, {Name: plugin.StepBound, At: &at, Node: hostile[0]}},
	}
	for i, n := range s.Nodes {
		v := plugin.NodeVerdict{NodeState: n, ByProfile: n.Limiting, Takes: map[string]float64{n.Limiting: 1e6, "cpu": 1e6}}
		if i%2 == 0 {
			v.Score = &score
		}
		e.Nodes = append(e.Nodes, v)
	}
	return e
}

// clean gives JSON names that JSON can hold.
func clean(t *testing.T, of string) string {
	t.Helper()
	b, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// singular is one of many, as no sentence has it.
var singular = regexp.MustCompile(`(^|[^0-9.,])1 [a-z]+s\b`)

// TestColumns: whatever names and values are, no table has a line of more than 120 columns,
// and nothing in it moves a cursor.
func TestColumns(t *testing.T) {
	bed := strings.NewReplacer(`"alpha"`, clean(t, strings.Repeat("m", 250)), `"beta"`, clean(t, hostile[0]), `"TooLarge"`, clean(t, hostile[7]), `shop/crawler`, "shop/"+hostile[0]).Replace(bed)
	testbed := bedServerOf(t, bed, true)
	profiles := profileServerOf(t, strings.NewReplacer(`"web"`, clean(t, hostile[0]), `"front"`, clean(t, hostile[1]), `"cart"`, clean(t, hostile[2]),
		`"main"`, clean(t, hostile[3]), `"250m"`, `"123456789m"`).Replace(webProfile))
	why := serveOn(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, strings.Join(hostile, " ")) }))
	for name, args := range map[string][]string{
		"top":             {"top", "--scheduler", answering(t, crowd())},
		"top --energy":    {"top", "--energy", "--scheduler", answering(t, crowd())},
		"explain":         {"explain", "shop/cart", "--scheduler", answering(t, explained())},
		"model":           {"model", "--aggregator", aggregator(t, local(hostile[0], strings.Repeat("schema;", 35), 0, 2))},
		"why":             {"why", "--agent", why},
		"slots":           {"slots", "bed", "--kubeconfig", testbed},
		"profile list":    {"profile", "list", "--kubeconfig", profiles},
		"profile calls":   {"profile", "list", "--connections", "--kubeconfig", profiles},
		"profile advices": {"profile", "recommend", "-A", "--kubeconfig", profiles},
		"profile show":    {"profile", "show", "web", "--kubeconfig", profiles},
	} {
		code, out, errs := run(t.Context(), args...)
		if code != 0 || len(out) < 100 {
			t.Errorf("%s: exit code %d, said %q, printed %q", name, code, errs, out)
			continue
		}
		told := 0
		for line := range strings.Lines(out) {
			line = strings.TrimSuffix(line, "\n")
			if told++; text.Width(line) > 120 || text.Plain(line) != line || singular.MatchString(line) {
				t.Errorf("%s: %d columns in %q", name, text.Width(line), line)
			}
			if t.Failed() {
				break
			}
		}
		t.Logf("%s: %d lines", name, told)
	}
}
