// Package service is kube-scheduler with the plugins Spazio and SpazioSlots, to embed: a
// [Scheduler] runs in somebody's process, as in a test or a demonstration, from New to the
// end of a context, and serves the profiles that it is given, upstream's own among them for
// comparison. [WriteConfiguration] is what the program spazio-scheduler runs by where it is
// given no file.
//
// It builds on k8s.io/kubernetes, whose version is pinned by this module. Who has a scheduler
// of their own takes package plugin alone.
//
// Types that do not speak of concurrent use are plain values.
package service
