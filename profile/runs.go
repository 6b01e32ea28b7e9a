package profile

import (
	"math"
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
	// revision is the label or annotation that has it.
	revision string
}

// engines by their documentation. Where a name's first part is that of a run, it is
// taken without what differs from run to run.
var engines = []engine{
	{"ReplicaSet", "Configuration", []string{"serving.knative.dev/configuration"}, "serving.knative.dev/revision"},
	{"ReplicaSet", "DaskWorkerGroup", []string{"dask.org/workergroup-name"}, ""},
	{"ReplicationController", "DeploymentConfig", []string{"openshift.io/deployment-config.name"}, "openshift.io/deployment-config.latest-version"},
	{"ReplicationController", "DeploymentConfig", []string{"deploymentconfig"}, "deployment"},
	{"Build", "BuildConfig", []string{"openshift.io/build-config.name"}, ""},
	{"StatefulSet", "LeaderWorkerSet", []string{"leaderworkerset.sigs.k8s.io/name"}, "leaderworkerset.sigs.k8s.io/template-revision-hash"},
	{"GameServer", "Fleet", []string{"agones.dev/fleet"}, "agones.dev/gameserverset"},
	{"EphemeralRunner", "AutoscalingRunnerSet", []string{"actions.github.com/scale-set-name"}, ""},
	{"Runner", "RunnerDeployment", []string{"runner-deployment-name"}, ""},
	{"TaskRun", "Pipeline", []string{"tekton.dev/pipeline", "tekton.dev/pipelineTask"}, ""},
	{"TaskRun", "Task", []string{"tekton.dev/task"}, ""},
	{"RayCluster", "", []string{"ray.io/cluster", "ray.io/group"}, ""},
	{"Job", "JobSet", []string{"jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/replicatedjob-name"}, ""},
	{"Job", "", []string{"volcano.sh/job-name", "volcano.sh/task-spec"}, ""},
	{"Job", "Dagster", []string{"dagster/job", "dagster/op"}, ""},
	{"Job", "Dagster", []string{"dagster/job"}, ""},
	{"TFJob", "", []string{"training.kubeflow.org/job-name", "training.kubeflow.org/replica-type"}, ""},
	{"PyTorchJob", "", []string{"training.kubeflow.org/job-name", "training.kubeflow.org/replica-type"}, ""},
	{"MPIJob", "", []string{"training.kubeflow.org/job-name", "training.kubeflow.org/replica-type"}, ""},
	{"SparkApplication", "", []string{"sparkoperator.k8s.io/app-name", "spark-role"}, ""},
	{"Pod", "SparkApplication", []string{"sparkoperator.k8s.io/app-name", "spark-role"}, ""},
	{"Pod", "Spark", []string{"spark-app-name", "spark-role"}, ""},
	{"", "Spark", []string{"spark-app-name", "spark-role"}, ""},
	{"", "DAG", []string{"dag_id", "task_id"}, ""},
	{"", "GitLab", []string{"project.runner.gitlab.com/id", "job.runner.gitlab.com/name"}, ""},
	{"", "Nextflow", []string{"nextflow.io/processName"}, ""},
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
		if i == 0 {
			name = withoutRun(part, m.Created)
		} else {
			name += "." + part
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

// withoutRun takes off a name what differs from run to run: the generated suffix, and
// wherever it stands after the beginning a UUID, a long random part, or a time in
// seconds to nanoseconds since 1970, or as year to second, near to the creation.
func withoutRun(name string, created time.Time) string {
	if n := len(name) - suffixLength; n == generatedBase && allIn(name[n:], suffixLetters) {
		name = strings.TrimSuffix(name[:n], "-")
	} else if n > 1 && name[n-1] == '-' && allIn(name[n:], suffixLetters) {
		name = name[:n-1]
	}
	parts := strings.Split(name, "-")
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

// isTime tells whether digits are the time since 1970 in a unit, near to the creation.
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
	return len(part) >= randomLength && (allIn(part, hex) || allIn(part, suffixLetters)) &&
		strings.ContainsAny(part, digits) && strings.Trim(part, digits) != ""
}

// allIn reports whether a text, which is not empty, is of these letters alone.
func allIn(text, letters string) bool {
	return text != "" && strings.Trim(text, letters) == ""
}
