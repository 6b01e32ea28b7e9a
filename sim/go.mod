module github.com/spazio-scheduler/spazio/sim

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/spazio-scheduler/spazio/agent v0.1.0
	github.com/spazio-scheduler/spazio/aggregate v0.1.0
	github.com/spazio-scheduler/spazio/capacity v0.1.0
	github.com/spazio-scheduler/spazio/energy v0.1.0
	github.com/spazio-scheduler/spazio/kalman v0.1.0
	github.com/spazio-scheduler/spazio/profile v0.1.0
	github.com/spazio-scheduler/spazio/reserve v0.1.0
	github.com/spazio-scheduler/spazio/svd v0.1.0
	gonum.org/v1/gonum v0.17.0
)

require (
	github.com/spazio-scheduler/spazio/filter v0.1.0
	github.com/spazio-scheduler/spazio/pronto v0.1.0
)

replace (
	github.com/spazio-scheduler/spazio/agent => ../agent
	github.com/spazio-scheduler/spazio/aggregate => ../aggregate
	github.com/spazio-scheduler/spazio/api => ../api
	github.com/spazio-scheduler/spazio/capacity => ../capacity
	github.com/spazio-scheduler/spazio/energy => ../energy
	github.com/spazio-scheduler/spazio/filter => ../filter
	github.com/spazio-scheduler/spazio/kalman => ../kalman
	github.com/spazio-scheduler/spazio/profile => ../profile
	github.com/spazio-scheduler/spazio/reserve => ../reserve
	github.com/spazio-scheduler/spazio/svd => ../svd
)

replace github.com/spazio-scheduler/spazio/pronto => ../pronto
