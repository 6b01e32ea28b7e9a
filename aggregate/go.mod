module github.com/spazio-scheduler/spazio/aggregate

go 1.24.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/prometheus/client_golang v1.23.2
	google.golang.org/grpc v1.79.3
	google.golang.org/protobuf v1.36.12-0.20260120151049-f2248ac996af
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_model v0.6.2 // indirect
	github.com/prometheus/common v0.67.5 // indirect
	github.com/prometheus/procfs v0.19.2 // indirect
	github.com/spazio-scheduler/spazio/capacity v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/filter v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/kalman v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/reserve v0.1.0 // indirect
	go.yaml.in/yaml/v2 v2.4.3 // indirect
)

require (
	github.com/spazio-scheduler/spazio v0.1.0
	github.com/spazio-scheduler/spazio/api v0.1.0
	github.com/spazio-scheduler/spazio/svd v0.1.0
	golang.org/x/net v0.50.0 // indirect
	golang.org/x/sys v0.41.0 // indirect
	golang.org/x/text v0.34.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260128011058-8636f8732409 // indirect
)

replace (
	github.com/spazio-scheduler/spazio => ..
	github.com/spazio-scheduler/spazio/api => ../api
	github.com/spazio-scheduler/spazio/capacity => ../capacity
	github.com/spazio-scheduler/spazio/filter => ../filter
	github.com/spazio-scheduler/spazio/kalman => ../kalman
	github.com/spazio-scheduler/spazio/reserve => ../reserve
	github.com/spazio-scheduler/spazio/svd => ../svd
)
