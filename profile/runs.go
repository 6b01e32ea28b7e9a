package profile

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// engine is a controller that makes pods, or the objects that own them, anew for each
// run or revision, and labels the pods with what they are of.
type engine struct {
	// owner is the kind of the pods' controller, empty for none.
	owner string
	// kind is the workload's; empty means the controller's.
	kind string
	// labels, or annotations, whose values make the name, all of which must be there.
	labels []string
	// run: the first label's value is the name of a run, else of what lasts.
	run bool
	// revision is the label or annotation that has it.
	revision string
}

// engines by their documentation.
var engines = []engine{
	{"ReplicaSet", "Configuration", []string{"serving.knative.dev/configuration"}, false, "serving.knative.dev/revision"},
	{"ReplicaSet", "DaskWorkerGroup", []string{"dask.org/workergroup-name"}, true, ""},
	{"ReplicationController", "DeploymentConfig", []string{"openshift.io/deployment-config.name"}, false, "openshift.io/deployment-config.latest-version"},
	{"ReplicationController", "DeploymentConfig", []string{"deploymentconfig"}, false, "deployment"},
	{"Build", "BuildConfig", []string{"openshift.io/build-config.name"}, false, ""},
	{"ReplicaSet", "Provider", []string{"pkg.crossplane.io/provider"}, false, "pkg.crossplane.io/revision"},
	{"ReplicaSet", "Function", []string{"pkg.crossplane.io/function"}, false, "pkg.crossplane.io/revision"},
	{"StatefulSet", "LeaderWorkerSet", []string{"leaderworkerset.sigs.k8s.io/name"}, false, "leaderworkerset.sigs.k8s.io/template-revision-hash"},
	{"GameServer", "Fleet", []string{"agones.dev/fleet"}, false, "agones.dev/gameserverset"},
	{"EphemeralRunner", "AutoscalingRunnerSet", []string{"actions.github.com/scale-set-name"}, false, ""},
	{"Runner", "RunnerDeployment", []string{"runner-deployment-name"}, false, ""},
	{"TaskRun", "Task", []string{"tekton.dev/task"}, false, ""},
	{"RayCluster", "", []string{"ray.io/cluster", "ray.io/group"}, true, ""},
	{"Job", "JobSet", []string{"jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/replicatedjob-name"}, true, ""},
	{"Job", "", []string{"volcano.sh/job-name", "volcano.sh/task-spec"}, true, ""},
	{"Job", "DAG", []string{"dag_id", "task_id"}, false, ""},
	{"SparkApplication", "DAG", []string{"dag_id", "task_id", "spark-role"}, false, ""},
	{"Pod", "DAG", []string{"dag_id", "task_id", "spark-role"}, false, ""},
	{"Job", "Metaflow", []string{"metaflow/flow_name", "metaflow/step_name"}, false, ""},
	{"Job", "Dagster", []string{"dagster/job", "dagster/op"}, false, ""},
	{"Job", "Dagster", []string{"dagster/job"}, false, ""},
	{"Job", "ScaledJob", []string{"scaledjob.keda.sh/name"}, false, ""},
	{"Job", "Prefect", []string{"prefect.io/flow-name", "prefect.io/deployment-name"}, false, ""},
	{"Job", "Prefect", []string{"prefect.io/flow-name"}, false, ""},
	{"TFJob", "", []string{"training.kubeflow.org/job-name", "training.kubeflow.org/replica-type"}, true, ""},
	{"PyTorchJob", "", []string{"training.kubeflow.org/job-name", "training.kubeflow.org/replica-type"}, true, ""},
	{"XGBoostJob", "", []string{"training.kubeflow.org/job-name", "training.kubeflow.org/replica-type"}, true, ""},
	{"PaddleJob", "", []string{"training.kubeflow.org/job-name", "training.kubeflow.org/replica-type"}, true, ""},
	{"JAXJob", "", []string{"training.kubeflow.org/job-name", "training.kubeflow.org/replica-type"}, true, ""},
	{"MPIJob", "", []string{"training.kubeflow.org/job-name", "training.kubeflow.org/replica-type"}, true, ""},
	{"MPIJob", "", []string{"training.kubeflow.org/job-name", "training.kubeflow.org/job-role"}, true, ""},
	{"Job", "MPIJob", []string{"training.kubeflow.org/job-name", "training.kubeflow.org/job-role"}, true, ""},
	{"SparkApplication", "", []string{"sparkoperator.k8s.io/app-name", "spark-role"}, true, ""},
	{"Pod", "SparkApplication", []string{"sparkoperator.k8s.io/app-name", "spark-role"}, true, ""},
	{"Pod", "Spark", []string{"spark-app-name", "spark-role"}, true, ""},
	{"", "Spark", []string{"spark-app-name", "spark-role"}, true, ""},
	{"flyteworkflow", "", []string{"workflow-name", "task-name"}, false, ""},
	{"flyteworkflow", "", []string{"workflow-name", "node-id"}, false, ""},
	{"", "DAG", []string{"dag_id", "task_id"}, false, ""},
	{"", "Kestra", []string{"kestra.io/namespace", "kestra.io/flow-id", "kestra.io/task-id"}, false, ""},
	{"Job", "Kestra", []string{"kestra.io/namespace", "kestra.io/flow-id", "kestra.io/task-id"}, false, ""},
	{"", "GitLab", []string{"project.runner.gitlab.com/id", "job.runner.gitlab.com/name"}, false, ""},
	{"", "Nextflow", []string{"nextflow.io/processName"}, false, ""},
}

// name is the workload by the labels, ok if the pod has them all.
func (e *engine) name(m *Meta) (kind, name, revision string, ok bool) {
	if m.Controller.Kind != e.owner {
		return "", "", "", false
	}
	for i, key := range e.labels {
		part := m.said(key)
		if part == "" {
			return "", "", "", false
		}
		switch {
		case i > 0:
			name += "." + part
		case e.run:
			name = withoutRun(part, m.Controller.Kind, m.Created)
		default:
			name = part
		}
	}
	if kind = e.kind; kind == "" {
		kind = m.Controller.Kind
	}
	if e.revision != "" {
		revision = m.said(e.revision)
	}
	return kind, name, revision, true
}

// said is the value of a label, else of an annotation.
func (m *Meta) said(key string) string {
	if value := m.Labels[key]; value != "" {
		return value
	}
	return m.Annotations[key]
}

// suffixLetters are what Kubernetes generates names from
// (k8s.io/apimachinery/pkg/util/rand), suffixLength how many; of the longest names it
// keeps generatedBase bytes before them, be the dash among them or not.
const (
	suffixLetters = "bcdfghjklmnpqrstvwxz2456789"
	suffixLength  = 5
	generatedBase = 58
	digits        = "0123456789"
)

// generatingKinds are of objects whose names are generated by what makes them.
var generatingKinds = []string{"Workflow", "TaskRun", "RayCluster", "GameServer", "EphemeralRunner", "Runner"}

// writtenWords could be generated suffixes, and are words that people end names with.
var writtenWords = []string{"cntrl", "grpcs", "https", "httpx", "mgmnt", "mssql", "pgsql", "plsql", "rtmps", "smtps", "sqldb", "srvcs", "wrkrs", "xhtml"}

// withoutRun takes off a name what differs from run to run: the generated suffix, and
// wherever it stands after the beginning a UUID, a long random part, or a time in
// seconds to nanoseconds since 1970, or as year to second, near to the creation.
func withoutRun(name, kind string, created time.Time) string {
	if n := len(name) - suffixLength; n > 1 && allIn(name[n:], suffixLetters) {
		switch {
		case n == generatedBase:
			name = strings.TrimSuffix(name[:n], "-")
		case name[n-1] == '-' && isGenerated(name[n:], kind):
			name = name[:n-1]
		}
	}
	parts := strings.Split(withoutSync(name, created), "-")
	if parts[0] == "" {
		return name
	}
	kept := parts[:1]
	for rest := parts[1:]; len(rest) > 0; {
		if n := runParts(rest, created); n > 0 {
			rest = rest[n:]
			continue
		}
		kept, rest = append(kept, rest[0]), rest[1:]
	}
	return strings.Join(kept, "-")
}

// syncPhases and revisionDigits are of what Argo CD appends to what a hook's name is to be
// generated from: the beginning of a commit, the phase and the second of the sync.
var syncPhases = []string{"presync", "sync", "postsync", "syncfail"}

const revisionDigits = 7

// withoutSync takes off a hook's name what Argo CD appended.
func withoutSync(name string, created time.Time) string {
	parts := strings.Split(name, "-")
	n := len(parts) - 2
	if n < 1 || !slices.Contains(syncPhases, parts[n]) || !isTime(parts[n+1], created, time.Second) {
		return name
	}
	name = strings.Join(parts[:n], "-")
	if n := len(name) - revisionDigits; n > 0 && allIn(name[n:], hex) {
		return strings.TrimSuffix(name[:n], "-")
	}
	return name
}

// uuidParts are the lengths of a UUID's.
var uuidParts = [...]int{8, 4, 4, 4, 12}

// runParts is how many of a name's next parts are of one run.
func runParts(parts []string, created time.Time) int {
	if isUUID(parts) {
		return len(uuidParts)
	}
	part := parts[0]
	if random(part) {
		return 1
	}
	if !allIn(part, digits) {
		return 0
	}
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
		if isTime(part, created, unit) {
			return 1
		}
	}
	for _, layout := range []string{"200601021504", "20060102150405"} {
		if at, err := time.Parse(layout, part); err == nil && created.Sub(at).Abs() <= scheduleReach {
			return 1
		}
	}
	return 0
}

func isUUID(parts []string) bool {
	if len(parts) < len(uuidParts) {
		return false
	}
	for i, length := range uuidParts {
		if len(parts[i]) != length || !allIn(parts[i], hex) {
			return false
		}
	}
	return true
}

const hex = digits + "abcdef"

// isTime reports whether digits are the time since 1970 in a unit, near to the creation.
func isTime(text string, created time.Time, unit time.Duration) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > math.MaxInt64/int64(unit) {
		return false
	}
	return created.Sub(time.Unix(0, n*int64(unit))).Abs() <= scheduleReach
}

// randomLength is from what length on a part is taken to be random, if it is of
// hexadecimal digits or suffixLetters, with a letter and a digit: no word, no number.
const randomLength = 8

func random(part string) bool {
	return len(part) >= randomLength && (allIn(part, hex) || allIn(part, suffixLetters)) && mixed(part)
}

// isGenerated reports whether a suffix of the generated letters is taken for one. A pod
// does not show that its owner's name was generated. A program makes most jobs and pods, and a
// run that is taken for a workload of its own is one more with every run; other objects bear
// names that people give, where a suffix needs a letter and a digit, as three of four have.
func isGenerated(suffix, kind string) bool {
	switch {
	case mixed(suffix) || slices.Contains(generatingKinds, kind):
		return true
	case kind == "" || kind == "Job":
		return strings.Trim(suffix, digits) != "" && !slices.Contains(writtenWords, suffix)
	}
	return false
}

// mixed reports whether a text has a digit and something else.
func mixed(text string) bool {
	return strings.ContainsAny(text, digits) && strings.Trim(text, digits) != ""
}

// allIn reports whether a text, which is not empty, is of these letters alone.
func allIn(text, letters string) bool {
	return text != "" && strings.Trim(text, letters) == ""
}
