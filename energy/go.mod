module github.com/spazio-scheduler/spazio/energy

go 1.24.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/prometheus/procfs v0.19.2
)

require golang.org/x/sync v0.19.0 // indirect
