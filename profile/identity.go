package profile

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WorkloadAnnotation names a pod's workload, as kind/name or as a name alone,
// whatever owns the pod.
const WorkloadAnnotation = "spazio-scheduler.github.io/workload"

// Meta is what a pod's object says of its identity. It is a plain value, safe for
// concurrent reading.
type Meta struct {
	Namespace, Name, GenerateName string
	Labels, Annotations           map[string]string
	// Controller is the owner reference with controller: true; the zero value is
	// none.
	Controller Owner
	// Node is the one that the pod is bound to; it matters for static pods alone.
	Node       string
	Created    time.Time
	Containers []Container
}

// Owner is an owner reference. It is a plain value, safe for concurrent reading.
type Owner struct{ Kind, Name string }

// Container is what a pod's specification says of a container; quantities are
// written as they are there. It is a plain value, safe for concurrent reading.
type Container struct {
	Name, Image      string
	Command          []string // command and arguments
	Requests, Limits map[string]string
}

// Workload is what pods are alike by. It is a plain value, safe for concurrent
// use.
type Workload struct{ Namespace, Kind, Name string }

// String is namespace/kind/name.
func (w Workload) String() string { return w.Namespace + "/" + w.Kind + "/" + w.Name }

// Identify finds the workload that a pod belongs to, the revision of it, empty
// where there is none, and a hash of its template, which jobs share that have a
// new name in each run. It is the only rule of identity, within a namespace: who
// may make pods there may give them any identity of it. The first of these applies:
//
//  1. the annotation WorkloadAnnotation
//  2. a static pod: StaticPod and its name without the node's, alike on all nodes
//  3. a controller whose kind makes pods anew for each run or revision and that
//     labels them with what they are of: the labels' values (see engines, and pipeline)
//  4. a ReplicaSet named PREFIX-HASH, HASH the value of a label: Deployment/PREFIX,
//     Rollout/PREFIX by the label rollouts-pod-template-hash, revision HASH; of Spinnaker
//     its version
//  5. a Job named X-DIGITS, the minute of the schedule, within 7 days of the pod's
//     creation: CronJob/X
//  6. a controller whose name stays (inPlaceKinds, lastingKinds, and those with which
//     the label controller-revision-hash begins): its kind and name, revision that label
//  7. another controller: its kind and its name without what differs from run to run
//     (withoutRun)
//  8. no controller, or a pod or Deployment that makes pods itself: Pod, with what
//     the name is generated from, else the name, without what differs
//
// A run that is named by hand (by a date or a build number) is a workload of its own. Two
// jobs or pods that end in five consonants or digits alone (use-ppc64, use-cntrs) are one
// workload, unless they end in a common word (backup-https). Of other objects a fourth of
// the generated suffixes, which have no digit, are not recognised. All pods of one
// controller are one workload if no label of engines distinguishes their roles. The
// annotation mends these.
func Identify(m Meta) (w Workload, revision string, template uint64) {
	kind, name, revision := m.owner()
	return Workload{Namespace: m.Namespace, Kind: kind, Name: name}, revision, hashTemplate(m.Containers)
}

// mirrorAnnotation has a static pod's UID on its node: the API server gives the
// object in it, its mirror, another.
const mirrorAnnotation = "kubernetes.io/config.mirror"

func (m *Meta) owner() (kind, name, revision string) {
	if given := m.Annotations[WorkloadAnnotation]; given != "" {
		if kind, name, ok := strings.Cut(given, "/"); ok && kind != "" && name != "" {
			return kind, name, ""
		}
		return "Workload", given, ""
	}
	owner := m.Controller
	if owner.Kind == "Node" || m.Annotations[mirrorAnnotation] != "" {
		return "StaticPod", m.staticName(), ""
	}
	if name, ok := m.pipeline(); ok {
		return "Pipeline", name, ""
	}
	for i := range engines {
		if kind, name, revision, ok := engines[i].name(m); ok {
			return kind, name, revision
		}
	}
	switch owner.Kind {
	case "", "Pod", "Deployment":
		return "Pod", m.ownName(), ""
	case "Job":
		if name, ok := scheduled(owner.Name, m.Created); ok {
			return "CronJob", name, ""
		}
	case "ReplicaSet", "ReplicationController":
		if kind, name, revision, ok := m.templateHash(); ok {
			return kind, name, revision
		}
	}
	revision = m.Labels[revisionLabel]
	if slices.Contains(inPlaceKinds, owner.Kind) || strings.HasPrefix(revision, owner.Name+"-") {
		return owner.Kind, owner.Name, revision
	}
	if slices.Contains(lastingKinds, owner.Kind) {
		return owner.Kind, owner.Name, ""
	}
	return owner.Kind, withoutRun(owner.Name, owner.Kind, m.Created), ""
}

// revisionLabel has the revision of pods that their controller replaces in place. Its
// value is a ControllerRevision's name, which most begin with their own.
const revisionLabel = "controller-revision-hash"

// The controllers whose names stay from one revision to the next, so that nothing in
// them is generated; those in place have their pods' revisions in revisionLabel.
var (
	inPlaceKinds = []string{"StatefulSet", "DaemonSet", "CloneSet"}
	lastingKinds = []string{"ReplicaSet", "ReplicationController"}
)

// staticName is a static pod's, to which the kubelet appends the node's.
func (m *Meta) staticName() string {
	for _, node := range []string{m.Node, m.Controller.Name} {
		if name, ok := strings.CutSuffix(m.Name, "-"+strings.ToLower(node)); ok && node != "" && name != "" {
			return name
		}
	}
	return m.Name
}

// ownName is that of a pod that is its own workload. A pod that makes pods, as
// Spark's driver, or a Deployment, as Flink's, numbers them.
func (m *Meta) ownName() string {
	if m.GenerateName != "" {
		return withoutRun(strings.TrimSuffix(m.GenerateName, "-"), "Pod", m.Created)
	}
	name := cmp.Or(withoutRun(m.Name, "", m.Created), m.Controller.Name)
	for m.Controller.Kind != "" {
		i := strings.LastIndexByte(name, '-')
		if i < 1 || !allIn(name[i+1:], digits) {
			break
		}
		name = name[:i]
	}
	return name
}

// templateHash takes off a ReplicaSet's name the hash, or version, that a label or
// annotation of its pods repeats.
func (m *Meta) templateHash() (kind, name, hash string, ok bool) {
	for _, by := range [...]struct{ label, kind string }{
		{"pod-template-hash", "Deployment"}, {"rollouts-pod-template-hash", "Rollout"}, {"artifact.spinnaker.io/version", "ReplicaSet"},
	} {
		hash = m.said(by.label)
		if name, ok = strings.CutSuffix(m.Controller.Name, "-"+hash); ok && hash != "" && name != "" {
			return by.kind, name, hash, true
		}
	}
	for _, label := range slices.Sorted(maps.Keys(m.Labels)) {
		hash = m.Labels[label]
		name, ok = strings.CutSuffix(m.Controller.Name, "-"+hash)
		if ok && name != "" && (strings.HasSuffix(label, "-hash") && hash != "" || random(hash)) {
			return m.Controller.Kind, name, hash, true
		}
	}
	return "", "", "", false
}

// scheduleReach is how far a CronJob's schedule may lie from a pod it makes: late
// starts and retries, but no date that somebody wrote into a name.
const scheduleReach = 7 * 24 * time.Hour

// scheduled takes the minute since 1970 off a Job's name, which the CronJob's
// controller appends.
func scheduled(name string, created time.Time) (string, bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 1 || !allIn(name[i+1:], digits) {
		return "", false
	}
	return name[:i], isTime(name[i+1:], created, time.Minute)
}

// hashTemplate is the FNV-1a hash of the containers, in order of their names.
func hashTemplate(containers []Container) uint64 {
	sorted := slices.SortedFunc(slices.Values(containers), func(a, b Container) int {
		return strings.Compare(a.Name, b.Name)
	})
	hash := fnv.New64a()
	// A length before each part: ("ab", "c") is not ("a", "bc").
	add := func(parts ...string) {
		for _, part := range parts {
			hash.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
		}
	}
	addMap := func(of map[string]string) {
		add(strconv.Itoa(len(of)))
		for _, key := range slices.Sorted(maps.Keys(of)) {
			add(key, of[key])
		}
	}
	for _, c := range sorted {
		image, _, _ := strings.Cut(c.Image, "@")
		add(c.Name, image, strconv.Itoa(len(c.Command)))
		add(c.Command...)
		addMap(c.Requests)
		addMap(c.Limits)
	}
	return hash.Sum64()
}

// pipeline is of a task of a Tekton pipeline, which no line of engines can name: a run that has
// its pipeline within it gives that its own name.
func (m *Meta) pipeline() (name string, ok bool) {
	run, task := m.Labels["tekton.dev/pipelineRun"], m.Labels["tekton.dev/pipelineTask"]
	pipeline := m.Labels["tekton.dev/pipeline"]
	if pipeline == "" || pipeline == run {
		pipeline = withoutRun(run, "TaskRun", m.Created)
	}
	return pipeline + "." + task, m.Controller.Kind == "TaskRun" && run != "" && task != ""
}
