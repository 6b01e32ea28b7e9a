package profile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile"
)

func TestIdentify(t *testing.T) {
	// 29,404,800 minutes after 1970.
	created := time.Date(2025, 11, 28, 0, 0, 0, 0, time.UTC)
	labels := map[string]string{"pod-template-hash": "7d9c5b8f6d", "controller-revision-hash": "web-6c9"}
	owned := func(kind, name string) profile.Meta {
		return profile.Meta{Namespace: "n", Name: "pod", Labels: labels, Created: created,
			Controller: profile.Owner{Kind: kind, Name: name}}
	}
	annotated := owned("ReplicaSet", "cart-7d9c5b8f6d")
	annotated.Annotations = map[string]string{profile.WorkloadAnnotation: "SparkApplication/etl"}
	bare := annotated
	bare.Annotations = map[string]string{profile.WorkloadAnnotation: "etl"}
	noKind, noName := annotated, annotated
	noKind.Annotations = map[string]string{profile.WorkloadAnnotation: "/etl"}
	noName.Annotations = map[string]string{profile.WorkloadAnnotation: "Job/"}
	for name, c := range map[string]struct {
		meta     profile.Meta
		kind     string
		want     string
		revision string
	}{
		"annotation":            {annotated, "SparkApplication", "etl", ""},
		"annotation, name only": {bare, "Workload", "etl", ""},
		"annotation, no kind":   {noKind, "Workload", "/etl", ""},
		"annotation, no name":   {noName, "Workload", "Job/", ""},
		"deployment":            {owned("ReplicaSet", "cart-7d9c5b8f6d"), "Deployment", "cart", "7d9c5b8f6d"},
		"replica set alone":     {owned("ReplicaSet", "cart"), "ReplicaSet", "cart", ""},
		"another hash":          {owned("ReplicaSet", "cart-5d9c5b8f6d"), "ReplicaSet", "cart-5d9c5b8f6d", ""},
		"cron job":              {owned("Job", "backup-29404800"), "CronJob", "backup", ""},
		"cron job, late":        {owned("Job", "backup-29395000"), "CronJob", "backup", ""},
		"eight days":            {owned("Job", "backup-29393200"), "Job", "backup-29393200", ""},
		"a date":                {owned("Job", "backup-20251128"), "Job", "backup-20251128", ""},
		"digits alone":          {owned("Job", "29404800"), "Job", "29404800", ""},
		"beyond an int":         {owned("Job", "x-99999999999999999999"), "Job", "x-99999999999999999999", ""},
		"job, generated":        {owned("Job", "train-x2x4z"), "Job", "train", ""},
		"job, a word":           {owned("Job", "train-model"), "Job", "train-model", ""},
		"job, four letters":     {owned("Job", "train-x2x4"), "Job", "train-x2x4", ""},
		"suffix alone":          {owned("Job", "-x2x4z"), "Job", "-x2x4z", ""},
		"stateful set":          {owned("StatefulSet", "db-x2x4z"), "StatefulSet", "db-x2x4z", "web-6c9"},
		"daemon set":            {owned("DaemonSet", "log"), "DaemonSet", "log", "web-6c9"},
		"custom controller":     {owned("SparkApplication", "etl-2cdfg"), "SparkApplication", "etl", ""},
		"no controller":         {profile.Meta{Namespace: "n", Name: "one"}, "Pod", "one", ""},
		"generated":             {profile.Meta{Namespace: "n", Name: "one-x", GenerateName: "one-"}, "Pod", "one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, revision, _ := profile.Identify(c.meta)
			want := profile.Workload{Namespace: "n", Kind: c.kind, Name: c.want}
			if got != want || revision != c.revision {
				t.Errorf("%v revision %q, want %v revision %q", got, revision, want, c.revision)
			}
		})
	}
}

// Each line has pods of two runs or revisions of the same thing; other things have other
// identities.
func TestRunsAndRevisionsAreOneWorkload(t *testing.T) {
	created := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	type labels = map[string]string
	of := func(kind, owner, name string, l labels) profile.Meta {
		return profile.Meta{Namespace: "n", Name: name, Created: created, Labels: l, Controller: profile.Owner{Kind: kind, Name: owner}}
	}
	spark := func(app, role string) labels { return labels{"spark-app-name": app, "spark-role": role} }
	for name, c := range map[string]struct {
		a, b   profile.Meta
		unlike profile.Meta
		want   string
	}{
		"argo rollout": {
			of("ReplicaSet", "cart-7d9c5b8f6d", "", labels{"rollouts-pod-template-hash": "7d9c5b8f6d"}),
			of("ReplicaSet", "cart-59cf7c4b8", "", labels{"rollouts-pod-template-hash": "59cf7c4b8"}),
			of("ReplicaSet", "cart-7d9c5b8f6d", "", labels{"pod-template-hash": "7d9c5b8f6d"}), "Rollout/cart",
		},
		"unknown controller of replica sets": {
			of("ReplicaSet", "cart-7d9c5b8f6d", "", labels{"example.com/pod-template-hash": "7d9c5b8f6d"}),
			of("ReplicaSet", "cart-59cf7c4b8", "", labels{"example.com/pod-template-hash": "59cf7c4b8"}),
			of("ReplicaSet", "cart-pay", "", labels{"app": "pay"}), "ReplicaSet/cart",
		},
		"deployment config": {
			of("ReplicationController", "front-3", "", labels{"deploymentconfig": "front", "deployment": "front-3"}),
			of("ReplicationController", "front-4", "", labels{"openshift.io/deployment-config.name": "front"}),
			of("ReplicationController", "front-4", "", labels{"app": "front"}), "DeploymentConfig/front",
		},
		"knative": {
			of("ReplicaSet", "hello-00001-deployment-7d9c5b8f6d", "", labels{"pod-template-hash": "7d9c5b8f6d", "serving.knative.dev/configuration": "hello"}),
			of("ReplicaSet", "hello-00002-deployment-59cf7c4b8", "", labels{"pod-template-hash": "59cf7c4b8", "serving.knative.dev/configuration": "hello"}),
			of("ReplicaSet", "hello-7d9c5b8f6d", "", labels{"pod-template-hash": "7d9c5b8f6d"}), "Configuration/hello",
		},
		"clone set": {
			of("CloneSet", "db-x2x4z", "", labels{"controller-revision-hash": "db-x2x4z-6c9"}),
			of("CloneSet", "db-x2x4z", "", labels{"controller-revision-hash": "db-x2x4z-7c9"}),
			of("CloneSet", "db", "", nil), "CloneSet/db-x2x4z",
		},
		"other sets in place": {
			of("AdvancedSet", "db-x2x4z", "", labels{"controller-revision-hash": "db-x2x4z-6c9"}),
			of("AdvancedSet", "db-x2x4z", "", labels{"controller-revision-hash": "db-x2x4z-7c9"}),
			of("AdvancedSet", "db-h2h4h", "", labels{"controller-revision-hash": "db-h2h4h-7c9"}), "AdvancedSet/db-x2x4z",
		},
		"leader and workers": {
			of("StatefulSet", "llm-0", "", labels{"leaderworkerset.sigs.k8s.io/name": "llm"}),
			of("StatefulSet", "llm-1", "", labels{"leaderworkerset.sigs.k8s.io/name": "llm"}),
			of("StatefulSet", "llm-0", "", nil), "LeaderWorkerSet/llm",
		},
		"argo workflow": {of("Workflow", "etl-x2x4z", "", nil), of("Workflow", "etl-2bcd9", "", nil), of("Workflow", "etl-daily", "", nil), "Workflow/etl"},
		"cron workflow, seconds": {
			of("Workflow", "etl-1795867200", "", nil), of("Workflow", "etl-1795870800", "", nil),
			of("Workflow", "etl-1295867200", "", nil), "Workflow/etl", // of 2011: a number that somebody gave
		},
		"tekton": {
			of("TaskRun", "ci-run-x2x4z-compile", "ci-run-x2x4z-compile-pod", labels{"tekton.dev/pipeline": "ci", "tekton.dev/pipelineRun": "ci-run-x2x4z", "tekton.dev/pipelineTask": "compile"}),
			of("TaskRun", "release-41-compile", "release-41-compile-pod", labels{"tekton.dev/pipeline": "ci", "tekton.dev/pipelineRun": "release-41", "tekton.dev/pipelineTask": "compile"}),
			of("TaskRun", "ci-run-x2x4z-test", "ci-run-x2x4z-test-pod", labels{"tekton.dev/pipeline": "ci", "tekton.dev/pipelineRun": "ci-run-x2x4z", "tekton.dev/pipelineTask": "test"}), "Pipeline/ci.compile",
		},
		"scheduled spark, nanoseconds": {
			of("SparkApplication", "etl-1795867200000000000", "", nil), of("SparkApplication", "etl-1795870800123456789", "", nil),
			of("SparkApplication", "load-1795867200000000000", "", nil), "SparkApplication/etl",
		},
		"spark executors": {
			of("Pod", "pi-3b2d0a7ed57ea90d-driver", "pi-3b2d0a7ed57ea90d-exec-1", nil),
			of("Pod", "pi-4c2d0a7ed57ea90e-driver", "pi-4c2d0a7ed57ea90e-exec-12", nil),
			of("", "", "pi-3b2d0a7ed57ea90d-driver", nil), "Pod/pi-exec",
		},
		"spark, labelled": {
			of("", "", "pi-3b2d0a7ed57ea90d-driver", spark("pi", "driver")), of("", "", "pi-driver", spark("pi", "driver")),
			of("Pod", "pi-driver", "pi-exec-1", spark("pi", "executor")), "Spark/pi.driver",
		},
		"flink task managers": {
			of("Deployment", "etl", "etl-taskmanager-1-1", nil), of("Deployment", "etl", "etl-taskmanager-2-14", nil),
			of("ReplicaSet", "etl-7d9c5b8f6d", "", labels{"pod-template-hash": "7d9c5b8f6d"}), "Pod/etl-taskmanager",
		},
		"ray": {
			of("RayCluster", "train-x2x4z", "", labels{"ray.io/cluster": "train-x2x4z", "ray.io/group": "small"}),
			of("RayCluster", "train-2bcd9", "", labels{"ray.io/cluster": "train-2bcd9", "ray.io/group": "small"}),
			of("RayCluster", "train-2bcd9", "", labels{"ray.io/cluster": "train-2bcd9", "ray.io/group": "headgroup"}), "RayCluster/train.small",
		},
		"job set": {
			of("Job", "train-x2x4z-workers-0", "", labels{"jobset.sigs.k8s.io/jobset-name": "train-x2x4z", "jobset.sigs.k8s.io/replicatedjob-name": "workers"}),
			of("Job", "train-2bcd9-workers-1", "", labels{"jobset.sigs.k8s.io/jobset-name": "train-2bcd9", "jobset.sigs.k8s.io/replicatedjob-name": "workers"}),
			of("Job", "train-x2x4z-driver-0", "", labels{"jobset.sigs.k8s.io/jobset-name": "train-x2x4z", "jobset.sigs.k8s.io/replicatedjob-name": "driver"}), "JobSet/train.workers",
		},
		"airflow": {
			of("", "", "etl-load-3kdj2l1a", labels{"dag_id": "etl", "task_id": "load"}), of("", "", "etl-load-9slq1p0z", labels{"dag_id": "etl", "task_id": "load"}),
			of("", "", "etl-sort-3kdj2l1a", labels{"dag_id": "etl", "task_id": "sort"}), "DAG/etl.load",
		},
		"uuid": {
			of("Job", "eval-0b8f6f8e-1c1d-4c0a-9f55-0d6d3e1f2a3b", "", nil), of("Job", "eval-aa8f6f8e-2c1d-4c0a-9f55-0d6d3e1f2a3b", "", nil),
			of("Job", "test-0b8f6f8e-1c1d-4c0a-9f55-0d6d3e1f2a3b", "", nil), "Job/eval",
		},
		"hash": {
			of("", "", "run-3f2a9c1d0b8e4f5a6b7c8d9e0f1a2b3c", nil), of("", "", "run-4f2a9c1d0b8e4f5a6b7c8d9e0f1a2b3c", nil),
			of("", "", "run-three", nil), "Pod/run",
		},
		"year to second": {of("Job", "dump-20261128113000", "", nil), of("Job", "dump-20261127113000", "", nil), of("Job", "dump-20161128113000", "", nil), "Job/dump"},
		"cut names": {
			of("Job", strings.Repeat("a", 58)+"x2x4z", "", nil), of("Job", strings.Repeat("a", 58)+"2bcd9", "", nil),
			of("Job", strings.Repeat("a", 57)+"x2x4z", "", nil), "Job/" + strings.Repeat("a", 58),
		},
		"argo workflow, letters alone": {of("Workflow", "etl-bcdfg", "", nil), of("Workflow", "etl-x2x4z", "", nil), of("Workflow", "load-bcdfg", "", nil), "Workflow/etl"},
		"keda": {
			of("Job", "mails-bcdfg", "mails-bcdfg-x2x4z", labels{"scaledjob.keda.sh/name": "mails"}), of("Job", "mails-x2x4z", "mails-x2x4z-bcdfg", labels{"scaledjob.keda.sh/name": "mails"}),
			of("Job", "mails-bcdfg", "", nil), "ScaledJob/mails",
		},
		"prefect": {
			of("Job", "mauve-lemur-bcdfg", "", labels{"prefect.io/flow-name": "etl", "prefect.io/deployment-name": "nightly"}),
			of("Job", "bold-heron-x2x4z", "", labels{"prefect.io/flow-name": "etl", "prefect.io/deployment-name": "nightly"}),
			of("Job", "bold-heron-x2x4z", "", labels{"prefect.io/flow-name": "etl"}), "Prefect/etl.nightly",
		},
		"flyte": {
			of("flyteworkflow", "f0ecbec3960ce41188a2", "f0ecbec3960ce41188a2-n0-0", labels{"workflow-name": "etl", "task-name": "load"}),
			of("flyteworkflow", "f7f2026572f57fb57000", "f7f2026572f57fb57000-n0-0", labels{"workflow-name": "etl", "task-name": "load"}),
			of("flyteworkflow", "f7f2026572f57fb57000", "f7f2026572f57fb57000-n1-0", labels{"workflow-name": "etl", "task-name": "sort"}), "flyteworkflow/etl.load",
		},
		"crossplane": {
			of("ReplicaSet", "provider-aws-3f2a9c1d0b8e-7d9c5b8f6d", "", labels{"pod-template-hash": "7d9c5b8f6d", "pkg.crossplane.io/provider": "provider-aws"}),
			of("ReplicaSet", "provider-aws-4c2d0a7ed57e-59cf7c4b8", "", labels{"pod-template-hash": "59cf7c4b8", "pkg.crossplane.io/provider": "provider-aws"}),
			of("ReplicaSet", "provider-aws-59cf7c4b8", "", labels{"pod-template-hash": "59cf7c4b8"}), "Provider/provider-aws",
		},
		"argo cd hook": {
			of("Job", "upgrade-sql-schema4773b9f-presync-1795867200", "", nil), of("Job", "upgrade-sql-schema8088f4c-presync-1795870800", "", nil),
			of("Job", "upgrade-sql-schema4773b9f-presync-1295867200", "", nil), "Job/upgrade-sql-schema", // of 2011
		},
		"argo cd hook, with a dash": {
			of("Job", "db-migrate-abc1234-postsync-1795867200", "", nil), of("Job", "db-migrate-77f0e12-postsync-1795867300", "", nil),
			of("Job", "db-migrate-abc1234", "", nil), "Job/db-migrate",
		},
		"airflow jobs": {
			of("Job", "job-load-3kdj2l1a", "", labels{"dag_id": "etl", "task_id": "load"}), of("Job", "job-load-9slq1p0z", "", labels{"dag_id": "etl", "task_id": "load"}),
			of("Job", "job-load-9slq1p0z", "", nil), "DAG/etl.load",
		},
		"metaflow": {
			of("Job", "t-3f2a9c1d-x2x4z", "", labels{"metaflow/flow_name": "Fit", "metaflow/step_name": "train"}),
			of("Job", "t-4c2d0a7e-bcdfg", "", labels{"metaflow/flow_name": "Fit", "metaflow/step_name": "train"}),
			of("Job", "t-3f2a9c1d-x2x4z", "", labels{"metaflow/flow_name": "Fit", "metaflow/step_name": "end"}), "Metaflow/Fit.train",
		},
		"spinnaker": {
			of("ReplicaSet", "cart-v003", "", labels{"artifact.spinnaker.io/version": "v003"}), of("ReplicaSet", "cart-v004", "", labels{"artifact.spinnaker.io/version": "v004"}),
			of("ReplicaSet", "cart-v003", "", nil), "ReplicaSet/cart",
		},
		"mpi launcher": {
			of("Job", "pi-x2x4z-launcher", "", labels{"training.kubeflow.org/job-name": "pi-x2x4z", "training.kubeflow.org/job-role": "launcher"}),
			of("Job", "pi-2bcd9-launcher", "", labels{"training.kubeflow.org/job-name": "pi-2bcd9", "training.kubeflow.org/job-role": "launcher"}),
			of("MPIJob", "pi-2bcd9", "", labels{"training.kubeflow.org/job-name": "pi-2bcd9", "training.kubeflow.org/job-role": "worker"}), "MPIJob/pi.launcher",
		},
		"tekton, a pipeline within its run": {
			of("TaskRun", "ci-x2x4z-compile", "", labels{"tekton.dev/pipeline": "ci-x2x4z", "tekton.dev/pipelineRun": "ci-x2x4z", "tekton.dev/pipelineTask": "compile"}),
			of("TaskRun", "ci-bcdfg-compile", "", labels{"tekton.dev/pipeline": "ci-bcdfg", "tekton.dev/pipelineRun": "ci-bcdfg", "tekton.dev/pipelineTask": "compile"}),
			of("TaskRun", "ci-x2x4z-test", "", labels{"tekton.dev/pipeline": "ci-x2x4z", "tekton.dev/pipelineRun": "ci-x2x4z", "tekton.dev/pipelineTask": "test"}), "Pipeline/ci.compile",
		},
		"tekton, a pipeline that ends like a run": {
			of("TaskRun", "build-https-r7kqz-compile", "", labels{"tekton.dev/pipeline": "build-https", "tekton.dev/pipelineRun": "build-https-r7kqz", "tekton.dev/pipelineTask": "compile"}),
			of("TaskRun", "build-https-2bcd9-compile", "", labels{"tekton.dev/pipeline": "build-https", "tekton.dev/pipelineRun": "build-https-2bcd9", "tekton.dev/pipelineTask": "compile"}),
			of("TaskRun", "build-pgsql-2bcd9-compile", "", labels{"tekton.dev/pipeline": "build-pgsql", "tekton.dev/pipelineRun": "build-pgsql-2bcd9", "tekton.dev/pipelineTask": "compile"}), "Pipeline/build-https.compile",
		},
		"kestra": {
			of("", "", "company-etl-load-6bdf", labels{"kestra.io/namespace": "company.team", "kestra.io/flow-id": "etl", "kestra.io/task-id": "load", "kestra.io/execution-id": "6bdf"}),
			of("", "", "company-etl-load-7cef", labels{"kestra.io/namespace": "company.team", "kestra.io/flow-id": "etl", "kestra.io/task-id": "load", "kestra.io/execution-id": "7cef"}),
			of("", "", "company-etl-sort-7cef", labels{"kestra.io/namespace": "company.team", "kestra.io/flow-id": "etl", "kestra.io/task-id": "sort"}), "Kestra/company.team.etl.load",
		},
		"openkruise, an advanced cron job": {
			of("BroadcastJob", "sync-1795867200", "", nil), of("BroadcastJob", "sync-1795870800", "", nil),
			of("BroadcastJob", "load-1795867200", "", nil), "BroadcastJob/sync",
		},
		"openkruise, an advanced stateful set": { // of the kind of the same name
			of("StatefulSet", "db-x2x4z", "db-x2x4z-0", labels{"controller-revision-hash": "db-x2x4z-6c9"}), of("StatefulSet", "db-x2x4z", "db-x2x4z-1", labels{"controller-revision-hash": "db-x2x4z-7c9"}),
			of("StatefulSet", "db", "db-0", nil), "StatefulSet/db-x2x4z",
		},
		"agones": {
			of("GameServer", "fps-x2x4z-2bcd9", "", labels{"agones.dev/fleet": "fps", "agones.dev/gameserverset": "fps-x2x4z"}),
			of("GameServer", "fps-h2h4h-7bcd9", "", labels{"agones.dev/fleet": "fps", "agones.dev/gameserverset": "fps-h2h4h"}),
			of("GameServer", "fps-x2x4z-2bcd9", "", nil), "Fleet/fps",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, _, _ := profile.Identify(c.a)
			b, _, _ := profile.Identify(c.b)
			other, _, _ := profile.Identify(c.unlike)
			if a != b || a.Kind+"/"+a.Name != c.want || other == a {
				t.Errorf("%v and %v, want both n/%s; what is unlike is %v", a, b, c.want, other)
			}
		})
	}
}

// A pod does not show that its owner's name was generated: people's names stay, but runs of one job
// are one workload.
func TestNamesThatPeopleGiveStay(t *testing.T) {
	of := func(kind, owner string, labels ...string) profile.Meta {
		m := profile.Meta{Namespace: "n", Name: "pod", Labels: map[string]string{}, Controller: profile.Owner{Kind: kind, Name: owner}}
		for i := 0; i < len(labels); i += 2 {
			m.Labels[labels[i]] = labels[i+1]
		}
		return m
	}
	for want, m := range map[string]profile.Meta{
		"Job/backup-https":            of("Job", "backup-https"),
		"Job/backup-pgsql":            of("Job", "backup-pgsql"),
		"Job/build-27458":             of("Job", "build-27458"),
		"Job/nightly":                 of("Job", "nightly-bcdfg"), // a fourth of the generated ones have no digit
		"Pod/etl":                     {Namespace: "n", Name: "etl-zzxwv"},
		"Cluster/shop-pgsql":          of("Cluster", "shop-pgsql"), // of CloudNativePG
		"StrimziPodSet/log-kafka":     of("StrimziPodSet", "log-kafka"),
		"Pod/cache-https":             {Namespace: "n", Name: "cache-https"},
		"Pod/cache-pgsql":             {Namespace: "n", Name: "cache-pgsql-x2x4z", GenerateName: "cache-pgsql-"},
		"Pod/cache-tcprx":             {Namespace: "n", Name: "cache-tcprx-x2x4z", GenerateName: "cache-tcprx-"}, // it shows what was
		"Configuration/api-x2x4z":     of("ReplicaSet", "api-x2x4z-00001-deployment-7d9c5b8f6d", "serving.knative.dev/configuration", "api-x2x4z"),
		"DeploymentConfig/api-https":  of("ReplicationController", "api-https-3", "openshift.io/deployment-config.name", "api-https"),
		"ScaledJob/mails-20260101":    of("Job", "mails-20260101-x2x4z", "scaledjob.keda.sh/name", "mails-20260101"),
		"LeaderWorkerSet/llm-7b2d9c4": of("StatefulSet", "llm-7b2d9c4-0", "leaderworkerset.sigs.k8s.io/name", "llm-7b2d9c4"),
	} {
		if w, _, _ := profile.Identify(m); w.Kind+"/"+w.Name != want {
			t.Errorf("%v, want %s", w, want)
		}
	}
}

func TestRevisionsOfRollouts(t *testing.T) {
	_, revision, _ := profile.Identify(profile.Meta{
		Namespace: "n", Labels: map[string]string{"rollouts-pod-template-hash": "7d9c5b8f6d"},
		Controller: profile.Owner{Kind: "ReplicaSet", Name: "cart-7d9c5b8f6d"},
	})
	if revision != "7d9c5b8f6d" {
		t.Errorf("revision %q, want that of the label", revision)
	}
}

// A label alone identifies nothing, because any author of pods may write it.
func TestLabelsWithoutTheirControllerNameNothing(t *testing.T) {
	for _, labels := range []map[string]string{
		{"rollouts-pod-template-hash": "7d9c5b8f6d"}, {"serving.knative.dev/configuration": "cart"}, {"openshift.io/deployment-config.name": "cart"},
	} {
		w, _, _ := profile.Identify(profile.Meta{Namespace: "n", Name: "mine", Labels: labels})
		if w != (profile.Workload{Namespace: "n", Kind: "Pod", Name: "mine"}) {
			t.Errorf("%v make a pod %v", labels, w)
		}
	}
}

func TestStaticPodsAreOneWorkloadOnAllNodes(t *testing.T) {
	static := func(name, node string) profile.Meta {
		return profile.Meta{Namespace: "kube-system", Name: name, Node: node, Annotations: map[string]string{"kubernetes.io/config.mirror": "0123456789abcdef0123456789abcdef"}}
	}
	owned := static("etcd-cp-2", "")
	owned.Annotations, owned.Controller = nil, profile.Owner{Kind: "Node", Name: "cp-2"}
	for name, c := range map[string]struct {
		meta profile.Meta
		want string
	}{
		"first node":         {static("etcd-cp-1", "cp-1"), "etcd"},
		"by its owner":       {owned, "etcd"},
		"another":            {static("kube-proxy-cp-1", "cp-1"), "kube-proxy"},
		"a node in capitals": {static("etcd-cp-1", "CP-1"), "etcd"},
		"a node with dots":   {static("kube-proxy-ip-10-0-0-1.eu-west-1.compute.internal", "ip-10-0-0-1.eu-west-1.compute.internal"), "kube-proxy"},
		"a long node":        {static("etcd-"+strings.Repeat("n", 63)+".a.b", strings.Repeat("n", 63)+".a.b"), "etcd"},
	} {
		if w, _, _ := profile.Identify(c.meta); w != (profile.Workload{Namespace: "kube-system", Kind: "StaticPod", Name: c.want}) {
			t.Errorf("%s: %v, want StaticPod/%s", name, w, c.want)
		}
	}
}

func TestIdentifyTemplate(t *testing.T) {
	base := func() []profile.Container {
		return []profile.Container{
			{Name: "app", Image: "shop/cart:1@sha256:aa", Command: []string{"run", "fast"},
				Requests: map[string]string{"cpu": "1", "memory": "1Gi"}, Limits: map[string]string{"cpu": "2"}},
			{Name: "side", Image: "mesh:2"},
		}
	}
	hash := func(c []profile.Container) uint64 {
		_, _, template := profile.Identify(profile.Meta{Name: "any", Containers: c})
		return template
	}
	want := hash(base())
	same := map[string]func([]profile.Container){
		"order":  func(c []profile.Container) { c[0], c[1] = c[1], c[0] },
		"digest": func(c []profile.Container) { c[0].Image = "shop/cart:1@sha256:bb" },
	}
	for name, change := range same {
		c := base()
		change(c)
		before := append([]profile.Container(nil), c...)
		if hash(c) != want {
			t.Errorf("%s changes the template", name)
		}
		if d := cmp.Diff(before, c); d != "" {
			t.Errorf("the input was modified:\n%s", d)
		}
	}
	for name, change := range map[string]func([]profile.Container){
		"name":    func(c []profile.Container) { c[0].Name = "app2" },
		"tag":     func(c []profile.Container) { c[0].Image = "shop/cart:2@sha256:aa" },
		"command": func(c []profile.Container) { c[0].Command = []string{"runf", "ast"} },
		"request": func(c []profile.Container) { c[0].Requests["cpu"] = "3" },
		"limit":   func(c []profile.Container) { c[0].Limits, c[0].Requests = c[0].Requests, c[0].Limits },
	} {
		c := base()
		change(c)
		if hash(c) == want {
			t.Errorf("%s does not change the template", name)
		}
	}
}

func FuzzIdentify(f *testing.F) {
	f.Add("Job", "backup-29404800", "", "", int64(1764288000))
	f.Add("ReplicaSet", "a-b", "b", "", int64(0))
	f.Add("", "", "", "/", int64(-1))
	f.Fuzz(func(t *testing.T, kind, owner, hash, annotation string, created int64) {
		m := profile.Meta{
			Namespace: "n", Name: "pod", Labels: map[string]string{"pod-template-hash": hash},
			Annotations: map[string]string{profile.WorkloadAnnotation: annotation},
			Controller:  profile.Owner{Kind: kind, Name: owner}, Created: time.Unix(created, 0),
		}
		w, revision, template := profile.Identify(m)
		again, r, h := profile.Identify(m)
		if w != again || r != revision || h != template {
			t.Fatal("two answers")
		}
		if w.Namespace != "n" || w.Kind == "" || w.Name == "" && owner != "" {
			t.Fatalf("%+v is %+v", m, w)
		}
	})
}
