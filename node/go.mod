module github.com/spazio-scheduler/spazio/node

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/prometheus/client_golang v1.24.0
	golang.org/x/sync v0.24.0
	golang.org/x/sys v0.49.0
	google.golang.org/grpc v1.83.1
)

require github.com/prometheus/common v0.70.0

require (
	github.com/spazio-scheduler/spazio/capacity v0.1.0 // indirect
	github.com/spazio-scheduler/spazio/filter v0.1.0 // indirect
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/davecgh/go-spew v1.1.2-0.20180830191138-d8f796af33cc // indirect
	github.com/kylelemons/godebug v1.1.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2 // indirect
	github.com/prometheus/client_model v0.6.2 // indirect
	github.com/prometheus/procfs v0.21.1 // indirect
	github.com/spazio-scheduler/spazio v0.1.0
	github.com/spazio-scheduler/spazio/api v0.1.0
	github.com/spazio-scheduler/spazio/kalman v0.1.0
	github.com/spazio-scheduler/spazio/reserve v0.1.0
	github.com/spazio-scheduler/spazio/svd v0.1.0
	github.com/spazio-scheduler/spazio/telemetry v0.1.0
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260803160001-6ac0973c030d // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/spazio-scheduler/spazio => ..
	github.com/spazio-scheduler/spazio/api => ../api
	github.com/spazio-scheduler/spazio/capacity => ../capacity
	github.com/spazio-scheduler/spazio/filter => ../filter
	github.com/spazio-scheduler/spazio/kalman => ../kalman
	github.com/spazio-scheduler/spazio/reserve => ../reserve
	github.com/spazio-scheduler/spazio/svd => ../svd
	github.com/spazio-scheduler/spazio/telemetry => ../telemetry
)
