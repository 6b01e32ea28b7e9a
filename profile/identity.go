package profile

import (
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

// Identify tells the workload that a pod belongs to, the revision of it, empty
// where there is none, and a hash of its template, which jobs share that have a
// new name in each run. It is the only rule of identity. The first of these
// applies:
//
//  1. the annotation WorkloadAnnotation
//  2. a ReplicaSet named PREFIX-HASH, HASH the label pod-template-hash:
//     Deployment/PREFIX, revision HASH
//  3. a Job named X-DIGITS, the minute of the schedule, within 7 days of the pod's
//     creation: CronJob/X
//  4. a StatefulSet or DaemonSet: its name, revision the label
//     controller-revision-hash
//  5. another controller: its kind and its name without a generated suffix
//  6. no controller: Pod, with what its name is generated from, else its name
func Identify(m Meta) (w Workload, revision string, template uint64) {
	kind, name, revision := m.owner()
	return Workload{Namespace: m.Namespace, Kind: kind, Name: name}, revision, hashTemplate(m.Containers)
}

func (m Meta) owner() (kind, name, revision string) {
	if given := m.Annotations[WorkloadAnnotation]; given != "" {
		if kind, name, ok := strings.Cut(given, "/"); ok && kind != "" && name != "" {
			return kind, name, ""
		}
		return "Workload", given, ""
	}
	owner := m.Controller
	switch owner.Kind {
	case "":
		if m.GenerateName != "" {
			return "Pod", strings.TrimSuffix(m.GenerateName, "-"), ""
		}
		return "Pod", m.Name, ""
	case "ReplicaSet":
		hash := m.Labels["pod-template-hash"]
		if prefix, ok := strings.CutSuffix(owner.Name, "-"+hash); ok && hash != "" && prefix != "" {
			return "Deployment", prefix, hash
		}
	case "Job":
		if name, ok := scheduled(owner.Name, m.Created); ok {
			return "CronJob", name, ""
		}
	case "StatefulSet", "DaemonSet":
		return owner.Kind, owner.Name, m.Labels["controller-revision-hash"]
	}
	return owner.Kind, withoutSuffix(owner.Name), ""
}

// scheduleReach is how far a CronJob's schedule may lie from a pod it makes: late
// starts and retries, but no date that somebody wrote into a name.
const scheduleReach = 7 * 24 * time.Hour

// scheduled takes the minute since 1970 off a Job's name, which the CronJob's
// controller appends.
func scheduled(name string, created time.Time) (string, bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 1 || !allIn(name[i+1:], "0123456789") {
		return "", false
	}
	minute, err := strconv.ParseInt(name[i+1:], 10, 33) // in 16,000 years
	if err != nil {
		return "", false
	}
	return name[:i], created.Sub(time.Unix(60*minute, 0)).Abs() <= scheduleReach
}

// suffixLetters are what Kubernetes generates names from
// (k8s.io/apimachinery/pkg/util/rand), suffixLength how many.
const (
	suffixLetters = "bcdfghjklmnpqrstvwxz2456789"
	suffixLength  = 5
)

func withoutSuffix(name string) string {
	i := len(name) - suffixLength - 1
	if i < 1 || name[i] != '-' || !allIn(name[i+1:], suffixLetters) {
		return name
	}
	return name[:i]
}

func allIn(s, letters string) bool {
	return s != "" && strings.Trim(s, letters) == ""
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
