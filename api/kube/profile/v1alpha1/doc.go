// +groupName=profile.spazio-scheduler.github.io
// +kubebuilder:object:generate=true

// Package v1alpha1 has the objects in which the profiler stores what workloads take:
//
//   - WorkloadProfile, one a workload: its status is the profiler's, for schedulers
//     and for people; its spec is theirs.
//   - WorkloadProfileCheckpoint, what the profiler knows of some of them, for its next
//     process. Only the profiler reads it.
//
// CRDs has their definitions, generated from the types, which an API server is
// given before anything is read or written. NameOf is the name of a workload's
// objects, FromDemand and Demand.Value convert amounts.
//
// For an informer of client-go, a rest.Config with GroupVersion, APIPath "/apis",
// ContentType "application/json" and NegotiatedSerializer Codecs makes a REST client of
//
//	cache.NewListWatchFromClient(client, v1alpha1.Profiles, namespace, fields.Everything())
//
// Types that do not speak of concurrent use are plain values.
package v1alpha1
