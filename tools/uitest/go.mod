module github.com/spazio-scheduler/spazio/tools/uitest

go 1.26.0

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	github.com/google/go-cmp v0.7.0
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/go-stomp/stomp/v3 v3.1.3 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_golang v1.24.0 // indirect
	github.com/prometheus/client_model v0.6.2 // indirect
	github.com/prometheus/common v0.70.0 // indirect
	github.com/prometheus/procfs v0.21.1 // indirect
	github.com/spazio-scheduler/spazio v0.1.0
	github.com/spazio-scheduler/spazio/external v0.1.0
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/spazio-scheduler/spazio => ../..
	github.com/spazio-scheduler/spazio/capacity => ../../capacity
	github.com/spazio-scheduler/spazio/external => ../../external
	github.com/spazio-scheduler/spazio/filter => ../../filter
	github.com/spazio-scheduler/spazio/kalman => ../../kalman
	github.com/spazio-scheduler/spazio/reserve => ../../reserve
	github.com/spazio-scheduler/spazio/svd => ../../svd
)
