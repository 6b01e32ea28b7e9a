// Package telemetry reads a Linux node's own load: channel
// values in [0,1] from /proc and cgroups, and the pods that hold a live
// container.
//
//	reader, err := telemetry.NewReader(telemetry.Config{})
//	_, err = reader.SampleTo(nil, time.Now())         // ErrPriming
//	sample, err = reader.SampleTo(sample, time.Now()) // ten times a second, say
//
//	pods, err := telemetry.NewCgroupPods(telemetry.CgroupConfig{})
//	err = pods.Run(ctx, func(e telemetry.PodEvent) { … })
//
// A [Reader] turns the kernel's counters into one value per channel:
//
//   - cpu: (utilisation + contention)/2. Utilisation is the share of CPU time
//     that was not idle, contention the number of tasks that waited for a CPU, a
//     CPU, at most 1: the channel is a half with a task on every CPU and 1 with
//     two of them, however the kernel spreads them. Utilisation alone is full at
//     one task a core while throughput still grows; contention alone hardly moves
//     below that, so that the first pods would look free. Either alone is an
//     option, and so is pressure stall information (PSI) for contention. PSI
//     counts the share of time in which some task waited on each CPU by itself:
//     it is linear in the tasks only while the kernel balances them, which it
//     hardly does with groups of small weight, such as a kubelet's BestEffort
//     pods. Steal, what the hypervisor gave to other machines, is busy. What is
//     runnable but may not run, because of a CPU limit, neither is nor waits.
//   - memory: 1 − MemAvailable/MemTotal, less what the cache of ZFS would give back.
//   - memory-pressure, io: the share of time in which some task waited for
//     memory or for a block device (PSI).
//   - network: the load of the busiest link, bytes per second of the busier
//     direction over its speed. Only interfaces with a device count. A link that cannot
//     be measured is left out as long as there is another.
//
// memory-pressure, io and network are off unless [Config].Channels asks for them.
// NewReader refuses a machine that has not what was asked for: [ErrNoPressure],
// [ErrNoLinkSpeed].
//
// Every value is a rate over the time between two samples or a level at the
// sample; both come from counters, never from the kernel's own averages, which
// lag by seconds. A counter that runs backwards, grows by more than the time that
// passed allows or stands still where it cannot, a file that is missing or cut, a CPU or a link that came or went, and an interval that is empty or too long
// (suspend, clock step) drop the sample with a [*SampleError] that holds one
// [*ChannelError] for each channel concerned: a value that cannot be trusted is
// never replaced by a guess and is never NaN. A malformed line or column that a
// channel does not use costs nothing. One good reading later samples are
// right again.
//
// A [PodSource] reports when containers start and stop, and how far each pod on the
// node has come: a [Pod] ends with its sandbox or cgroup, not with a container.
// [CgroupPods] watches the kubelet's cgroups with inotify, which warns some
// 50 ms ahead of the container runtime's events, needs no socket and works with
// every runtime.
//
// CgroupPods reports churn as it comes and gathers what follows for a tenth of a
// second. Module telemetry/podsource has further sources behind the same
// interface: the CRI's events and the API server's watch.
//
// [PodUsage] reads what each pod takes from its cgroup: CPU time used and waited for,
// the time its limit held it up, the memory that the machine can't reclaim. By the same
// open files it reads, at once, the CPU time of the machine, of the kubelet's tree and of
// all pods, by which energy is divided.
//
// Reading is apart from parsing, which takes bytes and allocates nothing;
// [ParseStat], [ParseCPUStat], [ParseCounter] and [ParsePressure] are there for
// programs that measure with the same eyes. The roots of the file systems
// and the time are arguments, so that everything runs on fixtures and,
// in a container, on a host mount. Where the kernel offers no inotify the pod
// source reports [ErrUnsupported]; the rest builds and runs on fixtures anywhere.
//
// Types that do not speak of concurrent use are plain values.
package telemetry
