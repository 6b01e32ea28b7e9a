// Package telemetry reads what a Linux node says of its own load: channel
// values in [0,1] from /proc and cgroups, and the pods that hold a live
// container.
//
// A [Reader] turns the kernel's counters into one value per channel:
//
//   - cpu: (utilisation + pressure)/2. Utilisation is the share of CPU time
//     that was not idle, pressure the share of time in which some task waited
//     for a CPU (pressure stall information, PSI). Utilisation alone is full at
//     one task a core while throughput still grows; pressure alone hardly moves
//     below that, so that the first pods would look free. Either alone is an
//     option.
//   - memory: 1 − MemAvailable/MemTotal.
//
// Every value is a rate over the time between two samples or a level at the
// sample; both come from counters, never from the kernel's own averages, which
// lag by seconds. A counter that runs backwards, a file that is missing or cut,
// and an interval that is empty or too long (suspend, clock step) drop the
// sample with a [*ChannelError]: a value that cannot be trusted is never
// replaced by a guess and is never NaN.
//
// A [PodSource] tells when containers start and stop and which pods hold one.
// [CgroupPods] watches the kubelet's cgroups with inotify, which warns some
// 50 ms ahead of the container runtime's events, needs no socket and works with
// every runtime.
//
// Reading is apart from parsing: [ParseStat], [ParsePressure], [ParseCPUStat]
// and [ParseMeminfo] take bytes and allocate nothing. The roots of the two file
// systems and the time are arguments, so that everything runs on fixtures and,
// in a container, on a host mount. Where the kernel offers no inotify the pod
// source reports [ErrUnsupported]; the rest builds and runs on fixtures anywhere.
package telemetry
