// Package observe judges what lies in cmd/deploy/observe, by its tests: that each expression of
// the dashboards and alerts parses, names metrics and labels that exist and returns series
// on the metrics of running programs; that each alert comes and goes as its page in
// docs/runbook says, and none comes while the programs are well.
//
//	GOWORK=off go test -C tools/compat ./observe
//
// It is no part of the workspace, for Prometheus wants newer libraries than kube-scheduler.
package observe
