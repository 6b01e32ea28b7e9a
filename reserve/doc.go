// Package reserve decides which nodes may take a pod, and keeps count of the
// pods that were given to a node but that the node has not yet seen.
//
// A node reports avail, a lower bound of the pods that still fit beyond those
// it already counts. Between two reports a scheduler may bind many pods, so it
// subtracts the pods in flight, those that the newest report does not list:
//
//	free(n) = avail(n) − inflight(n) − held(n)
//
// Held is room that is kept free on purpose, for pods that are to come: the slots of a
// test bed ([Ledger.Hold]).
//
// A pod is admitted where free(n) ≥ max(demand, ε), and, as long as reports
// have not confirmed the pods in flight, where inflight(n) < max(2·max(1,
// cores/2) + n/2, allowance(n)): slow start, which bounds what a wrong signal can
// cost.
// A pod whose workload is known ([Demand]) is held against what the node has left
// of each resource, and so is any pod beside such ones in flight: see [Fits]. Slow
// start counts pods all the same, for what is known may be wrong.
//
// Nodes are ranked by free(n) without what of avail is granted ahead of confirmation, for known
// pods by what the resources leave ([RankFor]), optionally blended with k, the capacity in
// typical loads ("Hands at the Ready: Bringing Pronto to Kubernetes", L. Choteborsky, 2025,
// eq. 3.11), and with how good a node is for the pod in energy, which the caller finds and holds
// against the [Fleet].
// Energy never decides whether a pod is admitted.
//
// Slow start leaves out pods that wait for something other than the node, such as
// an image ([Progress]), and those that reports have not listed for long; free
// does not. Its n and allowance are held to what the ledger has itself seen
// ([Account.Cap]).
//
// A report counts for a while after its newest sample; [Freshness] says for how
// long, and what holds without one: a silent node takes pods at slow start's pace. A
// pod makes way for the next there once the API has shown its containers running for ten
// seconds ([Ledger.Stands]), and counts into n from then on ([Account.Running]).
//
// A pod that waits for room for longer than [Trickle] allows is taken by a node
// without room, where memory is not full, and few such pods are on a node at once.
//
// [Fits], [Judge], [Slots], [Score], [FleetOf], [NormalizeTo], Freshness and Trickle are
// pure: they read no clock and draw no random number, and a scheduler plugin and a simulator
// can run the same code. [Ledger] holds the pods in flight, keyed by [PodKey]
// rather than counted, so that a repeated, late or lost event cannot leak
// capacity.
//
// Inputs are never modified.
//
// Types that do not speak of concurrent use are plain values.
package reserve
