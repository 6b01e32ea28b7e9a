// Package node is the contention model of one node: a pure, event-driven
// simulation of its cores and its memory in virtual time. A simulator runs
// thousands of them, and a simulated kubelet can put a clock around one.
//
// # Cores
//
// c cores are shared by processor sharing. Every thread wants a rate (a pod of
// Cores = 1 never sleeps; one of Cores = .1 is busy a tenth of the time) and
// has a weight. While the sum of the wants is at most c, each gets what it
// wants; otherwise rates are filled like water, in proportion to the weights, up
// to each want. On top of the pods run
//
//   - system daemons: short bursts that arrive as a Poisson process,
//   - the container start and stop: StartWork and StopWork core-seconds of one
//     thread, the first ending, on a node that is not full, as the pod begins to
//     run,
//   - a background load of a given number of cores (SetBackground),
//   - servers: pods whose threads are requests, arriving as a Poisson process; a
//     server's threads share the weight of one pod.
//
// A pod's threads share its work and its weight evenly, as those of one control
// group do. Between two changes of the set of runnable threads all rates are constant, so
// the model jumps from change to change; a result does not depend on how a span
// is cut into steps. Threads of equal weight and want form a class with one
// clock of service received: a step costs O(classes), a change O(log threads).
//
// # Init containers
//
// A pod's init containers run one after the other before it, each for a time that
// passes without a load or as a thread that works so long on a node that is not
// full; a gap follows each, and every container has a start and a stop as above.
// A pod's sandbox ends Teardown after its container.
//
// # Stages
//
// A pod may change: its stages follow one another, each with a rate at which it works for a
// while, or none, and with memory of its own, on which garbage may come in tenths until it
// is collected. Garbage comes by time, whether or not the pod gets its cores.
//
// # Memory
//
// A pod holds its memory while it runs, from the start or growing in tenths. What
// follows where memory is short depends on Params.Overcommit.
//
// Evict, the default, is Kubernetes without swap. Where the sum exceeds the node's memory
// the kernel kills the pod whose memory, with oom_score_adj's share of the node's, is
// largest, of two alike the younger. Its container restarts on the node: at once, then
// after 10 s and twice as long each time up to 5 min, and afresh when it has run for more
// than 10 min. Every 10 s, and a second after each eviction, the kubelet looks at the memory.
// With less than 100 MiB available it evicts one pod: of those that hold more than they
// request, else of all, the one of the lowest priority that holds most beyond its request.
// From then until five minutes after the last look that found memory short it refuses
// BestEffort pods. Its status, every 10 s, has MemoryPressure meanwhile.
//
// With Kill the pod with most memory is killed, its work lost, and there is no kubelet.
// With Swap every pod runs at a fifth of the rate it would have: a swapping thread waits
// for its disk most of the time; it neither works nor asks for a core.
//
// # Readings
//
// Utilisation is the busy share of the cores. Waiting is the number of threads
// that wait for a core, a core, at most 1: none up to n = c single-threaded pods, a
// half at n = 3 on two cores, 1 from n = 2c on. It is read at one moment, of which
// the last five count, as package telemetry does; a thread that wants a part of a
// core is there for that part of the time. Pressure ("some") is the share of time
// in which a runnable thread waits. The kernel takes it of each core by itself and
// averages over the cores: as much as Waiting where it spreads the threads evenly
// (Params.Balanced); with a kubelet's pods, which it hardly moves, the share of
// the cores that happen to have one that waits, which changes every few seconds.
// Steal (Params.Steal) is busy: a thread holds its core and gets less of it.
// Readings are rounded as the kernel rounds its counters and disturbed by
// measurement noise.
//
// # Power
//
// What the node takes follows from the share of its cores that threads hold
// (Params.Power), with no delay and no other influence; it is added up exactly, for that
// share is constant between two changes. The counter that shows it (ReadEnergy) is off by
// the measurement noise.
//
// # CPU limits
//
// A pod with a limit has, in each tenth of a second, that share of its core-seconds, as
// the kernel's bandwidth control gives it: while they last its threads run as others
// do, then they stand still until the period ends. They wait meanwhile, and no core
// counts them as waiting for it.
//
// # Limits of the model
//
// The model is fluid: it knows no time slices, caches, NUMA nodes or
// hyper-threads, no disk and no network. The kernel kills a pod as a whole, no page is
// reclaimed, an evicted pod is gone at once, and limits of memory do not act. A pod that waits half of the time wants
// half a core at every moment, so threads wait from when the wants add up to the
// cores, where a kernel shows some already below. Threads get even shares at all
// times, also where Pressure has them on some of the cores alone.
//
// Times are seconds since the model's start, work is in core-seconds, memory in
// bytes.
//
// Types that do not speak of concurrent use are plain values.
package node
