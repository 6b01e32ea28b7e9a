// Package sim is a deterministic discrete-event simulator of a cluster: pods are
// created, a scheduler places them, kubelets start them, and nodes run them in
// the contention model of package sim/node. It answers how a scheduler would do
// on a workload; package sim/workload makes those, package sim/experiment
// compares schedulers on them.
//
//	pods, err := workload.Batch(1, 1000, 10, workload.Exponential) // or one's own []sim.Pod
//	result, err := sim.Run(ctx, sim.Config{Scheduler: sim.Spazio{}, Seed: 1}, pods)
//	for _, m := range sim.Summarise(result) { … }
//
// A scheduler of one's own implements [Scheduler] and [Policy]; examples/simscheduler, in
// the repository, is one.
//
// "The thesis" is, here and in the packages below, that from which Spazio comes: "Hands at
// the Ready: Bringing Pronto to Kubernetes", L. Choteborsky, 2025.
//
// # What is real
//
// Under [Spazio] every node's samples, at 10 Hz with measurement noise and the
// kernel's rounding, go through the agent's own pipeline (package agent). Its
// reports reach, after the network's latency, the ledger and the decisions that
// the scheduler plugin calls (package reserve): admission with slow start, scores
// with ties, waiting pods woken at once when slots appear. Models meet in the
// real aggregator (package aggregate). The other schedulers are their formulas
// (package sim/baseline), fed with what they would see, averaged and delayed as
// they would see it.
//
// Where nodes take power (Config.Machines) and energy has a weight
// (Spazio.Ranking.Energy), agents read a noisy counter once a second and learn power by
// load, and what they report is weighed as by the plugin (package energy).
//
// All share kube-scheduler's queue (order of creation, back-off, retries on the
// end of a pod), its filters on requests and on the number of pods, its sample
// of nodes in clusters of 100 and more, and chance between equal scores.
//
// # Kills and evictions
//
// Each pod is a Job's, whose container restarts on its node when the kernel has killed it
// (restartPolicy OnFailure). In the place of a pod that a kubelet has evicted or refused
// the Job makes another, after 10 s and twice as long each time up to six minutes. It gives
// up at the sixth kill of a pod or at the seventh pod that failed (backoffLimit 6). The taint of MemoryPressure
// keeps BestEffort pods from a node under every scheduler. With Node.Overcommit = node.Kill a
// killed pod is made anew for ever, and nothing else of this happens.
//
// # Descheduling
//
// With Spazio.Relief the descheduler's own planner (package relief) evicts pods that are
// Evictable; [LowNodeLoad] and [LowNodeUtilization] are peers. A Job makes the next pod as
// after a kubelet's eviction, and its work is lost; a server that the scheduler places is one
// of a Deployment and replaced at once.
//
// # Determinism
//
// Time is virtual; nothing reads a clock. Each purpose has a PCG stream of its
// own, seeded by the run's seed, so the same arguments give the same result to
// the last bit, whatever runs beside it. A run is sequential; run many at once.
//
// # Limits
//
// A scheduler's attempt takes a constant time, the network a constant latency
// and loses nothing; the API server is never the bottleneck; kube-scheduler's
// other preferences (affinity, spreading, images) are left out, as the pods have
// none. Node failures, preemption and priorities are not modelled. For the limits of the
// node see package sim/node.
//
// Times are in seconds from the workload's start, work in core-seconds, memory
// in bytes.
//
// Types that do not speak of concurrent use are plain values.
package sim
