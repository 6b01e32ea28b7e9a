package main

// every is the range that Grafana takes for rates.
const every = `[$__rate_interval]`

// fleetDashboard shows at a glance whether all of Spazio works. Each scheduler's replica
// knows the nodes; who does not lead has no pods that wait, so that the largest is right.
func fleetDashboard() dashboard {
	const (
		programs = `{program=~"$program"}`
		of       = ` * on (job, instance) group_left (program) spazio_build_info` + programs
	)
	return newDashboard("spazio-fleet", "Spazio / Fleet",
		"Whether all of Spazio works: nodes by signal, pods that wait and the room there is, how long pods take, and what the programs are and take.",
		valuesOf("program", "Program", "spazio_build_info"),
		[]graph{
			{"Nodes by signal", "Stale: silent for longer than maxAge. Missing: never heard of.", "short", []query{
				{Expr: `max by (state) (spazio_nodes)`, LegendFormat: "{{state}}"},
			}},
			{"Saturated nodes", "Those with a full channel, of all agents that are seen.", "short", []query{
				{Expr: `sum(spazio_agent_saturated)`, LegendFormat: "saturated"},
				{Expr: `count(spazio_agent_saturated)`, LegendFormat: "agents"},
			}},
			{"Pods that wait", "For room: some node would take them if it had measured room.", "short", []query{
				{Expr: `max(spazio_waiting_pods)`, LegendFormat: "waiting"},
				{Expr: `max(spazio_waiting_pods_for_room)`, LegendFormat: "for room"},
				{Expr: `max(spazio_inflight_pods)`, LegendFormat: "in flight"},
			}},
			{"Room", "In typical pods: what nodes still take, and what waiting pods ask for.", "short", []query{
				{Expr: `max(spazio_free_pods)`, LegendFormat: "free"},
				{Expr: `max(spazio_room_wanted_pods)`, LegendFormat: "wanted"},
				{Expr: `sum(spazio_agent_pods)`, LegendFormat: "running"},
			}},
			{"Time to reserve", "From a pod's first attempt until a node was reserved for it.", "s", []query{
				{Expr: quantile(".5", "spazio_time_to_reserve_seconds", ""), LegendFormat: "median"},
				{Expr: quantile(".99", "spazio_time_to_reserve_seconds", ""), LegendFormat: "99 of 100"},
			}},
			{"Time to be listed", "From the reservation until the node's agent saw the pod run.", "s", []query{
				{Expr: quantile(".5", "spazio_time_to_listed_seconds", ""), LegendFormat: "median"},
				{Expr: quantile(".99", "spazio_time_to_listed_seconds", ""), LegendFormat: "99 of 100"},
			}},
			{"Processes by version", "", "short", []query{
				{Expr: `count by (program, version) (spazio_build_info` + programs + `)`, LegendFormat: "{{program}} {{version}}"},
			}},
			{"Agents that report, by version", "As the scheduler is told.", "short", []query{
				{Expr: `max by (version) (spazio_agents)`, LegendFormat: "{{version}}"},
			}},
			{"CPU of the programs", "Of all their processes.", "short", []query{
				{Expr: `sum by (program) (rate(process_cpu_seconds_total` + every + `)` + of + `)`, LegendFormat: "{{program}}"},
			}},
			{"Memory of the programs", "The largest process of each.", "bytes", []query{
				{Expr: `max by (program) (process_resident_memory_bytes` + of + `)`, LegendFormat: "{{program}}"},
			}},
			{"Certificates", "Until the first of each use ends.", "s", []query{
				{Expr: `min by (job, use) (spazio_certificate_not_after_seconds) - time()`, LegendFormat: "{{job}} {{use}}"},
			}},
		})
}

// schedulerDashboard shows what the scheduler decides and why.
func schedulerDashboard() dashboard {
	const chosen = `{instance=~"$instance"}`
	by := func(label, metric string) []query {
		return []query{{Expr: `sum by (` + label + `) (rate(` + metric + chosen + every + `))`, LegendFormat: "{{" + label + "}}"}}
	}
	return newDashboard("spazio-scheduler", "Spazio / Scheduler",
		"What the scheduler decides, what it waits for, and what it hears of its agents. Of replicas one decides; all hear.",
		valuesOf("instance", "Scheduler", "spazio_nodes"),
		[]graph{
			{"Pods reserved", "", "cps", []query{
				{Expr: `sum by (instance) (rate(spazio_time_to_reserve_seconds_count` + chosen + every + `))`, LegendFormat: "{{instance}}"},
			}},
			{"Attempts by result", "Of all profiles, by kube-scheduler.", "cps", []query{
				{Expr: `sum by (profile, result) (rate(scheduler_schedule_attempts_total` + chosen + every + `))`, LegendFormat: "{{profile}} {{result}}"},
			}},
			{"Pods in kube-scheduler's queues", "", "short", []query{
				{Expr: `max by (queue) (scheduler_pending_pods` + chosen + `)`, LegendFormat: "{{queue}}"},
			}},
			{"Time of an attempt", "", "s", []query{
				{Expr: `histogram_quantile(.5, sum by (le) (rate(scheduler_scheduling_attempt_duration_seconds_bucket` + chosen + every + `)))`, LegendFormat: "median"},
				{Expr: `histogram_quantile(.99, sum by (le) (rate(scheduler_scheduling_attempt_duration_seconds_bucket` + chosen + every + `)))`, LegendFormat: "99 of 100"},
			}},
			{"Room and pods that wait for it", "", "short", []query{
				{Expr: `spazio_free_whole_pods` + chosen, LegendFormat: "{{instance}} free"},
				{Expr: `spazio_waiting_pods_for_room` + chosen, LegendFormat: "{{instance}} waiting"},
			}},
			{"Nodes refused, by reason", "Of each attempt all nodes that it found without room.", "cps", by("reason", "spazio_rejections_total")},
			{"Reservations lost, by reason", "The node changed during the cycle; the pod looks for another at once.", "cps", by("reason", "spazio_reserve_failures_total")},
			{"Pods woken, by cause", "Rise: a node has room. Retry: the slow retry, as a safety net.", "cps", by("cause", "spazio_activations_total")},
			{"Pods placed without room", "They had waited for maxWait.", "short", []query{
				{Expr: `sum by (instance) (increase(spazio_overdue_admissions_total` + chosen + `[1h]))`, LegendFormat: "{{instance}}"},
			}},
			{"Reservations whose bind never came", "", "short", []query{
				{Expr: `sum by (kind) (increase(spazio_ledger_corrections_total` + chosen + `[1h]))`, LegendFormat: "{{kind}}"},
			}},
			{"Age of what a reservation rested on", "", "s", []query{
				{Expr: `histogram_quantile(.5, sum by (le) (rate(spazio_signal_age_seconds_bucket` + chosen + every + `)))`, LegendFormat: "median"},
				{Expr: `histogram_quantile(.99, sum by (le) (rate(spazio_signal_age_seconds_bucket` + chosen + every + `)))`, LegendFormat: "99 of 100"},
			}},
			{"Reports by result", "", "cps", by("result", "spazio_reports_total")},
			{"Streams of agents", "", "short", []query{
				{Expr: `spazio_streams` + chosen, LegendFormat: "{{instance}}"},
			}},
			{"Streams closed, by reason", "", "cps", by("reason", "spazio_streams_closed_total")},
			{"Notices to agents, by result", "", "cps", by("result", "spazio_notices_total")},
			{"Callers by what was found of them", "", "cps", by("result", "spazio_identities_total")},
			{"Pods by what is known of them", "", "cps", by("source", "spazio_profile_pods_total")},
		})
}
