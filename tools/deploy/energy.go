package main

// energyDashboard shows what nodes, pods and workloads take. A series' instance is its
// node (deploy/chart/templates/monitoring.yaml).
func energyDashboard() dashboard {
	const (
		nodes = `{instance=~"$node"}`
		// Of pods whose names the agent knows: their own, in place of the agent's.
		named = ` * on (instance, pod_uid) group_left (namespace, pod) spazio_energy_pod_info` + nodes
		pods  = `rate(spazio_energy_pod_joules_total` + nodes + `[$__rate_interval])`
	)
	instances := valuesOf("instance", "Node", "spazio_energy_node_watts")
	instances.Name = "node"
	return newDashboard("spazio-energy", "Spazio / Energy",
		"What nodes, pods and workloads take, as spazio-agent --energy measures it. A share by CPU time of what the node took; what no pod can be shown to have caused is unattributed.",
		instances,
		[]graph{
			{"Power of the nodes", "", "watt", []query{
				{Expr: `spazio_energy_node_watts` + nodes, LegendFormat: "{{instance}}"},
			}},
			{"Doubt of a node's power", "One standard deviation, as a part of the power.", "percentunit", []query{
				{Expr: `spazio_energy_node_watts_stddev` + nodes + ` / spazio_energy_node_watts` + nodes, LegendFormat: "{{instance}}"},
			}},
			{"Power of all, beside idle and full", "Idle and full are what each node's curve has learnt.", "watt", []query{
				{Expr: `sum(spazio_energy_node_watts` + nodes + `)`, LegendFormat: "now"},
				{Expr: `sum(spazio_energy_idle_watts` + nodes + `)`, LegendFormat: "idle"},
				{Expr: `sum(spazio_energy_max_watts` + nodes + `)`, LegendFormat: "full"},
			}},
			{"A busy core more", "What it would add to each node's power: the objective Marginal places by it.", "watt", []query{
				{Expr: `spazio_energy_marginal_watts_per_core` + nodes, LegendFormat: "{{instance}}"},
			}},
			{"Where the power goes", "", "watt", []query{
				{Expr: `sum(` + pods + `)`, LegendFormat: "pods"},
				{Expr: `sum by (part) (rate(spazio_energy_unattributed_joules_total` + nodes + `[$__rate_interval]))`, LegendFormat: "{{part}}"},
			}},
			{"By zone", "Those that another contains are beside it, not in addition.", "watt", []query{
				{Expr: `sum by (source, zone, part) (rate(spazio_energy_node_joules_total` + nodes + `[$__rate_interval]))`, LegendFormat: "{{source}} {{zone}} (part of another: {{part}})"},
			}},
			{"Pods that take most", "Where the agent knows names (--pod-source cri, containerd or kube).", "watt", []query{
				{Expr: `topk(20, sum by (namespace, pod) (` + pods + named + `))`, LegendFormat: "{{namespace}}/{{pod}}"},
			}},
			{"Pods that take most, by UID", "", "watt", []query{
				{Expr: `topk(20, sum by (instance, pod_uid) (` + pods + `))`, LegendFormat: "{{instance}} {{pod_uid}}"},
			}},
			{"By namespace", "", "watt", []query{
				{Expr: `sum by (namespace) (` + pods + named + `)`, LegendFormat: "{{namespace}}"},
			}},
			{"Doubt of a pod's joules", "One standard deviation, as a part of what it has been charged; the largest.", "percentunit", []query{
				{Expr: `topk(20, spazio_energy_pod_joules_stddev` + nodes + ` / spazio_energy_pod_joules_total` + nodes + `)`, LegendFormat: "{{instance}} {{pod_uid}}"},
			}},
			{"A pod of a workload", "What the scheduler expects, of the largest.", "watt", []query{
				{Expr: `topk(20, max by (workload) (spazio_energy_workload_watts))`, LegendFormat: "{{workload}}"},
			}},
			{"Nodes by source", "", "short", []query{
				{Expr: `count by (source, quality) (spazio_energy_quality` + nodes + `)`, LegendFormat: "{{source}}, {{quality}}"},
			}},
			{"Readings refused", "Energy that is in no total: why.", "short", []query{
				{Expr: `sum by (cause) (rate(spazio_energy_refused_total` + nodes + `[$__rate_interval]))`, LegendFormat: "{{cause}}"},
			}},
			{"Changes of source", "", "short", []query{
				{Expr: `increase(spazio_energy_source_changes_total` + nodes + `[1h])`, LegendFormat: "{{instance}}"},
			}},
		})
}
