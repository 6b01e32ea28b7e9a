package convert_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/operator/convert"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/operator/workload"
)

func read(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The thesis's own manifests become present-day ones.
func TestManifests(t *testing.T) {
	got, notes, err := convert.Manifests(read(t, "old.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(read(t, "new.yaml")), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := []convert.Note{
		{Object: "BatchJob/spark-crawler", Field: "spec.activeScheduling"},
		{Object: "BatchJob/flink-wordcount", Field: "spec.flinkSpec.job.restartPolicy"},
		{Object: "BatchJob/flink-wordcount", Field: "spec.flinkSpec.jobManager.ports"},
		{Object: "BatchJob/flink-wordcount", Field: "spec.flinkSpec.taskManager"},
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
	if text := notes[0].String(); text != "BatchJob/spark-crawler: spec.activeScheduling is left out" {
		t.Error(text)
	}
	// New fields stay.
	again, notes, err := convert.Manifests(got)
	if err != nil || len(notes) > 0 || string(again) != string(got) {
		t.Errorf("rewritten again: %v, %v: %s", err, notes, cmp.Diff(string(got), string(again)))
	}
}

// The types accept the result, strictly, and the jobs make applications.
func TestManifestsByTheTypes(t *testing.T) {
	text, _, err := convert.Manifests(read(t, "old.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	jobs := 0
	for _, document := range strings.Split(string(text), "---\n") {
		var of struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &of); err != nil {
			t.Fatal(err)
		}
		var job v1alpha1.BatchJob
		into := map[string]any{"BatchJob": &job, "Testbed": &v1alpha1.Testbed{}, "Scheduling": &v1alpha1.Scheduling{}}[of.Kind]
		if into == nil {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Errorf("%v: %s", err, document)
		}
		if of.Kind != "BatchJob" {
			continue
		}
		jobs++
		job.UID = "5e1d"
		adapter, err := workload.Of(&job.Spec)
		if err != nil {
			t.Fatal(err)
		}
		request := v1alpha1.CreationRequest{Testbed: v1alpha1.ObjectReference{UID: "71fe"}, Replication: 2, Attempt: 1}
		if _, err := adapter.Child(&job, &request); err != nil {
			t.Error(err)
		}
	}
	if jobs != 2 {
		t.Errorf("%d jobs", jobs)
	}
}

// flinkJob returns a BatchJob with these fields of a FlinkCluster.
func flinkJob(fields string) string {
	return "{apiVersion: batchjob.gcr.io/v1alpha1, kind: BatchJob, metadata: {name: a}, spec: {flinkSpec: {" + fields + "}}}"
}

func TestFlink(t *testing.T) {
	for _, test := range []struct{ old, want, left string }{
		{"", "{}", ""},
		{"flinkVersion: 1.8", "{flinkVersion: v1_8}", ""},
		{"flinkVersion: 1.14.3", "{flinkVersion: v1_14}", ""},
		{"job: {jarFile: /opt/a/../b.jar}", "{job: {jarURI: 'local:///opt/b.jar'}}", ""},
		{"job: {jarFile: 'gs://bucket/b.jar', allowNonRestoredState: true}", "{job: {jarURI: 'gs://bucket/b.jar', allowNonRestoredState: true}}", ""},
		{"job: {jarFile: 7, savepoint: a}", "{}", "spec.flinkSpec.job.jarFile spec.flinkSpec.job.savepoint"},
		{"image: {name: a, pullSecrets: [b]}", "{image: a}", "spec.flinkSpec.image.pullSecrets"},
		{"jobManager: {replicas: 1, resources: {requests: {cpu: 1, memory: 1G, disk: 1Gi}}}", "{jobManager: {replicas: 1, resource: {cpu: 1, memory: 953m}}}", "spec.flinkSpec.jobManager.resources.requests.disk"},
		{"envVars: [a], taskManager: null", "{}", "spec.flinkSpec.envVars"},
	} {
		text, notes, err := convert.Manifests([]byte(flinkJob(test.old)))
		if err != nil {
			t.Errorf("%s: %v", test.old, err)
			continue
		}
		var got struct{ Spec struct{ FlinkSpec any } }
		var want any
		if err := yaml.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, n := range notes {
			left = append(left, n.Field)
		}
		if diff := cmp.Diff(want, got.Spec.FlinkSpec) + cmp.Diff(test.left, strings.Join(left, " ")); diff != "" {
			t.Errorf("%s: %s", test.old, diff)
		}
	}
}

func TestRefusals(t *testing.T) {
	of := func(kind, spec string) string {
		return "{apiVersion: batchjob.gcr.io/v1alpha1, kind: " + kind + ", metadata: {name: a}, spec: " + spec + "}"
	}
	for _, test := range []struct{ old, name string }{
		{"a: [", "document 0"},
		{"[1]", "document 0"},
		{"a: b\n---\ntext", "document 1"},
		{of("Simple", "{}"), "kind"},
		{of("Scheduling", "{slotBased: {}}"), "Scheduling/a spec.slotBased"},
		{of("Testbed", "[]"), "Testbed/a spec"},
		{"{apiVersion: batchjob.gcr.io/v1alpha1, kind: Testbed, metadata: a}", "metadata"},
		{flinkJob("flinkVersion: new"), "BatchJob/a spec.flinkSpec.flinkVersion"},
		{flinkJob("image: flink"), "BatchJob/a spec.flinkSpec.image"},
		{flinkJob("job: 1"), "BatchJob/a spec.flinkSpec.job"},
		{flinkJob("jobManager: 1"), "BatchJob/a spec.flinkSpec.jobManager"},
		{flinkJob("jobManager: {resources: 1}"), "BatchJob/a spec.flinkSpec.jobManager.resources"},
		{flinkJob("jobManager: {resources: {limits: 1}}"), "BatchJob/a spec.flinkSpec.jobManager.resources.limits"},
		{flinkJob("jobManager: {resources: {limits: {cpu: much}}}"), "BatchJob/a spec.flinkSpec.jobManager.resources.limits.cpu"},
	} {
		_, _, err := convert.Manifests([]byte(test.old))
		var refused *field.Error
		if !errors.As(err, &refused) || !errors.Is(err, convert.ErrInvalid) || !strings.HasSuffix(refused.Field, test.name) {
			t.Errorf("%s: %v, want %s named", test.old, err, test.name)
		}
	}
}

// A Testbed used to be called Slot.
func TestSlot(t *testing.T) {
	text, _, err := convert.Manifests([]byte("{apiVersion: batchjob.gcr.io/v1alpha1, kind: Slot, metadata: {name: a}, spec: {slotsPerNode: 1}}"))
	if err != nil || !strings.Contains(string(text), "kind: Testbed\n") {
		t.Errorf("%s, %v", text, err)
	}
}

// For any input, an error names a field, and the result has nothing of the old group.
func FuzzManifests(f *testing.F) {
	f.Add(read(f, "old.yaml"))
	f.Add(read(f, "new.yaml"))
	f.Add([]byte(flinkJob("jobManager: {resources: {limits: {cpu: 1e9}}}, image: null")))
	f.Add([]byte("---\n---\n# nothing\n---"))
	f.Fuzz(func(t *testing.T, old []byte) {
		text, _, err := convert.Manifests(old)
		if err != nil {
			var refused *field.Error
			if !errors.As(err, &refused) || refused.Field == "" {
				t.Errorf("%v names no field", err)
			}
			return
		}
		for _, document := range strings.Split(string(text), "\n---\n") {
			var of map[string]any
			if yaml.Unmarshal([]byte(document), &of) == nil && of["apiVersion"] == "batchjob.gcr.io/v1alpha1" {
				t.Errorf("%q is left", document)
			}
		}
	})
}
