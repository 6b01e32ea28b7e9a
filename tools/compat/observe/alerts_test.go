package observe

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/rulefmt"
)

// span is the time in which an alert fires for the labels, in minutes, from the first to before the
// second.
type span struct {
	labels   string
	from, to int
}

// stories are, for each alert, about two realistic hours: series with a value per minute, written by
// hand after the alert's page, and when it fires. Other series in them are healthy, or unhealthy too
// briefly.
var stories = map[string]struct {
	series []string
	fires  []span
}{
	// All replicas are down for a quarter of an hour; the one that is down for three minutes is
	// restarted. Later no replica leads for twelve minutes, and for two at a change of the leader;
	// kube-scheduler's own always does.
	"SchedulerAbsent": {
		series: []string{
			`spazio_nodes{state="fresh", instance="a"} 3x9 stale _x16 3x60`,
			`spazio_nodes{state="fresh", instance="b"} 3x9 stale _x32 3x4 stale _x2 3x40`,
			`leader_election_master_status{name="kube-scheduler", instance="a"} 1x9 stale _x16 1x22 0x30 1x6`,
			`leader_election_master_status{name="kube-scheduler", instance="b"} 0x9 stale _x32 0x4 stale _x2 0x10 1x16 0x12`,
			`leader_election_master_status{name="kube-scheduler", instance="other"} 1x90`,
		},
		fires: []span{{`{}`, 15, 27}, {`{}`, 55, 62}},
	},
	// Of 20 nodes 3 fall silent, then 2, a tenth, which is no alert; b receives all reports.
	"SignalsStale": {
		series: []string{
			`spazio_nodes{state="fresh", instance="a", job="s"} 20x4 17x29 18x20`,
			`spazio_nodes{state="stale", instance="a", job="s"} 0x4 2x29 2x20`,
			`spazio_nodes{state="missing", instance="a", job="s"} 0x4 1x29 0x20`,
			`spazio_nodes{state="fresh", instance="b", job="s"} 20x54`,
			`spazio_nodes{state="stale", instance="b", job="s"} 0x54`,
			`spazio_nodes{state="missing", instance="b", job="s"} 0x54`,
		},
		fires: []span{{`{instance="a", job="s"}`, 15, 35}},
	},
	// One node's agent is late for half an hour; another's for ten minutes.
	"SamplingLate": {
		series: []string{
			`spazio_agent_sample_rate_held{instance="node-1", job="a"} 1x9 0x29 1x20`,
			`spazio_agent_sample_rate_held{instance="node-2", job="a"} 1x9 0x9 1x40`,
			`spazio_agent_sample_rate_held{instance="node-3", job="a"} 1x60`,
		},
		fires: []span{{`{__name__="spazio_agent_sample_rate_held", instance="node-1", job="a"}`, 25, 40}},
	},
	// One bind failed permanently; earlier ones do not matter.
	"LedgerCorrections": {
		series: []string{
			`spazio_ledger_corrections_total{kind="expired", instance="a", job="s"} 0x19 1x40`,
			`spazio_ledger_corrections_total{kind="expired", instance="b", job="s"} 7x60`,
		},
		fires: []span{{`{instance="a", job="s", kind="expired"}`, 20, 34}},
	},
	// A replica waits for another for twenty minutes; one that starts for five.
	"AggregatorNotReady": {
		series: []string{
			`spazio_aggregator_ready{instance="a", job="g"} 1x9 0x19 1x20`,
			`spazio_aggregator_ready{instance="b", job="g"} 1x9 0x4 1x35`,
		},
		fires: []span{{`{__name__="spazio_aggregator_ready", instance="a", job="g"}`, 20, 30}},
	},
	// One of two agents, which push once a minute, is refused repeatedly for an hour. While one push in
	// eleven fails, as after a restart, no alert fires.
	"PushesFail": {
		series: []string{
			`spazio_model_pushes_total{instance="node-1"} 0+1x120`,
			`spazio_model_failures_total{instance="node-1"} 0x120`,
			`spazio_model_pushes_total{instance="node-2"} 0+10x20 200x60 200+10x40`,
			`spazio_model_failures_total{instance="node-2"} 0+1x20 20+10x60 620+1x40`,
		},
		fires: []span{{`{}`, 38, 89}},
	},
	// At a ten pods wait while 4 would fit, for half an hour; at b they wait, and many nodes have only
	// parts of a pod's room; at c there is room and no pod waits; at d pods end all the time, and a few
	// of 90 nodes have room until it is used.
	"PodsWaitBesideRoom": {
		series: []string{
			`spazio_waiting_pods_for_room{instance="a", job="s"} 0x9 10x29 0x20`,
			`spazio_free_whole_pods{instance="a", job="s"} 4x60`,
			`spazio_free_pods{instance="a", job="s"} 6x60`,
			`spazio_waiting_pods_for_room{instance="b", job="s"} 10x60`,
			`spazio_free_whole_pods{instance="b", job="s"} 0x60`,
			`spazio_free_pods{instance="b", job="s"} 9x60`,
			`spazio_waiting_pods_for_room{instance="c", job="s"} 0x60`,
			`spazio_free_whole_pods{instance="c", job="s"} 50x60`,
			`spazio_waiting_pods_for_room{instance="d", job="s"} 700x60`,
			`spazio_free_whole_pods{instance="d", job="s"} 9x60`,
			`spazio_nodes{state="fresh", instance="a", job="s"} 30x60`,
			`spazio_nodes{state="stale", instance="a", job="s"} 30x60`,
			`spazio_nodes{state="fresh", instance="b", job="s"} 30x60`,
			`spazio_nodes{state="fresh", instance="c", job="s"} 30x60`,
			`spazio_nodes{state="fresh", instance="d", job="s"} 90x60`,
		},
		fires: []span{{`{__name__="spazio_waiting_pods_for_room", instance="a", job="s"}`, 25, 40}},
	},
	// Two of three nodes are full for an hour; then one.
	"NodesSaturated": {
		series: []string{
			`spazio_agent_saturated{instance="node-1"} 0x9 1x79`,
			`spazio_agent_saturated{instance="node-2"} 0x9 1x59 0x20`,
			`spazio_agent_saturated{instance="node-3"} 0x90`,
		},
		fires: []span{{`{}`, 40, 70}},
	},
	// A caller presents invalid tokens, two a minute for ten minutes; elsewhere one agent presented an
	// old one four times.
	"IdentitiesRefused": {
		series: []string{
			`spazio_identities_total{result="refused", instance="a", job="s"} 0x20 0+2x10 20x60`,
			`spazio_identities_total{result="accepted", instance="a", job="s"} 0+100x90`,
			`spazio_identities_total{result="refused", instance="b", job="s"} 0x20 4x70`,
			`spazio_identities_total{result="accepted", instance="b", job="s"} 0+100x90`,
		},
		fires: []span{{`{instance="a", job="s"}`, 27, 41}},
	},
	// A caller holds so many connections that thirty a minute are closed, for half an hour; elsewhere a
	// restart causes fifty at once.
	"CallersRefused": {
		series: []string{
			`spazio_refused_callers_total{cause="connections", instance="a", job="s"} 0x20 0+30x30 900x40`,
			`spazio_refused_callers_total{cause="calls", instance="a", job="s"} 0x91`,
			`spazio_aggregator_refused_callers_total{cause="connections", instance="b", job="g"} 0x20 50x70`,
		},
		fires: []span{{`{instance="a", job="s"}`, 30, 57}},
	},
	// The server's certificate expires 21 days and half an hour after the start, and is replaced by one
	// of 90 days after two and a half hours. The authority's has 22 days.
	"CertificateExpiring": {
		series: []string{
			`spazio_certificate_not_after_seconds{use="own", instance="a", job="g"} 1816200x149 7776000x20`,
			`spazio_certificate_not_after_seconds{use="clients", instance="a", job="g"} 1900800x170`,
		},
		fires: []span{{`{instance="a", job="g", use="own"}`, 91, 150}},
	},
}

// Each alert fires as in its story, and each has a story and a page.
func TestAlerts(t *testing.T) {
	known := map[string]bool{}
	for _, a := range alerts(t) {
		known[a.Alert] = true
		t.Run(a.Alert, func(t *testing.T) {
			story, ok := stories[a.Alert]
			if !ok {
				t.Fatal("the alert has no story")
			}
			samples, end := load(t, story.series)
			got := firing(t, samples, a, end)
			slices.SortFunc(got, func(a, b span) int { return strings.Compare(a.labels, b.labels) })
			if !slices.Equal(got, story.fires) {
				t.Errorf("got firing %v, want %v", got, story.fires)
			}
		})
	}
	for name := range stories {
		if !known[name] {
			t.Errorf("there is no alert %s", name)
		}
	}
}

// load parses series with a value each minute from 1970 on, and returns the number of minutes.
func load(t *testing.T, lines []string) (*samples, int) {
	t.Helper()
	s, end := newSamples(), 0
	for _, line := range lines {
		l, values, err := promQL.ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for minute, v := range values {
			if !v.Omitted {
				s.add(l, time.Unix(int64(60*minute), 0), v.Value)
			}
		}
		end = max(end, len(values))
	}
	return s, end
}

// firing evaluates an alert each minute, as Prometheus does, and returns for which labels it fires, and
// when.
func firing(t *testing.T, s *samples, a rulefmt.Rule, end int) (spans []span) {
	t.Helper()
	lasts := int(time.Duration(a.For) / time.Minute)
	since, fires := map[string]int{}, map[string]int{}
	for minute := range end {
		active, err := s.ask(a.Expr, time.Unix(int64(60*minute), 0))
		if err != nil {
			t.Fatal(err)
		}
		now := map[string]bool{}
		for _, one := range active {
			l := one.Metric.String()
			now[l] = true
			if _, ok := since[l]; !ok {
				since[l] = minute
			}
			if _, ok := fires[l]; !ok && minute-since[l] >= lasts {
				fires[l] = minute
			}
		}
		for l := range maps.Clone(since) {
			if !now[l] {
				if from, ok := fires[l]; ok {
					spans = append(spans, span{l, from, minute})
				}
				delete(since, l)
				delete(fires, l)
			}
		}
	}
	for l := range fires {
		t.Errorf("the alert does not end for %s", l)
	}
	return spans
}

// Each alert has a page that explains it, how to look, what to do, and what happens otherwise; its
// summary uses labels that the alert has.
func TestRunbooks(t *testing.T) {
	const begins = "https://github.com/spazio-scheduler/spazio/blob/main/"
	pages, err := filepath.Glob(root + "/docs/runbook/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"README.md": true}
	for _, a := range alerts(t) {
		page := a.Alert + ".md"
		named[page] = true
		if a.Annotations["runbook_url"] != begins+"docs/runbook/"+page || a.Annotations["summary"] == "" || a.Labels["severity"] == "" {
			t.Errorf("%s: %v, %v", a.Alert, a.Annotations, a.Labels)
		}
		text, err := os.ReadFile(filepath.Join(root, "docs/runbook", page))
		if err != nil {
			t.Error(err)
			continue
		}
		at := 0
		for _, part := range []string{"# " + a.Alert + "\n", "\n## What it means\n", "\n## Look\n", "\n## Do\n", "\n## If nothing is done\n"} {
			i := strings.Index(string(text)[at:], part)
			if i < 0 {
				t.Errorf("%s: %q is missing or misplaced", page, strings.TrimSpace(part))
				continue
			}
			at += i
		}
		if !strings.Contains(string(text), "\n    "+strings.ReplaceAll(fmt.Sprint(a.Expr), "\n", " ")+"\n") {
			t.Errorf("%s does not have the alert's expression:\n    %s", page, a.Expr)
		}
	}
	for _, page := range pages {
		if !named[filepath.Base(page)] {
			t.Errorf("%s belongs to no alert", page)
		}
	}
}
