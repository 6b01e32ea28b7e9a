// Package observe checks cmd/deploy/observe by its tests: each expression of the dashboards and alerts
// parses, uses existing metrics and labels and returns series on the metrics of running programs; each
// alert fires and ends as its page in docs/runbook describes, and none fires while the programs are
// well.
//
//	GOWORK=off go test -C tools/compat ./observe
//
// It is no part of the workspace, for Prometheus wants newer libraries than kube-scheduler.
package observe
