module github.com/spazio-scheduler/spazio

go 1.24.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/prometheus/procfs v0.19.2
	gonum.org/v1/gonum v0.17.0
)

require (
	github.com/spazio-scheduler/spazio/capacity v0.1.0
	github.com/spazio-scheduler/spazio/filter v0.1.0
	github.com/spazio-scheduler/spazio/kalman v0.1.0
	github.com/spazio-scheduler/spazio/reserve v0.1.0
	github.com/spazio-scheduler/spazio/svd v0.1.0
	golang.org/x/sync v0.19.0 // indirect
)

replace (
	github.com/spazio-scheduler/spazio/capacity => ./capacity
	github.com/spazio-scheduler/spazio/filter => ./filter
	github.com/spazio-scheduler/spazio/kalman => ./kalman
	github.com/spazio-scheduler/spazio/reserve => ./reserve
	github.com/spazio-scheduler/spazio/svd => ./svd
)
