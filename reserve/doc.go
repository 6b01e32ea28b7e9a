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
// A [View] is a node with all that decisions need, made once for each report and each change of
// what is in flight. A pod is admitted where
//
//	left − λ·kept ≥ min(c·t + u·a + g·√(V + σ²t + u²w), g·√V + .9·(most − λ·kept))
//
// for each resource that it is held against, and where, as long as reports have not confirmed the
// pods in flight, inflight(n) < max(2·max(1, cores/2) + n/2, allowance(n)): slow start, which bounds
// what a wrong signal can cost. The letters are
//
//	left        what the pods that run and those in flight leave of the resource
//	V           the variance of what those in flight take of it
//	c, u, σ     Cost, Unit and SD of its Room, and most its Most
//	t, a, w     Typical, Amount and Var of the pod's Demand
//	λ           1 − t, how far the pod's demand is known
//	kept        what Rules.CPUDemandPerCore leaves free of the CPU, 0 of other resources
//	g, ε        Rules.Caution and Rules.MinFreePods
//
// V, σ and w count as 0 on a CPU that has a Unit, where a pod too many only slows the others down.
// The second bound admits a pod that is known, at least in part, to a node that is nearly empty.
// A pod of an unknown workload has t = 1 and is, among others like
// it, held against avail: free(n) ≥ max(demand, ε). A pod whose workload is known ([Demand]) has the
// amount a and the variance w of its workload and is held against the CPU, the memory and the
// scarcest other channel, and so is any pod beside such pods in flight. Slow start counts pods in
// any case, because what is known may be wrong. Left includes what the node grants ahead of
// confirmation (the start-up allowance). An overdue pod is held against the memory alone
// ([OverdueAdmission]).
//
// Nodes are ranked by free(n) without the start-up allowance, for known
// pods by what the resources leave ([View.Rank]), optionally blended with k, the capacity in
// typical loads ("Hands at the Ready: Bringing Pronto to Kubernetes", L. Choteborsky, 2025,
// eq. 3.11), and with how good a node is for the pod in energy, which the caller finds.
// Energy never decides whether a pod is admitted.
//
// Slow start leaves out pods that wait for something other than the node, such as
// an image ([Progress]), and those that reports have not listed for long; free
// does not. Its n and allowance are held to what the ledger has itself seen
// ([Account.Cap]).
//
// A report counts for a while after its newest sample; [Freshness] defines for how
// long, and what holds without one: a silent node takes pods at slow start's pace. There a
// pod makes way for the next once the API has shown its containers running for ten
// seconds ([Ledger.Stands]), and counts into n from then on ([Account.Running]).
//
// A pod that waits for room for longer than [OverdueAdmission] allows is taken by a node
// without room, where memory is not full, and few such pods are on a node at once.
//
// [View], [Slots], [Score], [NormalizeTo], Freshness and OverdueAdmission are
// pure: they read no clock and draw no random number, and a scheduler plugin and a simulator
// can run the same code. [Ledger] holds the pods in flight, keyed by [PodKey]
// rather than counted, so that a repeated, late or lost event cannot leak
// capacity.
//
// Inputs are never modified.
//
// Types that do not mention concurrent use are plain values.
package reserve
