// Package share divides what a machine takes among the virtual machines that run on it, and
// publishes each one's part as a tree that reads like a processor's energy counters.
//
//   - [Finder] finds the guests and the CPU time that each has taken, by the control groups
//     that systemd and libvirt make or by QEMU's processes.
//   - A divider charges each guest with its part of the machine's joules, as
//     [DividerConfig] has it.
//   - A tree publishes the parts, for each guest a powercap tree: a reader of Intel's RAPL
//     counters reads it as it is, mounted into the guest.
//   - [Host] goes through all of that once per call; package node's Sharing calls
//     it each second, and shows what came of it as metrics.
//
// A program of one's own on a host:
//
//	finder, err := share.NewFinder(share.FinderConfig{})
//	host, err := share.NewHost(share.HostConfig{Dir: "/run/spazio/guests", Source: chain, CPU: cpu, Guests: finder})
//	division, err := host.Share(time.Now()) // once a second
//
// A guest can see by its counter what others compute if it is read often enough
// (M. Lipp et al., PLATYPUS, 2021), so that nothing is to be published more often than each
// second ([Period]).
//
// Names of guests, and what guests write where they can, are not trusted: nothing is
// written outside of the directory of a [Host], nor of one guest into another's. Trees and
// control groups are Linux's; elsewhere [NewHost] fails.
//
// Times are arguments and roots of trees are injected. The package imports the standard
// library, energy and energy/source. Errors of arguments are an [*field.Error].
//
// Types that do not speak of concurrent use are plain values.
package share
