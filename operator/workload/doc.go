// Package workload runs BatchJobs as what they are: Jobs of Kubernetes, SparkApplications
// of the Spark operator, FlinkDeployments of the Flink operator. An [Adapter], one a kind,
// is a pair of pure functions:
//
//	adapter, err := workload.Of(&job.Spec)
//	child, err := adapter.Child(job, request) // what to create
//	status := adapter.Status(observed)        // what it reports
//
// # What is written
//
// Of the user's spec everything stays that does not say how many pods run in slots, what
// they request and who places them. For n slots:
//
//	           Job                        SparkApplication              FlinkDeployment
//	pods       parallelism = n,           executor.instances = n,       taskManager.replicas = n,
//	           completions = n if none    dynamicAllocation up to n     mode standalone
//	requests   the slot's, where the      coreRequest, memory and       taskManager.resource
//	           pod requests nothing       memoryOverhead of the slot
//	placement  template.spec              executor, or its template     taskManager.podTemplate
//	retries    backoffLimit 0             restartPolicy Never           –
//
// Pods in slots carry the labels of v1alpha1 (role, test bed, job, attempt) and the
// annotation that keeps Spazio's measured room out of it. Drivers and job managers are
// not in slots and are left alone. A resource that the slot does not name is the user's;
// limits of a Spark executor are too, and those below its requests are raised to them.
//
// # Memory of a Spark executor
//
// Its pod requests memory + memoryOverhead, in whole MiB. With M = ⌊slot/MiB⌋ and the
// factor f (memoryOverheadFactor, else .1, for Python and R .4)
//
//	overhead = max(384, ⌈M·f/(1+f)⌉)    memory = M − overhead
//
// so that Spark's own rule, overhead = max(384, f·memory), would come to the same. Below
// 450 MiB of memory Spark does not start: errSlotTooSmall.
//
// Children are unstructured, so that no operator's module is needed. That the Spark
// operator's own types take them, tools/compat/spark tests.
package workload
