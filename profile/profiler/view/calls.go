package view

import "github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"

// Call is what goes between a workload and one that it calls, in bytes a second. It is a
// plain value, safe for concurrent use.
type Call struct {
	Namespace string `json:"namespace"`
	// Workload and Peer are KIND/NAME, or a name alone where the kind is not known.
	Workload      string `json:"workload"`
	PeerNamespace string `json:"peerNamespace"`
	Peer          string `json:"peer"`
	Request       int64  `json:"requestBytesPerSecond"`
	Response      int64  `json:"responseBytesPerSecond"`
}

// Calls are those of profiles, in their order; of each those that carry most first.
func Calls(all []v1alpha1.WorkloadProfile) []Call {
	calls := []Call{}
	for i := range all {
		p := &all[i]
		for _, c := range p.Status.Connections {
			calls = append(calls, Call{
				Namespace: p.Namespace, Workload: named(p.Spec.Workload.Kind, p.Spec.Workload.Name),
				PeerNamespace: c.Namespace, Peer: named(c.Kind, c.Name), Request: c.RequestBytesPerSecond, Response: c.ResponseBytesPerSecond,
			})
		}
	}
	return calls
}

func named(kind, name string) string {
	if kind == "" {
		return name
	}
	return kind + "/" + name
}
