package main

// agentsDashboard shows what agents measure and tell. A series' instance is its node
// (deploy/chart/templates/monitoring.yaml).
func agentsDashboard() dashboard {
	const nodes = `{instance=~"$node"}`
	instances := valuesOf("instance", "Node", "spazio_agent_samples_total")
	instances.Name = "node"
	each := func(expr string) []query { return []query{{Expr: expr, LegendFormat: "{{instance}}"}} }
	return newDashboard("spazio-agents", "Spazio / Agents",
		"What the agents measure of their nodes and what they tell schedulers and the aggregator.",
		instances,
		[]graph{
			{"Pods that still fit", "By the last report; below 0 a node has more than it takes.", "short", each(`spazio_agent_avail_pods` + nodes)},
			{"Pods that run", "", "short", each(`spazio_agent_pods` + nodes)},
			{"Usage by channel", "The mean of the nodes, after filtering.", "percentunit", []query{
				{Expr: `avg by (channel) (spazio_agent_channel_usage_ratio` + nodes + `)`, LegendFormat: "{{channel}}"},
			}},
			{"Cost of a pod by channel", "The mean of the nodes.", "percentunit", []query{
				{Expr: `avg by (channel) (spazio_agent_channel_pod_cost_ratio` + nodes + `)`, LegendFormat: "{{channel}}"},
			}},
			{"What is there for pods, by channel", "The mean of the nodes.", "percentunit", []query{
				{Expr: `avg by (channel) (spazio_agent_channel_capacity_ratio` + nodes + `)`, LegendFormat: "{{channel}}"},
			}},
			{"Nodes in a state", "Saturated: a channel is full. Churn: containers start or stop. Cost known: it is more than the first guess.", "short", []query{
				{Expr: `sum(spazio_agent_saturated` + nodes + `)`, LegendFormat: "saturated"},
				{Expr: `sum(spazio_agent_churn` + nodes + `)`, LegendFormat: "churn"},
				{Expr: `sum(spazio_agent_cost_known` + nodes + `)`, LegendFormat: "cost known"},
			}},
			{"Samples a second", "Ten are meant to be; those that are late are left out.", "hertz", each(`spazio_agent_sample_rate_hertz` + nodes)},
			{"Time between samples", "99 of 100.", "s", each(`histogram_quantile(.99, sum by (instance, le) (rate(spazio_agent_sample_interval_seconds_bucket` + nodes + every + `)))`)},
			{"Samples left out or dropped", "Left out: the one before was late.", "cps", []query{
				{Expr: `sum(rate(spazio_agent_ticks_missed_total` + nodes + every + `))`, LegendFormat: "left out"},
				{Expr: `sum by (channel, cause) (rate(spazio_agent_samples_dropped_total` + nodes + every + `))`, LegendFormat: "{{channel}} {{cause}}"},
			}},
			{"Nodes that don't see their pods", "", "short", []query{
				{Expr: `count(spazio_agent_pod_source_healthy` + nodes + `) - sum(spazio_agent_pod_source_healthy` + nodes + `)`, LegendFormat: "blind"},
			}},
			{"Messages to schedulers", "A heartbeat says that the last report still holds.", "cps", []query{
				{Expr: `sum(rate(spazio_signal_reports_total` + nodes + every + `))`, LegendFormat: "reports"},
				{Expr: `sum(rate(spazio_signal_heartbeats_total` + nodes + every + `))`, LegendFormat: "heartbeats"},
				{Expr: `sum(rate(spazio_signal_reports_missed_total` + nodes + every + `))`, LegendFormat: "reports replaced before they went"},
				{Expr: `sum(rate(spazio_signal_notices_total` + nodes + every + `))`, LegendFormat: "notices received"},
			}},
			{"Streams to schedulers, and those lost", "", "short", []query{
				{Expr: `sum(spazio_signal_streams` + nodes + `)`, LegendFormat: "open"},
				{Expr: `sum(increase(spazio_signal_failures_total` + nodes + every + `))`, LegendFormat: "lost or not opened"},
			}},
			{"Age of what is told", "99 of 100, of the newest sample when a stream took it.", "s", []query{
				{Expr: `histogram_quantile(.99, sum by (le) (rate(spazio_signal_report_age_seconds_bucket` + nodes + every + `)))`, LegendFormat: "all"},
			}},
			{"Models pushed to the aggregator", "", "cps", []query{
				{Expr: `sum(rate(spazio_model_pushes_total` + nodes + every + `))`, LegendFormat: "taken"},
				{Expr: `sum(rate(spazio_model_failures_total` + nodes + every + `))`, LegendFormat: "failed or refused"},
			}},
			{"Nodes in the fleet's model", "As each agent knows it: less than there are, and it hasn't heard of it for a while.", "short", each(`spazio_model_fleet_nodes` + nodes)},
			{"Steps of the clock", "", "short", each(`increase(spazio_agent_clock_steps_total` + nodes + `[1h])`)},
		})
}

// aggregatorDashboard shows the fleet's models and who keeps them.
func aggregatorDashboard() dashboard {
	const chosen = `{instance=~"$instance"}`
	each := func(metric string) []query {
		return []query{{Expr: metric + chosen, LegendFormat: "{{instance}}"}}
	}
	by := func(label, metric string) []query {
		return []query{{Expr: `sum by (` + label + `) (rate(` + metric + chosen + every + `))`, LegendFormat: "{{" + label + "}}"}}
	}
	longest := func(histogram string) []query {
		return []query{{Expr: `histogram_quantile(.99, sum by (instance, le) (rate(` + histogram + `_bucket` + chosen + every + `)))`, LegendFormat: "{{instance}}"}}
	}
	return newDashboard("spazio-aggregator", "Spazio / Aggregator",
		"The nodes whose models are merged, what is pushed, and the exchange between replicas.",
		valuesOf("instance", "Aggregator", "spazio_aggregator_ready"),
		[]graph{
			{"Ready", "1: pushes are answered with models. A replica waits for another's state first.", "short", each("spazio_aggregator_ready")},
			{"Nodes", "Those not forgotten.", "short", each("spazio_aggregator_nodes")},
			{"Models", "One a schema: nodes that measure the same are of one.", "short", each("spazio_aggregator_models")},
			{"Nodes far from the others", "They lose weight.", "short", each("spazio_aggregator_clipped_nodes")},
			{"Pushes by result", "", "cps", by("result", "spazio_aggregator_pushes_total")},
			{"Malformed pushes by cause", "", "cps", by("cause", "spazio_aggregator_refused_pushes_total")},
			{"Time to answer a push", "99 of 100.", "s", longest("spazio_aggregator_push_seconds")},
			{"Time to merge and publish", "99 of 100.", "s", longest("spazio_aggregator_tick_seconds")},
			{"Other replicas", "", "short", each("spazio_aggregator_peers")},
			{"Since the last exchange with a replica", "", "s", each("spazio_aggregator_exchange_lag_seconds")},
			{"Exchanges by result", "", "cps", by("result", "spazio_aggregator_exchanges_total")},
			{"States of nodes from other replicas", "", "cps", by("result", "spazio_aggregator_exchanged_states_total")},
			{"Age of the last snapshot", "", "s", each("spazio_aggregator_snapshot_age_seconds")},
			{"Size of the last snapshot", "", "bytes", each("spazio_aggregator_snapshot_bytes")},
			{"Connections refused, by cause", "", "cps", by("cause", "spazio_aggregator_refused_callers_total")},
		})
}
