package workload_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
)

// batchJob returns a job of the kind that the spec names.
func batchJob(t testing.TB, kind, spec string) *v1alpha1.BatchJob {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	job := &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "default", UID: "5e1d"}}
	raw := &runtime.RawExtension{Raw: data}
	switch kind {
	case "job":
		job.Spec.JobSpec = raw
	case "spark":
		job.Spec.SparkSpec = raw
	case "flink":
		job.Spec.FlinkSpec = raw
	default:
		t.Fatalf("no kind %s", kind)
	}
	return job
}

func request(n int32, resources ...string) *v1alpha1.CreationRequest {
	r := &v1alpha1.CreationRequest{Testbed: v1alpha1.ObjectReference{UID: "71fe"}, Replication: n, Attempt: 1}
	for i := 0; i < len(resources); i += 2 {
		if r.Resources == nil {
			r.Resources = corev1.ResourceList{}
		}
		r.Resources[corev1.ResourceName(resources[i])] = resource.MustParse(resources[i+1])
	}
	return r
}

func child(t testing.TB, job *v1alpha1.BatchJob, r *v1alpha1.CreationRequest) (*unstructured.Unstructured, error) {
	t.Helper()
	adapter, err := workload.Of(&job.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return adapter.Child(job, r)
}

func at(t *testing.T, o *unstructured.Unstructured, path string) any {
	t.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(o.Object, strings.Split(path, ".")...)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// The expected memory and overhead of an executor are calculated by hand.
func TestSparkMemory(t *testing.T) {
	for _, test := range []struct {
		slot, spec       string
		memory, overhead string // empty: too small
	}{
		{"896Mi", "{}", "512m", "384m"}, // the thesis's slot
		{"834Mi", "{}", "450m", "384m"}, // the least
		{"833Mi", "{}", "", ""},
		{"4224Mi", "{}", "3840m", "384m"}, // a tenth of 3840 is 384
		{"4225Mi", "{}", "3840m", "385m"}, // 384.09 up
		{"11264Mi", "{}", "10240m", "1024m"},
		{"1100Mi", "{}", "716m", "384m"},
		{"4Gi", "{type: Scala}", "3712m", "384m"}, // 372.4 is less than 384
		{"4Gi", "{type: Java}", "3712m", "384m"},
		{"4Gi", "{type: Python}", "2925m", "1171m"},
		{"4Gi", "{type: R}", "2925m", "1171m"},
		{"1400Mi", "{type: Python}", "1000m", "400m"}, // exactly
		{"834Mi", "{type: R}", "450m", "384m"},
		{"4Gi", `{memoryOverheadFactor: "0.5"}`, "2730m", "1366m"}, // 1365.3 up
		{"4Gi", `{type: Python, memoryOverheadFactor: "0.1"}`, "3712m", "384m"},
		{"4Gi", `{memoryOverheadFactor: "0"}`, "3712m", "384m"},
		{"4Gi", `{memoryOverheadFactor: "1"}`, "2048m", "2048m"},
		{"4Gi", `{memoryOverheadFactor: "1000"}`, "", ""},
		{"5000M", "{}", "4334m", "434m"}, // 4768 whole MiB: 433.5 up
		{"938999999", "{}", "511m", "384m"},
		{"939524095", "{}", "511m", "384m"}, // a byte less than 896Mi
		{"1Pi", "{}", "976128930m", "97612894m"},
	} {
		job := batchJob(t, "spark", test.spec)
		got, err := child(t, job, request(1, "memory", test.slot))
		if test.memory == "" {
			if !errors.Is(err, workload.ErrSlotTooSmall) || workload.Reason(err) != "SlotTooSmall" {
				t.Errorf("%s, %s: %v", test.slot, test.spec, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s, %s: %v", test.slot, test.spec, err)
			continue
		}
		memory, overhead := at(t, got, "spec.executor.memory"), at(t, got, "spec.executor.memoryOverhead")
		if memory != test.memory || overhead != test.overhead {
			t.Errorf("%s, %s: %v and %v, want %s and %s", test.slot, test.spec, memory, overhead, test.memory, test.overhead)
		}
	}
}

// An executor's cores are whole and it requests the slot's; a task manager's CPU is a number.
func TestCPU(t *testing.T) {
	for _, test := range []struct {
		cpu     string
		cores   int64
		request string
		flink   float64
	}{
		{"700m", 1, "700m", .7},
		{"1", 1, "1", 1},
		{"1999m", 1, "1999m", 1.999},
		{"2", 2, "2", 2},
		{"2500m", 2, "2500m", 2.5},
		{"64", 64, "64", 64},
		{"1e3", 1000, "1e3", 1000},
		{"1500500u", 1, "1500500u", 1.5}, // whole thousandths
	} {
		r := request(1, "cpu", test.cpu)
		spark, err := child(t, batchJob(t, "spark", "{}"), r)
		if err != nil {
			t.Fatal(err)
		}
		if cores, asked := at(t, spark, "spec.executor.cores"), at(t, spark, "spec.executor.coreRequest"); cores != test.cores || asked != test.request {
			t.Errorf("%s: %v cores, request %v; want %d, %s", test.cpu, cores, asked, test.cores, test.request)
		}
		flink, err := child(t, batchJob(t, "flink", "{job: {jarURI: local:///a.jar}}"), r)
		if err != nil {
			t.Fatal(err)
		}
		if cpu := at(t, flink, "spec.taskManager.resource.cpu"); cpu != test.flink {
			t.Errorf("%s: a task manager of %v, want %v", test.cpu, cpu, test.flink)
		}
	}
}

// An API server refuses a pod with a limit below its request.
func TestSparkLimits(t *testing.T) {
	for _, test := range []struct{ given, cores, memory string }{
		{"{}", "", ""},
		{"{coreLimit: 1200m, memoryLimit: 2g}", "2500m", "4096m"},
		{"{coreLimit: '2.4999', memoryLimit: 4095mb}", "2500m", "4096m"},
		{"{coreLimit: '2.5', memoryLimit: 4096m}", "2.5", "4096m"},
		{"{coreLimit: '4', memoryLimit: 4gb}", "4", "4gb"},
		{"{coreLimit: 2501m, memoryLimit: 1t}", "2501m", "1t"},
		{"{memoryLimit: 5Gi}", "", "5Gi"},
		{"{memoryLimit: 4G}", "", "4096m"},
		{"{memoryLimit: '4294967296'}", "", "4294967296"},
		{"{memoryLimit: '4294967295'}", "", "4096m"},
		{"{memoryLimit: 4194303k}", "", "4096m"},
	} {
		got, err := child(t, batchJob(t, "spark", "{executor: "+test.given+"}"), request(1, "cpu", "2500m", "memory", "4Gi"))
		if err != nil {
			t.Errorf("%s: %v", test.given, err)
			continue
		}
		for key, want := range map[string]string{"coreLimit": test.cores, "memoryLimit": test.memory} {
			if limit, _ := at(t, got, "spec.executor."+key).(string); limit != want {
				t.Errorf("%s: %s is %q, want %q", test.given, key, limit, want)
			}
		}
	}
}

// Resources that a slot does not name are the user's.
func TestUnnamedResources(t *testing.T) {
	got, err := child(t, batchJob(t, "spark", "{executor: {cores: 3, coreRequest: '3', memory: 2g, memoryOverhead: 512m}}"), request(1, "example.com/disk", "1"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{"cores": int64(3), "coreRequest": "3", "memory": "2g", "memoryOverhead": "512m"} {
		if value := at(t, got, "spec.executor."+path); value != want {
			t.Errorf("%s = %v, want %v", path, value, want)
		}
	}
	got, err = child(t, batchJob(t, "flink", "{job: {jarURI: a}, taskManager: {resource: {cpu: 3, memory: 2g}}}"), request(1))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"cpu": int64(3), "memory": "2g"}, at(t, got, "spec.taskManager.resource")); diff != "" {
		t.Error(diff)
	}
	got, err = child(t, batchJob(t, "job", "{template: {spec: {containers: [{name: main}]}}}"), request(1))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{map[string]any{"name": "main"}}, at(t, got, "spec.template.spec.containers")); diff != "" {
		t.Error(diff)
	}
}

// The requests of a Job's pod, summed as Kubernetes does, must fit the slot.
func TestJobFits(t *testing.T) {
	for _, test := range []struct {
		what, pod string
		too       string // the resource there is too little of
	}{
		{"exactly", "{containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Gi}}}]}", ""},
		{"less", "{containers: [{name: a, resources: {requests: {cpu: 10m}}}]}", ""},
		{"one thousandth more", "{containers: [{name: a, resources: {requests: {cpu: 1001m}}}]}", "cpu"},
		{"two containers", "{containers: [{name: a, resources: {requests: {cpu: 600m}}}, {name: b, resources: {requests: {cpu: 600m}}}]}", "cpu"},
		{"by its limit", "{containers: [{name: a, resources: {limits: {memory: 2Gi}}}]}", "memory"},
		{"an init container", "{initContainers: [{name: i, resources: {requests: {memory: 2Gi}}}], containers: [{name: a}]}", "memory"},
		{"an init container before it", "{initContainers: [{name: i, resources: {requests: {cpu: 1}}}], containers: [{name: a, resources: {requests: {cpu: 1}}}]}", ""},
		{"a sidecar beside it", "{initContainers: [{name: i, restartPolicy: Always, resources: {requests: {cpu: 1}}}], containers: [{name: a, resources: {requests: {cpu: 1}}}]}", "cpu"},
		{"the pod as a whole", "{resources: {requests: {cpu: 2}}, containers: [{name: a}]}", "cpu"},
		{"what no slot names", "{containers: [{name: a, resources: {requests: {example.com/gpu: 8}}}]}", ""},
	} {
		job := batchJob(t, "job", "{template: {spec: "+test.pod+"}}")
		_, err := child(t, job, request(2, "cpu", "1", "memory", "1Gi"))
		if test.too == "" {
			if err != nil {
				t.Errorf("%s: %v", test.what, err)
			}
			continue
		}
		if !errors.Is(err, workload.ErrSlotTooSmall) || !strings.Contains(err.Error(), test.too+" ") {
			t.Errorf("%s: %v", test.what, err)
		}
	}
}

// A container's limit becomes its request, and no other is added; a container without one gets the
// slot's.
func TestJobRequests(t *testing.T) {
	got, err := child(t, batchJob(t, "job", "{template: {spec: {containers: [{name: a}, {name: b, resources: {limits: {cpu: 1}}}]}}}"),
		request(1, "cpu", "2", "memory", "1Gi", "hugepages-2Mi", "4Mi", "kubernetes.io/batch-cpu", "5", "ephemeral-storage", "1Gi"))
	if err != nil {
		t.Fatal(err)
	}
	want := []any{
		map[string]any{"name": "a", "resources": map[string]any{
			"requests": map[string]any{"memory": "1Gi", "hugepages-2Mi": "4Mi", "kubernetes.io/batch-cpu": "5", "ephemeral-storage": "1Gi"},
			"limits":   map[string]any{"hugepages-2Mi": "4Mi"},
		}},
		map[string]any{"name": "b", "resources": map[string]any{"limits": map[string]any{"cpu": int64(1)}}},
	}
	if diff := cmp.Diff(want, at(t, got, "spec.template.spec.containers")); diff != "" {
		t.Error(diff)
	}
}

// A Job with fewer completions than slots runs no more pods than that.
func TestJobPods(t *testing.T) {
	for completions, want := range map[string]int32{"null": 4, "2": 2, "4": 4, "9": 4} {
		job := batchJob(t, "job", "{completions: "+completions+", template: {spec: {containers: [{name: a}]}}}")
		got, err := child(t, job, request(4))
		if err != nil {
			t.Fatal(err)
		}
		adapter, _ := workload.Of(&job.Spec)
		if n := adapter.Pods(got); n != want {
			t.Errorf("completions %s: %d pods, want %d", completions, n, want)
		}
	}
}

// A configuration of Flink may be nested.
func TestFlinkTaskSlots(t *testing.T) {
	for spec, want := range map[string]any{
		"{}":                                         map[string]any{"taskmanager.numberOfTaskSlots": "1"},
		"{taskmanager: {numberOfTaskSlots: 3}}":      map[string]any{"taskmanager": map[string]any{"numberOfTaskSlots": int64(3)}},
		"{taskmanager: {memory: {}}}":                map[string]any{"taskmanager": map[string]any{"memory": map[string]any{}}, "taskmanager.numberOfTaskSlots": "1"},
		"{taskmanager.numberOfTaskSlots: 2}":         map[string]any{"taskmanager.numberOfTaskSlots": int64(2)},
		"{taskmanager.numberOfTaskSlots: null}":      map[string]any{"taskmanager.numberOfTaskSlots": "1"},
		"{taskmanager: all, parallelism.default: 2}": map[string]any{"taskmanager": "all", "parallelism.default": int64(2), "taskmanager.numberOfTaskSlots": "1"},
	} {
		got, err := child(t, batchJob(t, "flink", "{job: {jarURI: a}, flinkConfiguration: "+spec+"}"), request(1))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, at(t, got, "spec.flinkConfiguration")); diff != "" {
			t.Errorf("%s: %s", spec, diff)
		}
	}
}

// Task managers get the common pod template as well, which names no slot.
func TestFlinkTemplate(t *testing.T) {
	for given, want := range map[string]string{
		"{}": "{}",
		"{metadata: {name: a}, spec: {hostNetwork: false}}": "{metadata: {name: a}, spec: {hostNetwork: false}}",
		"{metadata: {labels: {app: a, testbed.spazio-scheduler.github.io/role: placeholder}, annotations: {testbed.spazio-scheduler.github.io/slot: node-a/0}}}": "{metadata: {labels: {app: a}, annotations: {}}}",
	} {
		got, err := child(t, batchJob(t, "flink", "{job: {jarURI: a}, podTemplate: "+given+"}"), request(1))
		if err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		var template any
		if err := yaml.Unmarshal([]byte(want), &template); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(template, at(t, got, "spec.podTemplate")); diff != "" {
			t.Errorf("%s: %s", given, diff)
		}
	}
}

// Dynamic allocation stays within the claim, however it is enabled.
func TestSparkDynamicAllocation(t *testing.T) {
	for _, test := range []struct{ spec, path, want string }{
		{"{dynamicAllocation: {enabled: true}}", "dynamicAllocation", "{enabled: true, maxExecutors: 3}"},
		{"{dynamicAllocation: {enabled: true, minExecutors: 2, initialExecutors: 9, maxExecutors: 2}}", "dynamicAllocation",
			"{enabled: true, minExecutors: 2, initialExecutors: 3, maxExecutors: 3}"},
		{"{dynamicAllocation: {enabled: true, minExecutors: 4}}", "dynamicAllocation", "{enabled: true, minExecutors: 3, maxExecutors: 3}"},
		{"{sparkConf: {spark.dynamicAllocation.enabled: 'true'}}", "sparkConf",
			"{spark.dynamicAllocation.enabled: 'true', spark.dynamicAllocation.maxExecutors: '3'}"},
		{"{sparkConf: {spark.dynamicAllocation.enabled: 'false'}}", "sparkConf", "{spark.dynamicAllocation.enabled: 'false'}"},
		{"{sparkConf: {spark.kubernetes.executor.scheduler.name: mine}}", "sparkConf", "{spark.kubernetes.executor.scheduler.name: spazio-slots}"},
		{"{sparkConf: {a: b}}", "sparkConf", "{a: b}"},
	} {
		got, err := child(t, batchJob(t, "spark", test.spec), request(3))
		if err != nil {
			t.Fatal(err)
		}
		var want any
		if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, plain(t, got)["spec"].(map[string]any)[test.path]); diff != "" {
			t.Errorf("%s: %s", test.spec, diff)
		}
		if n := at(t, got, "spec.executor.instances"); n != int64(3) {
			t.Errorf("%s: %v executors", test.spec, n)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct{ kind, spec, name string }{
		{"spark", "[]", "spec.sparkSpec"},
		{"spark", "null", "spec.sparkSpec"},
		{"spark", "{driver: 1}", "spec.sparkSpec.driver"},
		{"spark", "{executor: [1]}", "spec.sparkSpec.executor"},
		{"spark", "{executor: {labels: a}}", "spec.sparkSpec.executor.labels"},
		{"spark", "{executor: {annotations: a}}", "spec.sparkSpec.executor.annotations"},
		{"spark", "{executor: {template: a}}", "spec.sparkSpec.executor.template"},
		{"spark", "{executor: {template: {metadata: a}}}", "spec.sparkSpec.executor.template.metadata"},
		{"spark", "{executor: {template: {metadata: {labels: a}}}}", "spec.sparkSpec.executor.template.metadata.labels"},
		{"spark", "{executor: {template: {spec: {nodeName: a}}}}", "spec.sparkSpec.executor.template.spec.nodeName"},
		{"spark", "{executor: {coreLimit: 2}}", "spec.sparkSpec.executor.coreLimit"},
		{"spark", "{executor: {coreLimit: all}}", "spec.sparkSpec.executor.coreLimit"},
		{"spark", "{executor: {memoryLimit: much}}", "spec.sparkSpec.executor.memoryLimit"},
		{"spark", "{memoryOverheadFactor: 0.1}", "spec.sparkSpec.memoryOverheadFactor"},
		{"spark", "{memoryOverheadFactor: '-0.1'}", "spec.sparkSpec.memoryOverheadFactor"},
		{"spark", "{memoryOverheadFactor: NaN}", "spec.sparkSpec.memoryOverheadFactor"},
		{"spark", "{memoryOverheadFactor: '1001'}", "spec.sparkSpec.memoryOverheadFactor"},
		{"spark", "{memoryOverheadFactor: '1e999999999'}", "spec.sparkSpec.memoryOverheadFactor"},
		{"spark", "{sparkConf: a}", "spec.sparkSpec.sparkConf"},
		{"spark", "{sparkConf: {spark.executor.pyspark.memory: 1g}}", "spec.sparkSpec.sparkConf.spark.executor.pyspark.memory"},
		{"spark", "{sparkConf: {spark.memory.offHeap.size: 1g}}", "spec.sparkSpec.sparkConf.spark.memory.offHeap.size"},
		{"spark", "{dynamicAllocation: true}", "spec.sparkSpec.dynamicAllocation"},
		{"flink", "{}", "spec.flinkSpec.job.jarURI"},
		{"flink", "{job: {jarFile: a.jar}}", "spec.flinkSpec.job.jarURI"},
		{"flink", "{job: {jarURI: 1}}", "spec.flinkSpec.job.jarURI"},
		{"flink", "{job: a}", "spec.flinkSpec.job"},
		{"flink", "{job: {jarURI: a}, flinkConfiguration: a}", "spec.flinkSpec.flinkConfiguration"},
		{"flink", "{job: {jarURI: a}, taskManager: a}", "spec.flinkSpec.taskManager"},
		{"flink", "{job: {jarURI: a}, taskManager: {resource: a}}", "spec.flinkSpec.taskManager.resource"},
		{"flink", "{job: {jarURI: a}, taskManager: {podTemplate: {metadata: {labels: 1}}}}", "spec.flinkSpec.taskManager.podTemplate.metadata.labels"},
		{"flink", "{job: {jarURI: a}, taskManager: {podTemplate: {spec: {nodeName: a}}}}", "spec.flinkSpec.taskManager.podTemplate.spec.nodeName"},
		{"flink", "{job: {jarURI: a}, podTemplate: a}", "spec.flinkSpec.podTemplate"},
		{"flink", "{job: {jarURI: a}, podTemplate: {metadata: {labels: 1}}}", "spec.flinkSpec.podTemplate.metadata.labels"},
		{"flink", "{job: {jarURI: a}, podTemplate: {spec: 1}}", "spec.flinkSpec.podTemplate.spec"},
		{"flink", "{job: {jarURI: a}, podTemplate: {spec: {nodeName: a}}}", "spec.flinkSpec.podTemplate.spec.nodeName"},
		{"job", "{}", "spec.jobSpec.template.spec.containers"},
		{"job", "{template: {spec: {containers: [a]}}}", "spec.jobSpec.template.spec"},
		{"job", "{template: {spec: {containers: {}}}}", "spec.jobSpec.template.spec"},
		{"job", "{template: {spec: {containers: [{resources: {requests: {cpu: much}}}]}}}", "spec.jobSpec.template.spec"},
		{"job", "{template: {spec: {nodeName: node-a}}}", "spec.jobSpec.template.spec.nodeName"},
		{"job", "{template: {metadata: {annotations: 1}}}", "spec.jobSpec.template.metadata.annotations"},
	} {
		_, err := child(t, batchJob(t, test.kind, test.spec), request(1, "cpu", "1", "memory", "2Gi"))
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != test.name || !errors.Is(err, workload.ErrInvalid) || workload.Reason(err) != "InvalidApplication" {
			t.Errorf("%s %s: %v, want %s named", test.kind, test.spec, err, test.name)
		}
	}
	for _, spec := range []v1alpha1.BatchJobSpec{{}, {JobSpec: &runtime.RawExtension{}, SparkSpec: &runtime.RawExtension{}}} {
		if _, err := workload.Of(&spec); !errors.Is(err, workload.ErrInvalid) {
			t.Errorf("%v", err)
		}
	}
}

func TestBadRequests(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.BatchJob, *v1alpha1.CreationRequest)
	}{
		{"metadata.name", func(j *v1alpha1.BatchJob, _ *v1alpha1.CreationRequest) { j.Name = "" }},
		{"metadata.uid", func(j *v1alpha1.BatchJob, _ *v1alpha1.CreationRequest) { j.UID = "" }},
		{"creationRequest.testbed.uid", func(_ *v1alpha1.BatchJob, r *v1alpha1.CreationRequest) { r.Testbed.UID = "" }},
		{"creationRequest.replication", func(_ *v1alpha1.BatchJob, r *v1alpha1.CreationRequest) { r.Replication = 0 }},
		{"creationRequest.attempt", func(_ *v1alpha1.BatchJob, r *v1alpha1.CreationRequest) { r.Attempt = 0 }},
		{"creationRequest.resources.cpu", func(_ *v1alpha1.BatchJob, r *v1alpha1.CreationRequest) { r.Resources["cpu"] = resource.MustParse("-1") }},
		{"creationRequest.resources.memory", func(_ *v1alpha1.BatchJob, r *v1alpha1.CreationRequest) {
			r.Resources["memory"] = resource.MustParse("0")
		}},
		{"creationRequest.resources.cpu", func(_ *v1alpha1.BatchJob, r *v1alpha1.CreationRequest) {
			r.Resources["cpu"] = resource.MustParse("1e30")
		}},
		{"creationRequest.resources.memory", func(_ *v1alpha1.BatchJob, r *v1alpha1.CreationRequest) {
			r.Resources["memory"] = resource.MustParse("1Ei")
		}},
	} {
		for _, kind := range []string{"job", "spark", "flink"} {
			job, r := batchJob(t, kind, "{}"), request(1, "cpu", "1", "memory", "2Gi")
			test.change(job, r)
			_, err := child(t, job, r)
			var refused *field.Error
			if !errors.As(err, &refused) || refused.Field != test.name || !errors.Is(err, workload.ErrInvalid) {
				t.Errorf("%s: %v, want %s named", kind, err, test.name)
			}
		}
	}
	for range 20 { // of several the first by name, whatever the order of a map
		_, err := child(t, batchJob(t, "job", "{}"), request(1, "memory", "0", "cpu", "0", "example.com/gpu", "0"))
		var refused *field.Error
		if !errors.As(err, &refused) || refused.Field != "creationRequest.resources.cpu" {
			t.Fatalf("%v", err)
		}
	}
	for _, kind := range []string{"job", "spark", "flink"} {
		adapter := adapterOf(t, kind)
		job := batchJob(t, "job", "{}")
		job.Spec = v1alpha1.BatchJobSpec{}
		if _, err := adapter.Child(job, request(1)); !errors.Is(err, workload.ErrInvalid) {
			t.Errorf("%v without its spec: %v", adapter.Kind(), err)
		}
	}
}

func TestName(t *testing.T) {
	long := strings.Repeat("abcdefghij", 6)
	for _, test := range []struct {
		job     string
		attempt int32
		want    string // a hash is where hex stands
	}{
		{"sort", 1, "sort-r1"},
		{"sort", 1000, "sort-r1000"},
		{long[:40], 999, long[:40] + "-r999"},
		{long[:41], 1, long[:31] + "-hex-r1"},
		{long, 1, long[:31] + "-hex-r1"},
		{long[:40], 1000, long[:30] + "-hex-r1000"},
		{long[:30] + "-bcdefghijk", 1, long[:30] + "-hex-r1"},
		{"a.b", 2, "a-b-hex-r2"},
		{"7up", 3, "j7up-hex-r3"},
		{"z.zz.90", 1, "z-zz-90-hex-r1"},
	} {
		got := workload.Name(test.job, test.attempt)
		before, after, hashed := strings.Cut(test.want, "hex")
		if hashed && (!strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) || len(got) != len(before)+8+len(after)) ||
			!hashed && got != test.want {
			t.Errorf("%s, run %d: %s, want %s", test.job, test.attempt, got, test.want)
		}
	}
	// Jobs with a common prefix do not share a name.
	if a, b := workload.Name(long+"a", 1), workload.Name(long+"b", 1); a == b {
		t.Errorf("two jobs are %s", a)
	}
}

func FuzzName(f *testing.F) {
	f.Add("sort", int32(1))
	f.Add(strings.Repeat("x.", 100), int32(1<<30))
	f.Add("", int32(0))
	f.Add("-", int32(-5))
	f.Fuzz(func(t *testing.T, job string, attempt int32) {
		attempt &= 1<<31 - 1
		name := workload.Name(job, attempt)
		if len(name) > 45 || len(validation.IsDNS1035Label(name)) > 0 {
			t.Errorf("%q, run %d: %q", job, attempt, name)
		}
		if !strings.HasSuffix(name, fmt.Sprintf("-r%d", attempt)) {
			t.Errorf("%q does not say its run %d", name, attempt)
		}
	})
}

func adapterOf(t testing.TB, kind string) *workload.Adapter {
	t.Helper()
	adapter, err := workload.Of(&batchJob(t, kind, "{}").Spec)
	if err != nil {
		t.Fatal(err)
	}
	return adapter
}

func TestStatus(t *testing.T) {
	end := time.Date(2026, 11, 22, 9, 30, 0, 0, time.UTC)
	for _, test := range []struct {
		kind, status string
		want         workload.Status
	}{
		{"job", "{}", workload.Status{}},
		{"job", "{active: 2, ready: 0}", workload.Status{Phase: workload.Running, State: "Running"}},
		{"job", "{succeeded: 1}", workload.Status{Phase: workload.Running, State: "Running"}},
		{"job", "{active: 1, conditions: [{type: SuccessCriteriaMet, status: 'True'}]}", workload.Status{Phase: workload.Running, State: "Running"}},
		{"job", "{succeeded: 3, conditions: [{type: SuccessCriteriaMet, status: 'True'}, {type: Complete, status: 'True', reason: CompletionsReached, message: done, lastTransitionTime: '2026-11-22T09:30:00Z'}]}",
			workload.Status{Phase: workload.Succeeded, State: "Complete", Message: "CompletionsReached done", Finished: end}},
		{"job", "{failed: 1, conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: '2026-11-22T09:30:00Z'}]}",
			workload.Status{Phase: workload.Failed, State: "Failed", Message: "BackoffLimitExceeded", Finished: end}},
		{"job", "{conditions: [{type: Failed, status: 'False'}, {type: Complete, status: Unknown}]}", workload.Status{}},
		{"job", "{conditions: [1, {type: 2, status: 'True'}], active: many}", workload.Status{}},
		{"spark", "{}", workload.Status{}},
		{"spark", "{applicationState: {state: ''}}", workload.Status{}},
		{"spark", "{applicationState: {state: SUBMITTED}}", workload.Status{State: "SUBMITTED"}},
		{"spark", "{applicationState: {state: SUBMISSION_FAILED, errorMessage: refused}}", workload.Status{State: "SUBMISSION_FAILED", Message: "refused"}},
		{"spark", "{applicationState: {state: PENDING_RERUN}}", workload.Status{State: "PENDING_RERUN"}},
		{"spark", "{applicationState: {state: INVALIDATING}}", workload.Status{State: "INVALIDATING"}},
		{"spark", "{applicationState: {state: SUSPENDED}}", workload.Status{State: "SUSPENDED"}},
		{"spark", "{applicationState: {state: UNKNOWN}}", workload.Status{State: "UNKNOWN"}},
		{"spark", "{applicationState: {state: RUNNING}, terminationTime: null}", workload.Status{Phase: workload.Running, State: "RUNNING"}},
		{"spark", "{applicationState: {state: SUCCEEDING}, terminationTime: '2026-11-22T09:30:00Z'}", workload.Status{Phase: workload.Running, State: "SUCCEEDING"}},
		{"spark", "{applicationState: {state: FAILING, errorMessage: executor lost}}", workload.Status{State: "FAILING", Message: "executor lost"}},
		{"spark", "{applicationState: {state: COMPLETED}, terminationTime: '2026-11-22T09:30:00Z'}", workload.Status{Phase: workload.Succeeded, State: "COMPLETED", Finished: end}},
		{"spark", "{applicationState: {state: FAILED, errorMessage: driver failed}, terminationTime: null}", workload.Status{Phase: workload.Failed, State: "FAILED", Message: "driver failed"}},
		{"flink", "{}", workload.Status{}},
		{"flink", "{lifecycleState: CREATED, jobManagerDeploymentStatus: DEPLOYING}", workload.Status{State: "CREATED"}},
		{"flink", "{lifecycleState: DEPLOYED, jobStatus: {state: RECONCILING}}", workload.Status{State: "RECONCILING"}},
		{"flink", "{jobStatus: {state: CREATED}}", workload.Status{State: "CREATED"}},
		{"flink", "{jobStatus: {state: RUNNING, updateTime: '1'}, lifecycleState: STABLE, jobManagerDeploymentStatus: READY}", workload.Status{Phase: workload.Running, State: "RUNNING"}},
		{"flink", "{jobStatus: {state: RESTARTING}}", workload.Status{State: "RESTARTING"}},
		{"flink", "{jobStatus: {state: FAILING}}", workload.Status{State: "FAILING"}},
		{"flink", "{jobStatus: {state: CANCELLING}}", workload.Status{State: "CANCELLING"}},
		{"flink", "{jobStatus: {state: SUSPENDED}}", workload.Status{State: "SUSPENDED"}},
		{"flink", "{jobStatus: {state: FINISHED, updateTime: '1795339800000'}, lifecycleState: STABLE}", workload.Status{Phase: workload.Succeeded, State: "FINISHED", Finished: end}},
		{"flink", "{jobStatus: {state: FINISHED, updateTime: soon}, jobManagerDeploymentStatus: ERROR}", workload.Status{Phase: workload.Succeeded, State: "FINISHED"}},
		{"flink", "{jobStatus: {state: FAILED, updateTime: '1795339800000'}, error: boom}", workload.Status{Phase: workload.Failed, State: "FAILED", Message: "boom", Finished: end}},
		{"flink", "{jobStatus: {state: FINISHED, updateTime: '0'}}", workload.Status{Phase: workload.Succeeded, State: "FINISHED"}},
		{"flink", "{jobStatus: {state: CANCELED}}", workload.Status{Phase: workload.Failed, State: "CANCELED"}},
		{"flink", "{jobStatus: {state: RUNNING}, lifecycleState: FAILED, error: bad spec}", workload.Status{Phase: workload.Failed, State: "FAILED", Message: "bad spec"}},
		{"flink", "{jobStatus: {state: RECONCILING}, jobManagerDeploymentStatus: ERROR}", workload.Status{Phase: workload.Failed, State: "ERROR"}},
		{"flink", "{jobManagerDeploymentStatus: MISSING}", workload.Status{Message: "JobManager MISSING"}},
		{"flink", "{jobStatus: {state: RECONCILING}, jobManagerDeploymentStatus: MISSING}", workload.Status{State: "RECONCILING", Message: "JobManager MISSING"}},
		{"flink", "{jobStatus: {state: RUNNING}, jobManagerDeploymentStatus: MISSING, error: gone}", workload.Status{State: "RUNNING", Message: "gone"}},
		{"flink", "{jobStatus: {state: DISSOLVING}, lifecycleState: STABLE}", workload.Status{State: "DISSOLVING"}},
		{"flink", "{jobStatus: {state: FINISHED}, lifecycleState: SUSPENDED}", workload.Status{State: "SUSPENDED"}},
		{"flink", "{jobStatus: {state: FINISHED}, lifecycleState: UPGRADING}", workload.Status{State: "UPGRADING"}},
		{"flink", "{jobStatus: {state: FINISHED}, lifecycleState: ROLLING_BACK}", workload.Status{State: "ROLLING_BACK"}},
		{"spark", "{applicationState: {state: RESUMING}}", workload.Status{State: "RESUMING"}},
		{"job", "{active: 0, succeeded: 1, conditions: [{type: Suspended, status: 'True'}]}", workload.Status{State: "Suspended"}},
	} {
		data, err := yaml.YAMLToJSON([]byte("{status: " + test.status + "}"))
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(data, &o.Object); err != nil {
			t.Fatal(err)
		}
		got := adapterOf(t, test.kind).Status(o)
		if diff := cmp.Diff(test.want, got, cmp.Comparer(time.Time.Equal)); diff != "" {
			t.Errorf("%s %s: %s", test.kind, test.status, diff)
		}
	}
}

// An executor with another scheduler was made by an operator without its webhook.
func TestCheckPod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "exec-1"}, Spec: corev1.PodSpec{SchedulerName: "default-scheduler"}}
	err := adapterOf(t, "spark").CheckPod(pod)
	if !errors.Is(err, workload.ErrWebhookMissing) || workload.Reason(err) != "WebhookMissing" || !strings.Contains(err.Error(), "exec-1") {
		t.Errorf("%v", err)
	}
	pod.Spec.SchedulerName = "spazio-slots"
	if err := adapterOf(t, "spark").CheckPod(pod); err != nil {
		t.Error(err)
	}
}

// Any user input is refused with a field's name or makes a valid child.
func FuzzChild(f *testing.F) {
	f.Add("job", []byte(`{"template":{"spec":{"containers":[{"name":"a"}]}}}`), int64(1000), int64(1<<30), int32(2))
	f.Add("spark", []byte(`{"executor":{"template":{"spec":{}}},"memoryOverheadFactor":"0.3"}`), int64(700), int64(896<<20), int32(3))
	f.Add("flink", []byte(`{"job":{"jarURI":"a"},"taskManager":null}`), int64(1), int64(1), int32(1))
	f.Add("spark", []byte(`{"dynamicAllocation":{"minExecutors":9},"sparkConf":{}}`), int64(0), int64(-1), int32(0))
	f.Fuzz(func(t *testing.T, kind string, spec []byte, milli, bytes int64, n int32) {
		raw := &runtime.RawExtension{Raw: spec}
		job := &v1alpha1.BatchJob{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "5e1d"}}
		at := ""
		switch kind {
		case "spark":
			job.Spec.SparkSpec, at = raw, "spec.executor.labels"
		case "flink":
			job.Spec.FlinkSpec, at = raw, "spec.taskManager.podTemplate.metadata.labels"
		default:
			job.Spec.JobSpec, at = raw, "spec.template.metadata.labels"
		}
		r := request(n)
		r.Resources = corev1.ResourceList{"cpu": *resource.NewMilliQuantity(milli, resource.DecimalSI), "memory": *resource.NewQuantity(bytes, resource.BinarySI)}
		got, err := child(t, job, r)
		if err != nil {
			var refused *field.Error
			if !errors.As(err, &refused) || refused.Field == "" {
				t.Errorf("%v names no field", err)
			}
			return
		}
		_ = got.DeepCopy() // panics on what JSON does not have
		labels, _, err := unstructured.NestedStringMap(got.Object, strings.Split(at, ".")...)
		ours := map[string]string{}
		for name, value := range labels {
			if strings.HasPrefix(name, v1alpha1.Prefix) {
				ours[name] = value
			}
		}
		want := map[string]string{v1alpha1.LabelRole: "slot", v1alpha1.LabelTestbedUID: "71fe", v1alpha1.LabelBatchJobUID: "5e1d", v1alpha1.LabelAttempt: "1"}
		if err == nil && !cmp.Equal(ours, want) {
			t.Errorf("%v", ours)
		}
		adapter, _ := workload.Of(&job.Spec)
		if pods := adapter.Pods(got); pods > n {
			t.Errorf("%d pods in %d slots", pods, n)
		}
	})
}

// No status makes an adapter panic, and no adapter is finished before it has ended.
func FuzzStatus(f *testing.F) {
	f.Add([]byte(`{"applicationState":{"state":"COMPLETED"},"terminationTime":"2026-11-22T09:30:00Z"}`))
	f.Add([]byte(`{"jobStatus":{"state":"FINISHED","updateTime":"99999999999999999"}}`))
	f.Add([]byte(`{"conditions":[{"type":"Complete","status":"True"}],"active":-1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(slices.Concat([]byte(`{"status":`), data, []byte("}")), &o.Object); err != nil {
			return
		}
		for _, kind := range []string{"job", "spark", "flink"} {
			adapter := adapterOf(t, kind)
			s := adapter.Status(o)
			if !s.Finished.IsZero() && s.Phase < workload.Succeeded {
				t.Errorf("%v: %+v", adapter.Kind(), s)
			}
		}
	})
}
