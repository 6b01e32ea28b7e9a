package plugin_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spazio-scheduler/spazio/agent"
)

// TestOnlyUnconstrainedPodsAreRefusedAtOnce: a full cluster refuses a pod without constraints on its
// node in PreFilter; any other pod goes through Filter, so that the plugin learns which nodes other
// plugins refuse.
func TestOnlyUnconstrainedPodsAreRefusedAtOnce(t *testing.T) {
	c := newCluster(t, setup{nodes: 1})
	c.open(c.dial(), nodeName(0)).settle(agent.Report{Avail: 0})
	cpu := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	container := func(edit func(*v1.Container)) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.Containers = make([]v1.Container, 1)
			edit(&p.Spec.Containers[0])
		}
	}
	volume := func(source v1.VolumeSource) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: source}} }
	}
	for name, test := range map[string]struct {
		edit  func(*v1.Pod)
		plain bool
	}{
		"nothing":      {func(*v1.Pod) {}, true},
		"ports":        {container(func(c *v1.Container) { c.Ports = []v1.ContainerPort{{ContainerPort: 80}} }), true},
		"empty dir":    {volume(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), true},
		"config map":   {volume(v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}), true},
		"secret":       {volume(v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}), true},
		"token":        {volume(v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}), true},
		"downward API": {volume(v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{}}), true},
		"host path":    {volume(v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}), true},
		"claim":        {volume(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}}), false},
		"selector":     {selective, false},
		"affinity":     {func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{} }, false},
		"spread":       {func(p *v1.Pod) { p.Spec.TopologySpreadConstraints = make([]v1.TopologySpreadConstraint, 1) }, false},
		"device":       {func(p *v1.Pod) { p.Spec.ResourceClaims = make([]v1.PodResourceClaim, 1) }, false},
		"overhead":     {func(p *v1.Pod) { p.Spec.Overhead = cpu }, false},
		"pod's own":    {func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{Requests: cpu} }, false},
		"group":        {func(p *v1.Pod) { setGroup(&p.Spec, "group") }, false},
		"requests":     {container(func(c *v1.Container) { c.Resources.Requests = cpu }), false},
		"limits":       {container(func(c *v1.Container) { c.Resources.Limits = cpu }), false},
		"claims":       {container(func(c *v1.Container) { c.Resources.Claims = make([]v1.ResourceClaim, 1) }), false},
		"host port":    {container(func(c *v1.Container) { c.Ports = []v1.ContainerPort{{HostPort: 80}} }), false},
		"init": {func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: cpu}}}
		}, false},
	} {
		_, status := c.PreFilter(t.Context(), &cycleState{}, newPod(0, test.edit), c.infos)
		if status.IsRejected() != test.plain {
			t.Errorf("%s: got refused in PreFilter %v, want %v", name, status.IsRejected(), test.plain)
		}
	}
}

// TestEachNodeHasItsPods: a pod that fits only one of many nodes waits for that one.
func TestEachNodeHasItsPods(t *testing.T) {
	const nodes = 130
	c := newCluster(t, withoutRetry(nodes))
	client := c.dial()
	streams := make([]*stream, nodes)
	for i := range streams {
		streams[i] = c.open(client, nodeName(i))
		streams[i].report(agent.Report{Avail: 0})
	}
	c.eventually("all have reported", func() bool {
		for _, s := range c.hub.Snapshot() {
			if s.Signal != "fresh" {
				return false
			}
		}
		return true
	})
	at := []int{0, 1, 63, 64, 65, 127, 128, 129}
	for _, i := range at {
		pod := newPod(i, selective)
		c.arrive(pod)
		if _, feasible, _ := c.attempt(pod, c.infos[i:i+1]); len(feasible) > 0 {
			t.Fatal("found room")
		}
	}
	for _, i := range at {
		streams[i].settle(agent.Report{Avail: nodes, Allowance: nodes})
		name := newPod(i).Name
		c.eventually("the pod is woken", func() bool { return c.peek()[name] })
		if node, status := c.schedule(newPod(i, selective), c.infos[i:i+1]); node != nodeName(i) {
			t.Fatal(status)
		}
		if got := c.woken(); len(got) != 1 {
			t.Errorf("more room on %s woke %v", nodeName(i), got)
		}
	}
}
