// Package agent is what a node computes of itself: a pure state machine from
// samples and pod events to reports. Daemon, simulator and replay run the same
// code; nothing here reads a clock, a file or a random number.
//
// # Pipeline
//
//	10 Hz  sample → filter per channel → block of b = 10
//	 1 Hz  block → local model → effective model → demand q
//	             → estimator, unless gated → capacity and cost per channel
//	always avail from the filtered usage, the estimates and the pod count
//
// A report leaves with every full block and, at most ten times a second, as soon
// as the pod count changes or avail moves by a pod: a slot that waits for the
// next block is lost for half a second on average. A sample stands for the node
// for Config.MaxAge: no event is reported on an older one, and after a longer gap
// filter and block begin anew.
//
// The local model is the node's own load (package svd). The effective model is
// its blend with the fleet's, share γ, which decays with the age of what the
// aggregator last said; the local one alone is pushed, so a node never gets back its
// own echo. The same holds for the cost of a pod, which is pooled with the
// fleet's only where it is used (kalman.Pool).
//
// # Channels with and without give
//
// A core that is taken twice halves a pod's speed; memory that is taken twice
// stops the node. So the room of the channel Memory is counted for pods that
// differ (package capacity), and every channel's cost is learnt as that of pods
// that differ (kalman.Config.Spread). Channel.Reserve leaves a share free.
//
// # Pods and their containers
//
// A pod is one of n from its first container to the end of its sandbox or cgroup
// (Pod): between an init container's end and the next start nothing is free. It is
// one of n₀, the pods whose load y shows, only while a container of its own runs,
// for what an init container takes shows nothing of its pod; meanwhile the
// estimator stands still. No source distinguishes init containers from others: the notice
// of a pod's bind gives their number (Bind), and without one a pod is given
// the time that pods on the node were seen to need, Config.InitLead at first.
//
// # Placeholders
//
// A pod that holds room for others and runs nothing, a slot of a test bed, does not count in n
// (Placeholders). Its start, presence and end change nothing, since their effect on n, without one
// on the load, would be mistaken for the cost of a pod.
//
// # Lag
//
// The filter shows a pod's load only after its persistence gate, some six
// samples. So n₀ is the count of that long ago, and n − n₀ corrects the room in
// between (package capacity).
//
// # Allowance
//
// A slot that frees up is empty while the next pod starts. So avail includes as
// many pods as will end meanwhile (capacity.StartupAllowance): the pipeline
// counts the ends of pods and the time that all of them ran (Pods), and measures
// the time from the notice of a bind (Bound) to the pod's own container, and from
// its last container to its end. Both sums fade with PaceHalfLife. The CPU's slots are at most its cores; memory,
// which pods hold, gives the allowance what the offer leaves of it. A CPU that
// is full of pods which end before others start does not saturate the node.
// There is no allowance until pods have ended, nor one below a whole pod.
//
// # Pods that are known
//
// The notice of a bind may predict what the pod takes (Bind.Demand), and Usage what it
// was then measured to take. The estimator learns from what the other pods take, and
// a report gives the room in shares (ChannelReport.Room), the less of what the usage
// leaves and of what the capacity leaves beside what all pods are expected to take.
// A pod that is not what was predicted is a Misprediction.
//
// # Pronto's signal
//
// With Config.Pronto a node does not say how many pods fit, but whether it takes
// any: avail is Unbounded, and 0 while package pronto's signal rejects, which detects
// peaks in the samples' projections on the directions in which the load varies.
// The samples are those that were measured, for the filter holds back the very
// peaks. The report gives no room in shares, so that a scheduler has only
// avail and its own slow start to go by; the rest of the pipeline goes on as ever.
// Local and SetFleet are then about the centred model, under a schema that ends with
// ProntoSchema: what the fleet returns replaces the node's own directions.
//
// # Power
//
// Power and PodPower are what the node and its pods took of late, which the pipeline
// only passes on: the room does not depend on it. A pod that a report counts is no more
// in flight for a scheduler, while a mean of the last second shows it in part; so a
// report adds the marginal power of the pods that it counts beyond those which loaded
// the node, on average, while its power was measured.
//
// # Explanation and replay
//
// Pipeline.Why explains the last report: what was sampled, what each channel
// allows by signal and by model, which of them held, and what the estimator did.
// Pipeline.State is all that was learnt, and FromState goes on from it as if
// nothing had happened. Package recording stores inputs, states and reports, and
// replays them.
//
// Types that do not speak of concurrent use are plain values.
package agent
