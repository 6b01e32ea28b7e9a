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
	"github.com/spazio-scheduler/spazio/cmd/deploy/check"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// hostile are names with control characters or markup, or longer than a line.
var hostile = []string{
	strings.Repeat("n", 253), strings.Repeat("節点", 80), "\x1b[2J\x1b]0;title\a", "<img src=x onerror=alert(1)>", "a\nb\r\nc\td",
	"\u202edlrow\u202c", "e\u0301" + strings.Repeat("e\u0301\u0302", 60), strings.Repeat("🚀", 70), "\xff\xfe", "node-1",
}

// largeFleet is a fleet of 5,000 nodes with the largest values and worst names.
func largeFleet() plugin.Status {
	s := plugin.Status{Ledger: reserve.Census{Assumed: 123456, Bound: 123456, Confirmed: 1234567, Held: 1}, Waiting: 1}
	for i := range 5000 {
		cores, bytes, known := 4096.0, 1e15, 123456
		name, channels := hostile[i%len(hostile)], 12
		if i >= 5*len(hostile) { // most have ordinary node names
			name, channels = "ip-10-0-255-255.eu-central-1.compute.internal-", 2
		}
		n := plugin.NodeState{
			Node: fmt.Sprint(name, i), Signal: "missing", Age: 1000 * time.Hour, Avail: -1e6, Running: 123456, K: 1e6, Limiting: name, InFlight: 1e6, Held: 1e6,
			Free: -1e6, Slots: 1e6, Reason: strings.Repeat("no room ", 1+channels/3), Cores: &cores, Bytes: &bytes, Known: &known,
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
		s.Energy.Workloads = append(s.Energy.Workloads, energy.WorkloadEstimate{Workload: name, Estimate: energy.Estimate{Cores: 1e6, Watts: 1e9, SD: 1e9, Pods: 1e9, Known: true, Joules: 1e15}})
	}
	return s
}

// explained returns a pod in that fleet.
func explained() plugin.Explanation {
	s, at, score := largeFleet(), time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), int64(100)
	e := plugin.Explanation{
		Pod: strings.Join(hostile, "/"), UID: "u", Profile: hostile[1], Ours: true, State: "waiting", Node: hostile[0],
		Unscheduled: "0/5000 nodes are available: " + strings.Repeat("5000 node(s) had untolerated taint(s) {節点: x}, ", 20),
		Attempt:     &plugin.Attempt{At: at, Nodes: 5000, Refusals: []plugin.Refusal{{Nodes: 4999, Message: hostile[1]}, {Nodes: 1, Message: hostile[2]}}},
		Workload:    &plugin.WorkloadState{Workload: hostile[0], Source: "profile"},
		Energy:      &s.Energy.Workloads[0],
		RoomSince:   &at,
		Steps:       []plugin.Step{{Name: "reserved", At: &at, Node: hostile[1]}, {Name: "bound", At: &at, Node: hostile[0]}},
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

// clean encodes names as JSON.
func clean(t *testing.T, of string) string {
	t.Helper()
	b, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// singular matches a wrong singular, which no sentence may have.
var singular = regexp.MustCompile(`(^|[^0-9.,])1 [a-z]+s\b`)

// TestColumns: for any names and values no table has a line of more than 120 columns, and nothing in it
// moves a cursor.
func TestColumns(t *testing.T) {
	bed := strings.NewReplacer(`"alpha"`, clean(t, strings.Repeat("m", 250)), `"beta"`, clean(t, hostile[0]), `"TooLarge"`, clean(t, hostile[7]), `shop/crawler`, "shop/"+hostile[0]).Replace(bed)
	testbed := bedServerOf(t, bed, true)
	profiles := profileServerOf(t, strings.NewReplacer(`"web"`, clean(t, hostile[0]), `"front"`, clean(t, hostile[1]), `"cart"`, clean(t, hostile[2]),
		`"main"`, clean(t, hostile[3]), `"250m"`, `"123456789m"`).Replace(webProfile))
	why := serveOn(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, strings.Join(hostile, " ")) }))
	for name, args := range map[string][]string{
		"top":             {"top", "--url", answering(t, largeFleet())},
		"top --energy":    {"top", "--energy", "--url", answering(t, largeFleet())},
		"explain":         {"explain", "shop/cart", "--url", answering(t, explained())},
		"model":           {"model", "--url", aggregator(t, local(hostile[0], strings.Repeat("schema;", 35), 0, 2))},
		"why":             {"why", "--url", why},
		"slots":           {"slots", "bed", "--kubeconfig", testbed},
		"profile list":    {"profile", "list", "--kubeconfig", profiles},
		"profile calls":   {"profile", "list", "--connections", "--kubeconfig", profiles},
		"profile advices": {"profile", "recommend", "-A", "--kubeconfig", profiles},
		"report":          {"report", "--objects", objects(t, clean(t, hostile[0]))},
		"profile show":    {"profile", "show", "web", "--kubeconfig", profiles},
	} {
		code, out, errs := run(t.Context(), args...)
		if code != 0 || len(out) < 100 {
			t.Errorf("%s: got exit code %d, stderr %q, stdout %q", name, code, errs, out)
			continue
		}
		fits(t, name, out)
	}
	fits(t, "check", spazioctl.Checked(checked()))
}

// fits checks the text for people.
func fits(t *testing.T, name, out string) {
	t.Helper()
	lines := 0
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if lines++; strings.Contains(line, " try: ") {
			continue // a command to be copied
		}
		if text.Width(line) > text.Terminal || text.Plain(line) != line || singular.MatchString(line) {
			t.Errorf("%s: got %d columns in %q", name, text.Width(line), line)
			return
		}
	}
	t.Logf("%s: %d lines", name, lines)
}

// checked returns a report with problems of nodes and pods of all names.
func checked() (r check.Report) {
	for _, name := range hostile {
		r.Results = append(r.Results, check.Result{
			Name: "certificates", Status: check.Failed, Text: "silent is " + name + ": " + strings.Join(hostile, ", "),
			Details: []string{name, strings.Join(hostile, ": ")}, Advice: []string{"kubectl get nodes " + strings.Repeat("n", 253)},
		})
	}
	return r
}

// long returns names of maximal length for nodes, and for pods' containers and labels: three of each
// that differ only at their ends.
func long() (names []string) {
	for i := range 3 {
		names = append(names,
			fmt.Sprintf("gke-production-europe-west4-b-high-memory-pool-7f9c6d8b54-x2kq%d", i),
			fmt.Sprint(strings.Repeat("compute-europe-west4.", 11), "internal.example.com-", i))
	}
	return names
}

// Names that are too long for a table are shortened: each keeps its own line, and its end distinguishes
// it.
func TestLongNames(t *testing.T) {
	s := plugin.Status{}
	for _, name := range long() {
		s.Nodes = append(s.Nodes, plugin.NodeState{
			Node: name, Signal: "fresh", Age: 80 * time.Millisecond, Avail: 12.25, Running: 13, K: 25.5, Limiting: "memory", Free: 9.5, Slots: 9, Reason: "has room",
			Energy: &plugin.NodeEnergy{Quality: "measured", Watts: 123.4, SD: 1.2, Max: 240, Idle: 61, Marginal: 11, Busy: 5.1},
		})
	}
	s.Energy = &plugin.EnergyStatus{Objective: "Marginal", Cores: .5}
	e := plugin.Explanation{Pod: "shop/cart", Ours: true, State: "waiting"}
	for _, n := range s.Nodes {
		n.Energy = nil
		e.Nodes = append(e.Nodes, plugin.NodeVerdict{NodeState: n, Takes: map[string]float64{"cpu": 1}})
	}
	for name, args := range map[string][]string{
		"top":          {"top", "--url", answering(t, s)},
		"top --energy": {"top", "--energy", "--url", answering(t, s)},
		"explain":      {"explain", "shop/cart", "--url", answering(t, e)},
	} {
		code, out, errs := run(t.Context(), args...)
		if code != 0 {
			t.Errorf("%s: %s", name, errs)
			continue
		}
		fits(t, name, out)
		rows := map[string]bool{}
		for _, line := range strings.Split(out, "\n") {
			if strings.HasPrefix(line, "gke-") || strings.HasPrefix(line, "compute-") {
				rows[strings.Fields(line)[0]] = true
				if !strings.Contains(line, "…") || !strings.Contains(line, "12.2") && name != "top --energy" {
					t.Errorf("%s: %s", name, line)
				}
			}
		}
		if len(rows) != len(s.Nodes) || strings.Count(out, "\n") > len(s.Nodes)+8 {
			t.Errorf("%s has %d of %d nodes:\n%s", name, len(rows), len(s.Nodes), out)
		}
	}
}
