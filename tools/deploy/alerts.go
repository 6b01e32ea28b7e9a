package main

import (
	"strings"

	"sigs.k8s.io/yaml"
)

// rulesFile has the alerts for Prometheus; the chart has a copy, which it shows the
// Prometheus operator.
const (
	rulesDir   = "deploy/observe/rules"
	rulesFile  = rulesDir + "/spazio.yaml"
	chartRules = chartDir + "/files/observe/rules.yaml"
)

// runbooks has a page for each alert.
const runbooks = "https://github.com/spazio-scheduler/spazio/blob/main/docs/runbook/"

// rule is one alert as Prometheus reads it.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type ruleGroup struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

type ruleFile struct {
	Groups []ruleGroup `json:"groups"`
}

// How bad it is: critical is for whoever is on call, now.
const (
	critical = "critical"
	warning  = "warning"
)

func alert(name, severity, lasts, expr, summary string) rule {
	return rule{
		Alert: name, Expr: expr, For: lasts, Labels: map[string]string{"severity": severity},
		Annotations: map[string]string{"summary": summary, "runbook_url": runbooks + name + ".md"},
	}
}

// alerts are what somebody has to look at. Each lasts for longer than a restart or an
// upgrade of what it watches takes.
func alerts() []rule {
	return []rule{
		// Without election nobody has a status, and who shows metrics leads.
		alert("SchedulerAbsent", critical, "5m", `absent(spazio_nodes) or max(leader_election_master_status and on (job, instance) spazio_nodes) == 0`,
			"No scheduler of Spazio that leads shows its metrics: pods that ask for it are not scheduled."),
		alert("SignalsStale", warning, "10m",
			`sum by (job, instance) (spazio_nodes{state!="fresh"}) / sum by (job, instance) (spazio_nodes) > .1`,
			"{{ $value | humanizePercentage }} of the nodes have not told the scheduler {{ $labels.instance }} of their room."),
		alert("SamplingLate", warning, "15m", `spazio_agent_sample_rate_held == 0`,
			"The agent of {{ $labels.instance }} does not get to take ten samples a second."),
		alert("LedgerCorrections", warning, "", `sum by (job, instance, kind) (increase(spazio_ledger_corrections_total[15m])) > 0`,
			"The scheduler {{ $labels.instance }} had reservations whose bind never came."),
		alert("AggregatorNotReady", warning, "10m", `spazio_aggregator_ready == 0`,
			"The aggregator {{ $labels.instance }} answers pushes without models."),
		alert("PushesFail", warning, "15m",
			`sum(rate(spazio_model_failures_total[10m])) / sum(rate(spazio_model_failures_total[10m]) + rate(spazio_model_pushes_total[10m])) > .25`,
			"{{ $value | humanizePercentage }} of the models that agents push don't reach the aggregator."),
		// Where many pods end, a few nodes have room at any time, until it is given away.
		alert("PodsWaitBesideRoom", warning, "15m",
			`(spazio_waiting_pods_for_room > 0) and on (job, instance) (spazio_free_whole_pods > on (job, instance) .1 * sum by (job, instance) (spazio_nodes{state="fresh"}))`,
			"{{ $value }} pods wait for room while nodes have some."),
		alert("NodesSaturated", warning, "30m", `sum(spazio_agent_saturated) / count(spazio_agent_saturated) > .5`,
			"{{ $value | humanizePercentage }} of the nodes have been full for half an hour."),
		alert("IdentitiesRefused", warning, "", `sum by (job, instance) (increase(spazio_identities_total{result="refused"}[15m])) > 10`,
			"{{ $labels.instance }} refused callers whose tokens are not good."),
		alert("CallersRefused", warning, "5m", `sum by (job, instance) (increase(spazio_refused_callers_total[10m]) or increase(spazio_aggregator_refused_callers_total[10m]) or increase(spazio_profiler_refused_callers_total[10m]) or increase(spazio_testbed_refused_callers_total[10m])) > 100`,
			"{{ $labels.instance }} closed {{ $value }} connections in ten minutes because there were too many of them, or of calls."),
		alert("CertificateExpiring", critical, "1h", `min by (job, instance, use) (spazio_certificate_not_after_seconds) - time() < 21 * 86400`,
			"A certificate of {{ $labels.instance }}, of use {{ $labels.use }}, ends in {{ $value | humanizeDuration }}."),
	}
}

// addRules adds the file of the alerts and the chart's copy.
func addRules(files tree) error {
	text, err := yaml.Marshal(ruleFile{[]ruleGroup{{"spazio", alerts()}}})
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(header)
	b.Write(text)
	files[rulesFile], files[chartRules] = b.String(), b.String()
	return nil
}
