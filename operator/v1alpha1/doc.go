// +groupName=testbed.spazio-scheduler.github.io
// +kubebuilder:object:generate=true

// Package v1alpha1 has the objects of test beds:
//
//   - Testbed reserves slots on nodes: room for one pod each.
//   - BatchJob is a Job, a SparkApplication or a FlinkDeployment that may be run in
//     slots, again and again, and what came of it.
//   - Scheduling has jobs run in slots of a Testbed. An outside program
//     makes it; the rest is carried out.
//
// What people want is in spec, what is found in status, which only the controllers'
// account may write: each kind has the subresource.
//
// CRDs has the kinds' definitions, generated from the types, which an API server is
// given before anything is read or written. An API server fills in the defaults that
// the fields' comments name, except [TestbedSpec.Auto], which is [TestbedSpec.EffectiveAuto].
//
// Objects are plain data: an object is safe for concurrent reading.
package v1alpha1
