module github.com/spazio-scheduler/spazio/examples

go 1.26.0

require (
	github.com/spazio-scheduler/spazio/capacity v0.1.0
	github.com/spazio-scheduler/spazio/external v0.0.0-00010101000000-000000000000
	github.com/spazio-scheduler/spazio/profile v0.1.0
	github.com/spazio-scheduler/spazio/sim v0.1.0
	github.com/spazio-scheduler/spazio/svd v0.1.0
	github.com/spazio-scheduler/spazio/testbed v0.1.0
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/go-stomp/stomp/v3 v3.1.3 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_golang v1.23.2 // indirect
	github.com/prometheus/client_model v0.6.2 // indirect
	github.com/prometheus/common v0.67.5 // indirect
	github.com/prometheus/procfs v0.19.2 // indirect
	github.com/spazio-scheduler/spazio/api v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/energy v0.1.0 // indirect
	go.yaml.in/yaml/v2 v2.4.3 // indirect
	golang.org/x/net v0.50.0 // indirect
	golang.org/x/sync v0.19.0 // indirect
	golang.org/x/sys v0.41.0 // indirect
	golang.org/x/text v0.34.0 // indirect
	golang.org/x/time v0.14.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260128011058-8636f8732409 // indirect
	google.golang.org/grpc v1.79.3 // indirect
	google.golang.org/protobuf v1.36.12-0.20260120151049-f2248ac996af // indirect
)

require (
	github.com/spazio-scheduler/spazio/agent v0.1.0
	github.com/spazio-scheduler/spazio/aggregate v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/filter v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/kalman v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/node v0.1.0
	github.com/spazio-scheduler/spazio/pronto v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/reserve v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/telemetry v0.1.0
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace (
	github.com/spazio-scheduler/spazio => ../
	github.com/spazio-scheduler/spazio/agent => ../agent
	github.com/spazio-scheduler/spazio/aggregate => ../aggregate
	github.com/spazio-scheduler/spazio/aggregate/service => ../aggregate/service
	github.com/spazio-scheduler/spazio/api => ../api
	github.com/spazio-scheduler/spazio/capacity => ../capacity
	github.com/spazio-scheduler/spazio/cmd => ../cmd
	github.com/spazio-scheduler/spazio/energy => ../energy
	github.com/spazio-scheduler/spazio/filter => ../filter
	github.com/spazio-scheduler/spazio/kalman => ../kalman
	github.com/spazio-scheduler/spazio/plugin => ../plugin
	github.com/spazio-scheduler/spazio/reserve => ../reserve
	github.com/spazio-scheduler/spazio/svd => ../svd
	github.com/spazio-scheduler/spazio/telemetry => ../telemetry
	github.com/spazio-scheduler/spazio/telemetry/podsource => ../telemetry/podsource
)

replace github.com/spazio-scheduler/spazio/sim => ../sim

replace github.com/spazio-scheduler/spazio/profile => ../profile

replace github.com/spazio-scheduler/spazio/profile/v1alpha1 => ../profile/v1alpha1

replace github.com/spazio-scheduler/spazio/profile/profiler => ../profile/profiler

replace github.com/spazio-scheduler/spazio/profile/prometheus => ../profile/prometheus

replace github.com/spazio-scheduler/spazio/node => ../node

replace github.com/spazio-scheduler/spazio/embedded => ../embedded

replace github.com/spazio-scheduler/spazio/simnode => ../simnode

replace github.com/spazio-scheduler/spazio/report => ../report

replace github.com/spazio-scheduler/spazio/api/identity => ../api/identity

replace github.com/spazio-scheduler/spazio/deploy => ../deploy

replace github.com/spazio-scheduler/spazio/podforward => ../podforward

replace github.com/spazio-scheduler/spazio/web => ../web

replace github.com/spazio-scheduler/spazio/pronto => ../pronto

replace github.com/spazio-scheduler/spazio/profile/profiler/service => ../profile/profiler/service

replace github.com/spazio-scheduler/spazio/testbed => ../testbed

replace github.com/spazio-scheduler/spazio/operator => ../operator

replace github.com/spazio-scheduler/spazio/operator/service => ../operator/service

replace github.com/spazio-scheduler/spazio/external => ../external

replace github.com/spazio-scheduler/spazio/compare => ../compare

replace github.com/spazio-scheduler/spazio/plugin/service => ../plugin/service

replace github.com/spazio-scheduler/spazio/demo => ../demo
