// Package spazio is the map of the Spazio modules; it holds no code.
//
// Spazio schedules pods by what nodes measure, not by what pods declare. Each
// node turns its telemetry into the number of pods that still fit and streams
// it to the scheduler, which subtracts the pods it has bound since. The
// approach is that of the thesis "Hands at the Ready: Bringing Pronto to
// Kubernetes" (L. Choteborsky, 2025); where the code departs from it, the
// package that does so says why.
//
// # Packages
//
// The first five are modules of their own and pure: they know no clock, no randomness and no
// sibling. Modules, too, are telemetry, api, node, aggregate, plugin, profile/profiler, external,
// operator, testcluster, sim, cmd and examples; the others are packages of the root
// module.
//
//	svd        the load model: incremental singular value decomposition with forgetting, merge, blend
//	filter     per-channel filter that passes a change of level and holds back a spike
//	kalman     the estimator of a node's capacity and of one pod's cost
//	capacity   the signal k and the availability in pods
//	reserve    what fits: free room, admission, score, and the ledger of pods in flight
//	relief     which pods to evict from nodes that have become too full
//	field      the error by which packages refuse a field or an argument and its value
//	pronto     Pronto's rejection signal over svd's centred model, pure as well
//	agent      a node's pipeline, a pure state machine over the six above and energy
//	profile    what a workload's pods take, learnt from measurements; profile/profiler the profiler, profile/profiler/prometheus history
//	placement  which waiting pods are tried again, in which order, and which may go where there is no room
//	energy     joules by counter, power by load, and the pods' shares; energy/source reads counters and gauges, energy/share divides a host's among virtual machines
//	testbed    slots on nodes, and which job runs in which: identity, plans, claims, states
//	external   the HTTP interface by which an outside program follows and steers slots and jobs: its JSON, a client, a server on any store, pages for people
//	telemetry  samples and pod events from /proc and the control groups; telemetry/podsource has further pod sources
//	api        the wire: protobuf messages, gRPC services, conversions, TLS; api/kube is what of it uses Kubernetes' API: api/kube/identity identifies callers, api/kube/server serves and defines who may call what, api/kube/authority replaces and keeps certificates in a cluster, api/kube/profile/v1alpha1 has the objects of profiles
//	node       a node's agent to embed: clock, sampler, pipeline, recorder, the words of why; node/publish has its streams; its Sharing shares a host's energy
//	aggregate  merges the nodes' models into the fleet's; aggregate/modelserver serves it
//	sim        a deterministic simulator of a cluster, other schedulers as baselines, experiments; sim/report makes tables, plots and pages of them, sim/thesis has the thesis's estimators and filters that others are compared with
//	plugin     the kube-scheduler plugin, on the scheduler framework alone; plugin/slots puts pods into slots of test beds, plugin/page shows what it knows on the page of web
//	operator   test beds and the jobs that run in their slots: operator/v1alpha1 has the objects, operator/workload the applications, operator/convert the manifests of before, operator/controller the controllers, operator/view what people see, operator/backend what the interface of external stands on
//	testcluster what stands in for a cluster: testcluster/embedded is etcd and an API server in one process, testcluster/simnode simulated kubelets and this machine as a node
//	web        the page of what a scheduler knows and does, for browsers
//	cmd        the programs: spazio, spazio-lab, spazio-demo, and those that run in a cluster; cmd/aggregator/service, cmd/descheduler/service, cmd/profiler/service, cmd/scheduler/service and cmd/testbed/service are these to embed, cmd/compare compares schedulers by energy and latency, cmd/deploy has the chart and installs, checks and removes it, cmd/bench measures the others
//	examples   small programs that use the libraries; examples/scheduler is a kube-scheduler with the plugin
//
// Imports point one way:
//
//	svd  ←  pronto, aggregate              telemetry  ←  node
//	svd pronto filter kalman capacity reserve energy  ←  agent  ←  api  ←  aggregate/modelserver, plugin, node
//	agent, aggregate, placement, pronto, relief  ←  sim  ←  sim/report    telemetry, sim, energy  ←  testcluster/simnode
//	profile  ←  sim/report, api/kube    api, api/kube  ←  profile/profiler
//	testbed, web  ←  external, plugin    external, api/kube  ←  operator
//	all of these  ←  cmd
//
// Nothing imports cmd. Only testcluster/embedded, cmd and
// examples build on k8s.io/kubernetes.
//
// # The way of one sample
//
// A sample enters at /proc and leaves as a bind:
//
//  1. telemetry reads /proc/stat and /proc/meminfo ten times a second and makes
//     y ∈ [0,1]^d of it, one channel a resource (0 empty, 1 full). A watch on the
//     pods' control groups shows which pods run and when containers come and go.
//  2. agent hands y to filter, which suppresses the spike of a starting
//     container, and collects ten filtered samples into a block.
//  3. A full block updates the node's own model in svd. Blended with the
//     fleet's, it gives the demand q of one more typical load.
//  4. capacity extends y along q until a channel is full: the signal k.
//     Independently, kalman learns from changes in the number of pods what a
//     pod costs in each channel; capacity turns headroom and cost into avail,
//     a cautious bound of the pods that still fit.
//  5. agent puts both into a Report together with the pods it counted: once a
//     second, and at once when the pods or the room for them change.
//  6. node, in which all of this runs, sends the report as a message of api over a
//     gRPC stream to plugin in every scheduler replica, and now and then the node's
//     model to aggregate, which answers with the fleet's.
//  7. For a pending pod, plugin takes one view of all nodes. reserve computes
//     free = avail − pods in flight, refuses nodes without room and scores the
//     others; the chosen node's ledger takes the pod in, and the scheduler
//     binds it.
//  8. The node's agent sees the pod's control group appear, counts it in the
//     next report, and with that the pod leaves the ledger. When a report
//     raises a node's room, plugin wakes pending pods.
package spazio
