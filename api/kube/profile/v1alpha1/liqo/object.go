package liqo

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
	"github.com/spazio-scheduler/spazio/profile"
)

func meta(kind string, w profile.Workload, name string) (metav1.TypeMeta, metav1.ObjectMeta) {
	return metav1.TypeMeta{Kind: kind, APIVersion: GroupVersion.String()}, metav1.ObjectMeta{Namespace: w.Namespace, Name: name}
}

// NewMemoryProfile returns the object of the bytes that a pod of a workload takes, rounded up.
func NewMemoryProfile(w profile.Workload, at time.Time, bytes float64) MemoryProfile {
	var p MemoryProfile
	p.Spec.MemoryProfiling = amount[int64]{Time{at}, int64(math.Ceil(min(max(bytes, 0), most)))}
	p.TypeMeta, p.ObjectMeta = meta("MemoryProfile", w, v1alpha1.NameOf(w))
	return p
}

// NewCPUProfile returns the object of the cores that it takes, rounded up to thousandths.
func NewCPUProfile(w profile.Workload, at time.Time, cores float64) CPUProfile {
	const thousandths, rounding = 1000, 1e-6
	var p CPUProfile
	p.Spec.CPUProfiling = amount[Cores]{Time{at}, Cores(math.Ceil(cores*thousandths-rounding) / thousandths)}
	p.TypeMeta, p.ObjectMeta = meta("CPUProfile", w, v1alpha1.NameOf(w))
	return p
}

// longestStem leaves room for two hashes in an object's name.
const longestStem = 253 - 18

// NewConnectionProfile returns the object of the bytes a second that go from one workload to
// another. It is in the namespace of the one that sends.
func NewConnectionProfile(from, to profile.Workload, at time.Time, bytesPerSecond float64) ConnectionProfile {
	p := ConnectionProfile{Spec: ConnectionProfileSpec{
		BandwidthRequirement: Rate(bytesPerSecond), UpdateTime: Time{at},
		SourceJob: from.Name, SourceNamespace: from.Namespace, DestinationJob: to.Name, DestinationNamespace: to.Namespace,
	}}
	source := v1alpha1.NameOf(from)
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(to.String()))
	name := fmt.Sprintf("%s-%08x", strings.TrimRight(source[:min(len(source), longestStem)], "-"), hash.Sum32())
	p.TypeMeta, p.ObjectMeta = meta("ConnectionProfile", from, name)
	return p
}
