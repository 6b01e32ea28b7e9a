package deploy

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// peer is an end of a connection: a pod, or an address outside the cluster, which no selector selects.
type peer struct {
	name, namespace string
	labels          map[string]string
	outside         bool
}

// network decides which connections are allowed, by the policies' rules as documented in the API. Ports
// are numbers, and address blocks are unsupported: our policies have none.
type network struct {
	policies   []networkingv1.NetworkPolicy
	namespaces map[string]map[string]string // labels by name
}

// allows reports whether a connection passes at both ends.
func (n network) allows(t *testing.T, from, to peer, protocol corev1.Protocol, port int32) bool {
	t.Helper()
	return n.passes(t, networkingv1.PolicyTypeEgress, from, to, protocol, port) && n.passes(t, networkingv1.PolicyTypeIngress, to, from, protocol, port)
}

// passes reports whether the policies of one end allow the other: all pass if no policy of that
// direction selects the end.
func (n network) passes(t *testing.T, direction networkingv1.PolicyType, end, other peer, protocol corev1.Protocol, port int32) bool {
	t.Helper()
	selected := false
	for _, p := range n.policies {
		if end.outside || p.Namespace != end.namespace || !slices.Contains(p.Spec.PolicyTypes, direction) || !selects(t, &p.Spec.PodSelector, end.labels) {
			continue
		}
		selected = true
		if direction == networkingv1.PolicyTypeIngress {
			for _, rule := range p.Spec.Ingress {
				if n.named(t, p.Namespace, rule.From, other) && listed(t, rule.Ports, protocol, port) {
					return true
				}
			}
			continue
		}
		for _, rule := range p.Spec.Egress {
			if n.named(t, p.Namespace, rule.To, other) && listed(t, rule.Ports, protocol, port) {
				return true
			}
		}
	}
	return !selected
}

// named reports whether a rule of a namespace matches the peer; a rule without peers matches all.
func (n network) named(t *testing.T, namespace string, peers []networkingv1.NetworkPolicyPeer, other peer) bool {
	t.Helper()
	for _, p := range peers {
		if p.IPBlock != nil {
			t.Fatal("a policy has address blocks, which this evaluator does not support")
		}
		inNamespace := other.namespace == namespace
		if p.NamespaceSelector != nil {
			inNamespace = selects(t, p.NamespaceSelector, n.namespaces[other.namespace])
		}
		if !other.outside && inNamespace && (p.PodSelector == nil || selects(t, p.PodSelector, other.labels)) {
			return true
		}
	}
	return len(peers) == 0
}

func listed(t *testing.T, ports []networkingv1.NetworkPolicyPort, protocol corev1.Protocol, port int32) bool {
	t.Helper()
	for _, p := range ports {
		if p.Port == nil || p.Port.StrVal != "" || p.EndPort != nil {
			t.Fatal("a policy's port is not a single number, which this evaluator does not support")
		}
		if p.Port.IntVal == port && (p.Protocol == nil && protocol == corev1.ProtocolTCP || p.Protocol != nil && *p.Protocol == protocol) {
			return true
		}
	}
	return len(ports) == 0
}

func selects(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(labels.Set(of))
}

// connections are what the programs need, by variant: from, to and TCP port. An empty to is any
// destination that allows it.
var connections = map[string][]connection{
	"": { // every variant
		{"spazio-agent", "spazio-scheduler", 9690}, {"spazio-agent", "spazio-aggregator", 9692},
		{"spazio-aggregator", "spazio-aggregator", 9692},
		{"spazio-scheduler", "", 443}, {"spazio-scheduler", "", 6443},
		{"spazio-aggregator", "", 443}, {"spazio-aggregator", "", 6443},
		{"prometheus", "spazio-agent", 9700}, {"prometheus", "spazio-aggregator", 9701}, {"prometheus", "spazio-scheduler", 10259},
	},
	"agent-kube": {{"spazio-agent", "", 443}, {"spazio-agent", "", 6443}},
	"descheduler": {
		{"spazio-agent", "spazio-descheduler", 9690}, {"prometheus", "spazio-descheduler", 9705},
		{"spazio-descheduler", "", 443}, {"spazio-descheduler", "", 6443},
	},
	"testbed": {
		{"spazio-testbed", "spazio-scheduler", 9690}, {"prometheus", "spazio-testbed", 9704}, {anyPod, "spazio-testbed", 9695},
		{"spazio-testbed", "", 443}, {"spazio-testbed", "", 6443},
	},
}

// profiling are those of the profiler, in the variants with one.
var profiling = []connection{
	{"spazio-agent", "spazio-profiler", 9696}, {"prometheus", "spazio-profiler", 9702},
	{"spazio-profiler", "", 443}, {"spazio-profiler", "", 6443},
}

type connection struct {
	from, to string
	port     int32
}

// anyPod is a foreign pod.
const anyPod = "*"

// Of all possible connections exactly the needed ones are allowed.
func TestNetworkPolicies(t *testing.T) {
	for _, name := range variants(t) {
		t.Run(name, func(t *testing.T) {
			objects := variant(t, name)
			n := network{policies: all[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy"), namespaces: map[string]map[string]string{}}
			peers, ports := peersOf(t, objects)
			for _, p := range peers {
				// As the API server labels namespaces.
				n.namespaces[p.namespace] = map[string]string{corev1.LabelMetadataName: p.namespace}
			}
			wanted := append(slices.Clone(connections[""]), connections[name]...)
			if name != "agent-kube" && name != "profiles-off" {
				wanted = append(wanted, profiling...)
			}
			if name != "cert-manager" {
				wanted = append(wanted, connection{"spazio-certs", "", 443}, connection{"spazio-certs", "", 6443})
			}
			count := 0
			for _, from := range peers {
				for _, to := range peers {
					for _, port := range ports {
						for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
							want := allowed(wanted, from, to, protocol, port)
							if got := n.allows(t, from, to, protocol, port); got != want {
								t.Errorf("%s/%s to %s/%s, %s %d: allowed is %v, want %v", from.namespace, from.name, to.namespace, to.name, protocol, port, got, want)
							}
							count++
						}
					}
				}
			}
			t.Logf("%d possible connections", count)
		})
	}
}

// peersOf returns our pods and others, and all their ports.
func peersOf(t *testing.T, objects []*unstructured.Unstructured) (peers []peer, ports []int32) {
	t.Helper()
	known := map[int32]bool{22: true, 53: true, 80: true, 443: true, 6443: true, 9100: true}
	for port := int32(9690); port <= 9705; port++ {
		known[port] = true
	}
	for _, w := range workloads(t, objects) {
		name := w.template.Labels["app.kubernetes.io/name"]
		peers = append(peers, peer{name: name, namespace: w.namespace, labels: w.template.Labels})
		for _, c := range w.template.Spec.Containers {
			for _, p := range c.Ports {
				known[p.ContainerPort] = true
			}
		}
	}
	peers = append(peers,
		peer{name: "prometheus", namespace: "monitoring", labels: map[string]string{"app.kubernetes.io/name": "prometheus"}},
		peer{name: "pretender", namespace: "default", labels: map[string]string{"app.kubernetes.io/name": "spazio-agent"}},
		peer{name: "pretended scheduler", namespace: "default", labels: map[string]string{"app.kubernetes.io/name": "spazio-scheduler"}},
		peer{name: "foreign", namespace: systemNamespace},
		peer{name: "foreign", namespace: agentNamespace},
		peer{name: "coredns", namespace: "kube-system", labels: map[string]string{"k8s-app": "kube-dns"}},
		peer{name: "outside", outside: true},
	)
	return peers, slices.Sorted(maps.Keys(known))
}

// allowed returns what the policies should allow. Pods outside our namespaces have no policies.
func allowed(wanted []connection, from, to peer, protocol corev1.Protocol, port int32) bool {
	ours := func(p peer) bool { return p.namespace == systemNamespace || p.namespace == agentNamespace }
	if !ours(from) && !ours(to) {
		return true
	}
	if ours(from) && !ours(to) && port == 53 {
		return true
	}
	if protocol != corev1.ProtocolTCP {
		return false
	}
	is := func(p peer, name string) bool {
		return p.name == name && (ours(p) || name == "prometheus") || name == anyPod && !ours(p) && !p.outside
	}
	for _, c := range wanted {
		if c.port == port && is(from, c.from) && (c.to == "" && !ours(to) || is(to, c.to)) {
			return true
		}
	}
	return false
}

// A missing policy is detected.
func TestEvaluatorSeesEachPolicy(t *testing.T) {
	objects := variant(t, install)
	full := network{policies: all[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy"), namespaces: map[string]map[string]string{}}
	peers, ports := peersOf(t, objects)
	for _, p := range peers {
		full.namespaces[p.namespace] = map[string]string{corev1.LabelMetadataName: p.namespace}
	}
	flows := func(n network) string {
		found := ""
		for _, from := range peers {
			for _, to := range peers {
				for _, port := range ports {
					found += fmt.Sprint(n.allows(t, from, to, corev1.ProtocolTCP, port))
				}
			}
		}
		return found
	}
	want := flows(full)
	for i, p := range full.policies {
		less := full
		less.policies = slices.Delete(slices.Clone(full.policies), i, i+1)
		if flows(less) == want {
			t.Errorf("removing the policy %s/%s had no effect", p.Namespace, p.Name)
		}
	}
}
