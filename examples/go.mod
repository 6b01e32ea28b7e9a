module github.com/spazio-scheduler/spazio/examples

go 1.26.0

require (
	github.com/spazio-scheduler/spazio/capacity v0.1.0
	github.com/spazio-scheduler/spazio/sim v0.1.0
	github.com/spazio-scheduler/spazio/svd v0.1.0
)

require (
	github.com/spazio-scheduler/spazio/agent v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/aggregate v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/filter v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/kalman v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/reserve v0.1.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace (
	github.com/spazio-scheduler/spazio => ../
	github.com/spazio-scheduler/spazio/agent => ../agent
	github.com/spazio-scheduler/spazio/aggregate => ../aggregate
	github.com/spazio-scheduler/spazio/api => ../api
	github.com/spazio-scheduler/spazio/capacity => ../capacity
	github.com/spazio-scheduler/spazio/cmd => ../cmd
	github.com/spazio-scheduler/spazio/filter => ../filter
	github.com/spazio-scheduler/spazio/kalman => ../kalman
	github.com/spazio-scheduler/spazio/plugin => ../plugin
	github.com/spazio-scheduler/spazio/reserve => ../reserve
	github.com/spazio-scheduler/spazio/svd => ../svd
	github.com/spazio-scheduler/spazio/telemetry => ../telemetry
	github.com/spazio-scheduler/spazio/telemetry/podsource => ../telemetry/podsource
)

replace github.com/spazio-scheduler/spazio/sim => ../sim

replace github.com/spazio-scheduler/spazio/node => ../node

replace github.com/spazio-scheduler/spazio/embedded => ../embedded

replace github.com/spazio-scheduler/spazio/simnode => ../simnode

replace github.com/spazio-scheduler/spazio/report => ../report

replace github.com/spazio-scheduler/spazio/api/identity => ../api/identity
