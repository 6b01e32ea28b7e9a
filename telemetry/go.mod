module github.com/spazio-scheduler/spazio/telemetry

go 1.24.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/prometheus/procfs v0.19.2
	golang.org/x/sys v0.41.0
)
