// Package liqo has the custom resources that S. Galantino's profiler writes for Liqo
// (Kubernetes job profiling, Politecnico di Torino, 2020, §5.3.4 and 5.4.4): group
// webapp.liqo.io.profiling, version v1.
//
//	MemoryProfile      bytes that a pod of a job takes
//	CPUProfile         cores that it takes
//	ConnectionProfile  bytes a second from one job to another
//
// Fields, names and formats are the thesis's (listings 5.4, 5.5, 5.7) except for three that
// can't be meant: CPU is described as millicores and shown as "0,867", which is cores
// with a comma, and is written with a point; the apiVersion of listing 5.7 has two
// slashes; and times have no zone, which is UTC here. Both decimal signs are read.
//
// Only Liqo reads them: what this project's own programs exchange is package
// v1alpha1. NewMemoryProfile, NewCPUProfile and NewConnectionProfile make objects, whose
// JSON is what an API server is sent. CRDs has definitions of these shapes, for where there are none.
//
// Types that do not speak of concurrent use are plain values.
package liqo
