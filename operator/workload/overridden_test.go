package workload_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/operator/workload"
)

// Every user's field that the child lacks or changes is named with both values; an unchanged one is
// not.
func TestOverridden(t *testing.T) {
	for name, test := range map[string]struct {
		kind, spec string
		want       []string
	}{
		"job": {"job", `{parallelism: 7, completions: 9, backoffLimit: 6, ttlSecondsAfterFinished: 0, suspend: true, activeDeadlineSeconds: 60, podReplacementPolicy: Failed,
			backoffLimitPerIndex: 1, maxFailedIndexes: 2,
			template: {metadata: {labels: {app: x, testbed.spazio-scheduler.github.io/role: placeholder}}, spec: {restartPolicy: OnFailure, schedulerName: mine, priorityClassName: high, containers: [{name: a, image: x}]}}}`, []string{
			`spec.jobSpec.backoffLimit = 6 is 0`,
			`spec.jobSpec.backoffLimitPerIndex = 1 is dropped`,
			`spec.jobSpec.maxFailedIndexes = 2 is dropped`,
			`spec.jobSpec.parallelism = 7 is 2`,
			`spec.jobSpec.suspend = true is false`,
			`spec.jobSpec.template.metadata.labels.testbed.spazio-scheduler.github.io/role = "placeholder" is "slot"`,
			`spec.jobSpec.template.spec.priorityClassName = "high" is "spazio-slot"`,
			`spec.jobSpec.template.spec.schedulerName = "mine" is "spazio-slots"`,
			`spec.jobSpec.ttlSecondsAfterFinished = 0 is dropped`,
		}},
		"job, as it is": {"job", `{completions: 2, suspend: false, backoffLimit: 0, parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: a}]}}}`, nil},
		"spark": {"spark", `{type: Scala, mode: cluster, restartPolicy: {type: OnFailure, onFailureRetries: 3}, timeToLiveSeconds: 3600, suspend: true,
			batchScheduler: volcano, batchSchedulerOptions: {queue: q}, driver: {cores: 1},
			executor: {instances: 5, cores: 4, memory: 8g, schedulerName: mine, labels: {app: x}}, dynamicAllocation: {enabled: true, minExecutors: 4, maxExecutors: 9}}`, []string{
			`spec.sparkSpec.batchScheduler = "volcano" is dropped`,
			`spec.sparkSpec.batchSchedulerOptions = {"queue":"q"} is dropped`,
			`spec.sparkSpec.dynamicAllocation.maxExecutors = 9 is 2`,
			`spec.sparkSpec.dynamicAllocation.minExecutors = 4 is 2`,
			`spec.sparkSpec.executor.cores = 4 is 1`,
			`spec.sparkSpec.executor.instances = 5 is 2`,
			`spec.sparkSpec.executor.memory = "8g" is "1664m"`,
			`spec.sparkSpec.executor.schedulerName = "mine" is "spazio-slots"`,
			`spec.sparkSpec.restartPolicy.onFailureRetries = 3 is dropped`,
			`spec.sparkSpec.restartPolicy.type = "OnFailure" is "Never"`,
			`spec.sparkSpec.suspend = true is dropped`,
			`spec.sparkSpec.timeToLiveSeconds = 3600 is dropped`,
		}},
		"spark, as it is": {"spark", `{type: Scala, suspend: false, batchScheduler: null, restartPolicy: {type: Never}, driver: {cores: 1}, executor: {instances: 2}}`, nil},
		"flink": {"flink", `{mode: native, job: {jarURI: x, state: suspended, parallelism: 8}, flinkConfiguration: {taskmanager.numberOfTaskSlots: "4"},
			taskManager: {replicas: 6, resource: {cpu: 2, memory: 4g}, podTemplate: {spec: {schedulerName: mine}}}}`, []string{
			`spec.flinkSpec.job.state = "suspended" is dropped`,
			`spec.flinkSpec.mode = "native" is "standalone"`,
			`spec.flinkSpec.taskManager.podTemplate.spec.schedulerName = "mine" is "spazio-slots"`,
			`spec.flinkSpec.taskManager.replicas = 6 is 2`,
			`spec.flinkSpec.taskManager.resource.cpu = 2 is 1`,
			`spec.flinkSpec.taskManager.resource.memory = "4g" is "2048m"`,
		}},
		"flink, as it is": {"flink", `{mode: standalone, job: {jarURI: x, state: running}, taskManager: {replicas: 2}}`, nil},
		"a long value": {"spark", `{type: Scala, batchSchedulerOptions: ` + strings.Repeat("a", 200) + `, driver: {}}`, []string{
			`spec.sparkSpec.batchSchedulerOptions = "` + strings.Repeat("a", 63) + `… is dropped`,
		}},
	} {
		job := batchJob(t, test.kind, test.spec)
		c, err := child(t, job, request(2, "cpu", "1", "memory", "2Gi"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, workload.Overridden(&job.Spec, c)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A message names the field, the beginning of its value and what it must be, and no package of
// Spazio.
func TestMessages(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for spec, want := range map[string]string{
		`{template: []}`: `spec.jobSpec.template = []: must be an object`,
		`{template: {spec: {nodeName: n7, containers: [{name: a}]}}}`:                    `spec.jobSpec.template.spec.nodeName = n7: must be absent: the scheduler chooses the node`,
		`{template: {spec: {containers: {a: "` + long + `"}}}}`:                          `spec.jobSpec.template.spec = {"containers":{"a":"`,
		`{template: {metadata: {labels: "` + long + `"}, spec: {}}}`:                     `spec.jobSpec.template.metadata.labels = ` + long[:64] + `…: must be an object`,
		`{template: {spec: {containers: [{name: a, resources: {requests: {cpu: 2}}}]}}}`: `spec.jobSpec.template.spec.containers = cpu 2: the slot is too small: it holds 900m`,
	} {
		_, err := child(t, batchJob(t, "job", spec), request(1, "cpu", "900m"))
		if err == nil || !strings.HasPrefix(err.Error(), want) || len(err.Error()) > 500 {
			t.Errorf("%.80s: %v, want %s", spec, err, want)
		}
	}
}
