module github.com/spazio-scheduler/spazio/tools/compat

go 1.26.7

require (
	github.com/google/go-cmp v0.7.0
	github.com/kubeflow/spark-operator/v2 v2.5.2
	github.com/prometheus/client_golang v1.25.0
	github.com/prometheus/client_model v0.6.3
	github.com/prometheus/common v0.72.1
	github.com/prometheus/prometheus v0.316.0
	go.yaml.in/yaml/v3 v3.0.5
	k8s.io/apimachinery v0.37.2
	k8s.io/autoscaler/vertical-pod-autoscaler v1.7.0
	sigs.k8s.io/yaml v1.6.0
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/dennwc/varint v1.0.0 // indirect
	github.com/edsrzf/mmap-go v1.2.1-0.20241212181136-fad1cd13edbd // indirect
	github.com/emicklei/go-restful/v3 v3.13.0 // indirect
	github.com/facette/natsort v0.0.0-20181210072756-2cd4dd1e2dcb // indirect
	github.com/fxamacker/cbor/v2 v2.9.2 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/go-openapi/jsonpointer v1.0.2 // indirect
	github.com/go-openapi/jsonreference v1.0.2 // indirect
	github.com/go-openapi/swag v0.29.2 // indirect
	github.com/go-openapi/swag/cmdutils v0.29.2 // indirect
	github.com/go-openapi/swag/conv v0.29.2 // indirect
	github.com/go-openapi/swag/fileutils v0.29.2 // indirect
	github.com/go-openapi/swag/jsonutils v0.29.2 // indirect
	github.com/go-openapi/swag/loading v0.29.2 // indirect
	github.com/go-openapi/swag/mangling v0.29.2 // indirect
	github.com/go-openapi/swag/netutils v0.29.2 // indirect
	github.com/go-openapi/swag/pools v0.29.2 // indirect
	github.com/go-openapi/swag/stringutils v0.29.2 // indirect
	github.com/go-openapi/swag/typeutils v0.29.2 // indirect
	github.com/go-openapi/swag/yamlutils v0.29.2 // indirect
	github.com/go-stomp/stomp/v3 v3.1.3 // indirect
	github.com/google/gnostic-models v0.7.1 // indirect
	github.com/grafana/regexp v0.0.0-20250905093917-f7b3be9d1853 // indirect
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.3-0.20250322232337-35a7c28c31ee // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	go.opentelemetry.io/otel/trace v1.47.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.16.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	gopkg.in/inf.v0 v0.9.1 // indirect
	k8s.io/api v0.37.2 // indirect
	k8s.io/component-helpers v0.37.2 // indirect
	k8s.io/klog/v2 v2.140.0 // indirect
	k8s.io/kube-openapi v0.0.0-20260721132016-d427ff9ee9ad // indirect
	k8s.io/utils v0.0.0-20260626114624-be93311217bd // indirect
	sigs.k8s.io/json v0.0.0-20250730193827-2d320260d730 // indirect
	sigs.k8s.io/randfill v1.0.0 // indirect
	sigs.k8s.io/structured-merge-diff/v6 v6.4.2 // indirect
)

// The workspace's versions, which are compiled already; `.ci/run tidy` holds those of vpa and spark. Of
// OpenTelemetry Prometheus' engine wants newer ones.
replace (
	github.com/fxamacker/cbor/v2 => github.com/fxamacker/cbor/v2 v2.9.1
	github.com/go-logr/logr => github.com/go-logr/logr v1.4.4
	github.com/go-openapi/jsonpointer => github.com/go-openapi/jsonpointer v1.0.0
	github.com/go-openapi/jsonreference => github.com/go-openapi/jsonreference v1.0.0
	github.com/go-openapi/swag => github.com/go-openapi/swag v0.27.1
	github.com/go-openapi/swag/cmdutils => github.com/go-openapi/swag/cmdutils v0.27.1
	github.com/go-openapi/swag/conv => github.com/go-openapi/swag/conv v0.27.1
	github.com/go-openapi/swag/fileutils => github.com/go-openapi/swag/fileutils v0.27.1
	github.com/go-openapi/swag/jsonutils => github.com/go-openapi/swag/jsonutils v0.27.1
	github.com/go-openapi/swag/loading => github.com/go-openapi/swag/loading v0.27.1
	github.com/go-openapi/swag/mangling => github.com/go-openapi/swag/mangling v0.27.1
	github.com/go-openapi/swag/netutils => github.com/go-openapi/swag/netutils v0.27.1
	github.com/go-openapi/swag/pools => github.com/go-openapi/swag/pools v0.27.1
	github.com/go-openapi/swag/stringutils => github.com/go-openapi/swag/stringutils v0.27.1
	github.com/go-openapi/swag/typeutils => github.com/go-openapi/swag/typeutils v0.27.1
	github.com/go-openapi/swag/yamlutils => github.com/go-openapi/swag/yamlutils v0.27.1
	github.com/google/gnostic-models => github.com/google/gnostic-models v0.7.1
	github.com/prometheus/client_golang => github.com/prometheus/client_golang v1.24.0
	github.com/prometheus/client_model => github.com/prometheus/client_model v0.6.2
	github.com/prometheus/common => github.com/prometheus/common v0.70.0
	github.com/prometheus/procfs => github.com/prometheus/procfs v0.21.1
	go.yaml.in/yaml/v2 => go.yaml.in/yaml/v2 v2.4.4
	go.yaml.in/yaml/v3 => go.yaml.in/yaml/v3 v3.0.5
	golang.org/x/net => golang.org/x/net v0.60.0
	golang.org/x/sys => golang.org/x/sys v0.49.0
	golang.org/x/text => golang.org/x/text v0.43.0
	google.golang.org/protobuf => google.golang.org/protobuf v1.36.12
	k8s.io/api => k8s.io/api v0.37.2
	k8s.io/apimachinery => k8s.io/apimachinery v0.37.2
	k8s.io/kube-openapi => k8s.io/kube-openapi v0.0.0-20260721132016-d427ff9ee9ad
	k8s.io/utils => k8s.io/utils v0.0.0-20260626114624-be93311217bd
	sigs.k8s.io/structured-merge-diff/v6 => sigs.k8s.io/structured-merge-diff/v6 v6.4.2
)

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
)

require (
	github.com/spazio-scheduler/spazio v0.1.0
	github.com/spazio-scheduler/spazio/external v0.1.0
	github.com/spazio-scheduler/spazio/operator v0.1.0
	github.com/spazio-scheduler/spazio/profile/profiler v0.1.0
)

replace (
	github.com/spazio-scheduler/spazio => ../..
	github.com/spazio-scheduler/spazio/api => ../../api
	github.com/spazio-scheduler/spazio/api/kube => ../../api/kube
	github.com/spazio-scheduler/spazio/capacity => ../../capacity
	github.com/spazio-scheduler/spazio/external => ../../external
	github.com/spazio-scheduler/spazio/filter => ../../filter
	github.com/spazio-scheduler/spazio/kalman => ../../kalman
	github.com/spazio-scheduler/spazio/operator => ../../operator
	github.com/spazio-scheduler/spazio/profile/profiler => ../../profile/profiler
	github.com/spazio-scheduler/spazio/reserve => ../../reserve
	github.com/spazio-scheduler/spazio/svd => ../../svd
)
