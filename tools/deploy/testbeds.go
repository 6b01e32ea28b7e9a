package main

// testbedsDashboard shows the slots of test beds and what becomes of jobs in them. The
// operator that leads says it, and of swaps the scheduler.
func testbedsDashboard() dashboard {
	const (
		chosen = `{testbed=~"$testbed"}`
	)
	return newDashboard("spazio-testbeds", "Spazio / Test beds",
		"The slots of test beds, who waits for them, and the runs of jobs in them, as spazio-testbed counts them. Of what has no test bed in it are all.",
		valuesOf("testbed", "Test bed", "spazio_testbed_slots"),
		[]graph{
			{"Slots by state", "Pending: nothing holds its resources. Retiring: it goes when it is empty.", "short", []query{
				{Expr: `sum by (state) (spazio_testbed_slots` + chosen + `)`, LegendFormat: "{{state}}"},
			}},
			{"Slots in use", "Reserved or occupied, of all of the test bed.", "percentunit", []query{
				{Expr: `sum by (testbed) (spazio_testbed_slots{testbed=~"$testbed", state=~"reserved|occupied"}) / sum by (testbed) (spazio_testbed_slots` + chosen + `)`, LegendFormat: "{{testbed}}"},
			}},
			{"Slots of each test bed", "", "short", []query{
				{Expr: `sum by (testbed) (spazio_testbed_slots` + chosen + `)`, LegendFormat: "{{testbed}}"},
			}},
			{"Room unknown", "For how long that of one of its nodes has been: of test beds whose slots follow it.", "s", []query{
				{Expr: `spazio_testbed_signal_age_seconds` + chosen, LegendFormat: "{{testbed}}"},
			}},
			{"Runs of jobs that ended", "", "short", []query{
				{Expr: `sum by (kind, outcome) (increase(spazio_testbed_runs_total` + every + `))`, LegendFormat: "{{kind}} {{outcome}}"},
			}},
			{"Time of Schedulings in each state", "The median.", "s", []query{
				{Expr: quantile(".5", "spazio_testbed_scheduling_seconds", "state, "), LegendFormat: "{{state}}"},
			}},
			{"Wait for slots", "From a Scheduling's wish being seen to its claim.", "s", []query{
				{Expr: quantile(".5", "spazio_testbed_claim_seconds", ""), LegendFormat: "median"},
				{Expr: quantile(".99", "spazio_testbed_claim_seconds", ""), LegendFormat: "99 of 100"},
			}},
			{"Claims", "Orphaned: their jobs are gone. Conflict: another wrote first, and it is granted anew.", "cps", []query{
				{Expr: `sum by (result) (rate(spazio_testbed_claims_total` + every + `))`, LegendFormat: "{{result}}"},
			}},
			{"Swaps of a ghost for a pod", "How long nobody holds the slot's resources.", "s", []query{
				{Expr: quantile(".5", "spazio_testbed_swap_seconds", ""), LegendFormat: "median"},
				{Expr: quantile(".99", "spazio_testbed_swap_seconds", ""), LegendFormat: "99 of 100"},
			}},
			{"Ghosts created and deleted", "Failed: requests without success.", "cps", []query{
				{Expr: `sum by (op, reason) (rate(spazio_testbed_ghosts_total` + every + `))`, LegendFormat: "{{op}} {{reason}}"},
			}},
			{"Writes of a status", "", "wps", []query{
				{Expr: `sum by (kind, result) (rate(spazio_testbed_status_writes_total` + every + `))`, LegendFormat: "{{kind}} {{result}}"},
			}},
		})
}

// quantile is that of a histogram, by labels that each end in a comma.
func quantile(of, histogram, by string) string {
	return `histogram_quantile(` + of + `, sum by (` + by + `le) (rate(` + histogram + `_bucket[$__rate_interval])))`
}
