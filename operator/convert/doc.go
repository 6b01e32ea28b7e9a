// Package convert rewrites the manifests of the thesis "Implementation of a simplistic
// interface for Big Data workload scheduler in Kubernetes" (L. Schwerdtfeger), of group
// batchjob.gcr.io, as those of operator/v1alpha1. [Manifests] is pure.
//
//   - A Testbed (or Slot, as it was called before) and a queue of a Scheduling stay as
//     they are.
//   - A BatchJob's sparkSpec and externalScheduler stay. Its flinkSpec was the spec of a
//     FlinkCluster; what has a place in a FlinkDeployment goes there: jarFile is jarURI,
//     className entryClass, flinkProperties flinkConfiguration. Task managers are the
//     slots' and go.
//   - activeScheduling and creationRequest, which were in the spec, and every status are
//     the controllers' and go.
//
// What has no place in the new spec is left out, and listed in notes. Objects of other groups stay.
//
// Types that do not speak of concurrent use are plain values.
package convert
