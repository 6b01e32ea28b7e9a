package autoscale_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/plugin"
)

// TestTemplate: a template has the pod's constraints and demand.
func TestTemplate(t *testing.T) {
	isNotFull := corev1.NodeSelectorRequirement{Key: plugin.FullLabel, Operator: corev1.NodeSelectorOpDoesNotExist}
	isTemplate := corev1.NodeSelectorRequirement{Key: "cluster-autoscaler.kubernetes.io/template-node", Operator: corev1.NodeSelectorOpExists}
	inZone := corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}
	onDisk := corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpExists}
	required := func(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
	term := func(all ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: all}
	}
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	one, pages := resource.MustParse("1"), resource.MustParse("4Mi")
	spread := []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule}}
	tolerations := []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	for name, c := range map[string]struct {
		pod    corev1.Pod
		demand autoscale.Amount
		want   corev1.PodTemplateSpec
	}{
		"a pod that declares nothing": {
			demand: autoscale.Amount{CPU: 0.2501, Memory: 100<<20 + 1},
			want: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Affinity:   required(term(isNotFull), term(isTemplate)),
				Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("251m", "101Mi")}}},
			}},
		},
		"nothing is known": {
			want: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Affinity:   required(term(isNotFull), term(isTemplate)),
				Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}},
			}},
		},
		"a pod that requests more CPU than it takes, and less memory": {
			pod:    corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("2", "1Mi")}}}}},
			demand: autoscale.Amount{CPU: 0.5, Memory: 64 << 20},
			want: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Affinity:   required(term(isNotFull), term(isTemplate)),
				Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("2", "64Mi")}}},
			}},
		},
		"a pod with devices and huge pages": {
			pod: corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: one, corev1.ResourceEphemeralStorage: one, "nvidia.com/gpu": one, "hugepages-2Mi": pages, "kubernetes.io/batch": one,
			}}}}}},
			want: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Affinity: required(term(isNotFull), term(isTemplate)),
				Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{
						corev1.ResourceCPU: one, corev1.ResourceEphemeralStorage: one, "nvidia.com/gpu": one, "hugepages-2Mi": pages, "kubernetes.io/batch": one,
					},
					Limits: corev1.ResourceList{"nvidia.com/gpu": one, "hugepages-2Mi": pages},
				}}},
			}},
		},
		"a pod that is particular": {
			pod: corev1.Pod{Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"arch": "arm"}, PriorityClassName: "high", Tolerations: tolerations, TopologySpreadConstraints: spread,
				Affinity: required(term(inZone), term(onDisk), term()),
				NodeName: "", SchedulerName: "spazio", ServiceAccountName: "own", Volumes: []corev1.Volume{{Name: "data"}},
			}},
			demand: autoscale.Amount{CPU: 1, Memory: 1 << 20},
			want: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"arch": "arm"}, PriorityClassName: "high", Tolerations: tolerations, TopologySpreadConstraints: spread,
				Affinity:   required(term(inZone, isNotFull), term(onDisk, isNotFull), term(), term(inZone, isTemplate), term(onDisk, isTemplate)),
				Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("1", "1Mi")}}},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.pod.Spec.TopologySpreadConstraints) > 0 { // which select by label
				c.pod.Labels = map[string]string{"app": "shop"}
				c.want.Labels = map[string]string{"app": "shop"}
			}
			before := c.pod.DeepCopy()
			got := autoscale.Template(&c.pod, c.demand)
			if diff := cmp.Diff(before, &c.pod); diff != "" {
				t.Errorf("the pod was changed:\n%s", diff)
			}
			wanted, is := &c.want.Spec.Containers[0], &got.Spec.Containers[0]
			wanted.Name, wanted.Image, wanted.SecurityContext = is.Name, is.Image, is.SecurityContext
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOmitted: constraints that are not copied and may bind pods to nodes are named.
func TestOmitted(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}},
		Volumes: []corev1.Volume{
			{Name: "logs", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
			{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}},
		},
	}}
	const want = "The template leaves out what may bind the pods to nodes: resource claim gpu, volume data, volume logs"
	if got := autoscale.Omitted(pod); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := autoscale.Omitted(&corev1.Pod{}); got != "" {
		t.Errorf("%q of a pod without either", got)
	}
}

// TestNames: names are valid, and different for different workloads.
func TestNames(t *testing.T) {
	seen := map[string]string{}
	for _, workload := range []string{
		"default/Deployment/shop", "other/Deployment/shop", "default/Job/shop", "default/Pod/", "default/Workload/Weiß!",
		"default/Deployment/a-very-long-name-of-more-than-the-forty-bytes-that-are-shown", "default/Deployment/a-very-long-name-of-more-than-the-forty-bytes-that-are-not",
	} {
		name := autoscale.NameOf(workload)
		if other, twice := seen[name]; twice {
			t.Errorf("%s and %s are both %s", workload, other, name)
		}
		if seen[name] = workload; len(validation.IsDNS1123Label(name)) > 0 {
			t.Errorf("%s: %s is no name", workload, name)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		given map[string]string
		want  autoscale.Config
		field string // that is refused
	}{
		{given: map[string]string{"namespace": "n"}, want: autoscale.Config{Namespace: "n"}},
		{
			given: map[string]string{"namespace": "n", "owner": "o", "scaleUpDelay": "5s", "scaleDownDelay": "1m", "maxReplicas": "7", "protectAbove": "0.25"},
			want:  autoscale.Config{Namespace: "n", Owner: "o", ScaleUpDelay: 5 * time.Second, ScaleDownDelay: time.Minute, MaxReplicas: 7, ProtectAbove: 0.25},
		},
		{given: map[string]string{"owner": "o"}, field: "namespace"},
		{given: map[string]string{"namespace": "n", "scaleupdelay": "5s"}, field: "key"},
		{given: map[string]string{"namespace": "n", "scaleUpDelay": "5"}, field: "scaleUpDelay"},
		{given: map[string]string{"namespace": "n", "maxReplicas": "many"}, field: "maxReplicas"},
		{given: map[string]string{"namespace": "n", "protectAbove": "50"}, field: "protectAbove"},
	} {
		got, err := autoscale.Parse(c.given)
		var refused *field.Error
		switch {
		case c.field != "" && (!errors.As(err, &refused) || refused.Field != c.field || !errors.Is(err, autoscale.ErrInvalid)):
			t.Errorf("%v: %v, want %s refused", c.given, err, c.field)
		case c.field == "" && (err != nil || got != c.want):
			t.Errorf("%v: %+v, %v", c.given, got, err)
		}
	}
}
