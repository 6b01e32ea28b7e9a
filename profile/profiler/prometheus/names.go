package prometheus

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spazio-scheduler/spazio/profile"
)

// A shape is a name in which these bytes, which no name has, stand for any letter of
// those that Kubernetes makes suffixes of (k8s.io/apimachinery/pkg/util/rand), and for
// any digit.
const (
	letter = "\x01"
	digit  = "\x02"
)

// suffix is what is generated, and base how much of a name the API server keeps before
// it: 63 bytes are a name's most. What is longer loses its end, the last dash, hash or
// index with it.
const (
	suffix = letter + letter + letter + letter + letter
	base   = 63 - len(suffix)
)

// generated is the shape of a name generated from another.
func generated(from string) string { return from[:min(len(from), base)] + suffix }

// podNames is a regular expression of the names that a workload's controller gives to
// its pods, empty if nothing shows which they are.
func podNames(of profile.Workload) string {
	name := of.Name
	switch of.Kind {
	case "Deployment", "Rollout":
		return anyOf(replicas(name))
	case "Configuration": // of Knative, a Deployment a revision
		return anyOf(replicas(name + "-" + strings.Repeat(digit, 5) + "-deployment"))
	case "DeploymentConfig":
		return anyOf(each(1, 6, func(n int) string { return generated(name + "-" + strings.Repeat(digit, n) + "-") }))
	case "ReplicaSet", "ReplicationController", "DaemonSet":
		return anyOf([]string{generated(name + "-")})
	case "CloneSet":
		return anyOf([]string{name + "-" + suffix})
	case "StatefulSet":
		return regexp.QuoteMeta(name) + "-[0-9]+"
	case "LeaderWorkerSet": // a leader and its workers
		return regexp.QuoteMeta(name) + "-[0-9]+(-[0-9]+)?"
	case "BuildConfig":
		return regexp.QuoteMeta(name) + "-[0-9]+-build"
	case "AutoscalingRunnerSet":
		return anyOf([]string{name + "-" + suffix + "-runner-" + suffix})
	case "Workflow": // of Argo, by run, template and hash
		return regexp.QuoteMeta(name) + "|(" + expression(generated(name+"-")) + "|" + regexp.QuoteMeta(name) + "-[0-9]{10})((-.+)?-[0-9]{1,10})?"
	case "AnalysisRun": // of Argo Rollouts: Jobs named by the run's UID, the metric and the measurement
		uid := strings.Repeat(digit, 36)
		var all []string
		for n := 1; n <= 3; n++ {
			all = append(all, strings.TrimPrefix(generated(uid+"."+name+"."+strings.Repeat(digit, n)+"-"), uid))
		}
		return "[0-9a-f-]{36}(" + anyOf(all) + ")"
	case "CronJob":
		var all []string
		for minutes := 8; minutes <= 10; minutes++ {
			all = append(all, jobPods(name+"-"+strings.Repeat(digit, minutes))...)
		}
		return anyOf(all)
	case "Job":
		// Its own name may end in what is no part of the workload's.
		return anyOf(append(jobPods(name), jobPods(generated(name+"-"))...)) + "|" + regexp.QuoteMeta(name) + "-[0-9a-f-]{8,36}-?" + expression(suffix) +
			"|" + regexp.QuoteMeta(name) + "-?[0-9a-f]{7}-[a-z]+-[0-9]{10}-" + expression(suffix) // a hook of Argo CD
	case "Pod":
		if app, ok := strings.CutSuffix(name, "-exec"); ok { // of Spark
			return regexp.QuoteMeta(app) + "(-[0-9a-f]{16})?-exec-[0-9]+|" + regexp.QuoteMeta(name)
		}
		if strings.HasSuffix(name, "-taskmanager") { // of Flink
			return regexp.QuoteMeta(name) + "(-[0-9]+-[0-9]+)?"
		}
		return anyOf([]string{name, generated(name), generated(name + "-")}) + "|" + regexp.QuoteMeta(name) + "-[0-9a-f-]{8,36}"
	case "Workload", "StaticPod":
		return ""
	}
	if strings.Contains(name, ".") { // of the values of labels
		return ""
	}
	return anyOf([]string{generated(name + "-"), generated(generated(name+"-") + "-")})
}

// replicas are those of a Deployment's ReplicaSets, whose names end in a hash of one to ten
// letters.
func replicas(name string) []string {
	return each(1, 10, func(n int) string { return generated(name + "-" + strings.Repeat(letter, n) + "-") })
}

// jobPods are a Job's, and those of an indexed one: of a long name the controller keeps the
// index.
func jobPods(job string) []string {
	return append(each(1, 6, func(n int) string {
		index := "-" + strings.Repeat(digit, n) + "-"
		return generated(job[:min(len(job), base-len(index))] + index)
	}), generated(job+"-"))
}

func each(from, to int, shape func(n int) string) (all []string) {
	for n := from; n <= to; n++ {
		all = append(all, shape(n))
	}
	return all
}

// anyOf is a regular expression of several shapes.
func anyOf(shapes []string) string {
	slices.Sort(shapes)
	shapes = slices.Compact(shapes)
	for i := range shapes {
		shapes[i] = expression(shapes[i])
	}
	return strings.Join(shapes, "|")
}

// expression is a shape as a regular expression.
func expression(shape string) string {
	var made strings.Builder
	for len(shape) > 0 {
		one := shape[:1]
		rest := strings.TrimLeft(shape, one)
		n := len(shape) - len(rest)
		switch one {
		case letter:
			made.WriteString("[bcdfghjklmnpqrstvwxz2456789]{" + strconv.Itoa(n) + "}")
		case digit:
			made.WriteString("[0-9]{" + strconv.Itoa(n) + "}")
		default:
			n = len(shape) - len(strings.TrimLeftFunc(shape, func(r rune) bool { return string(r) != letter && string(r) != digit }))
			made.WriteString(regexp.QuoteMeta(shape[:n]))
		}
		shape = shape[n:]
	}
	return made.String()
}
