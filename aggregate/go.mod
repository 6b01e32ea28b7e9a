module github.com/spazio-scheduler/spazio/aggregate

go 1.24.0

require (
	github.com/google/go-cmp v0.7.0
	google.golang.org/grpc v1.79.3
	github.com/spazio-scheduler/spazio/api v0.1.0
	github.com/spazio-scheduler/spazio/svd v0.1.0
)

replace (
	github.com/spazio-scheduler/spazio/agent => ../agent
	github.com/spazio-scheduler/spazio/api => ../api
	github.com/spazio-scheduler/spazio/capacity => ../capacity
	github.com/spazio-scheduler/spazio/filter => ../filter
	github.com/spazio-scheduler/spazio/kalman => ../kalman
	github.com/spazio-scheduler/spazio/reserve => ../reserve
	github.com/spazio-scheduler/spazio/svd => ../svd
)
