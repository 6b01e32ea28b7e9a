// Package loop runs a pipeline of package agent on a machine: it samples at a
// steady pace, hands samples, pods and the fleet's model to the pipeline and
// passes its reports on.
//
// The goroutine of [Loop.Run] owns the pipeline. It waits for a tick or for input: pod
// events, the aggregator's model, the schedulers' notices, questions for the reasons of a
// report. Of input the newest of each kind is kept until the loop gets to it, so that a
// slow sample delays no scheduler and a dead scheduler no sample.
//
// The pipeline lives by a steady clock: the wall clock at the start, advanced by
// the monotonic one. Steps of the wall clock change no interval; reports carry
// its time all the same, since other machines read it. The monotonic clock and
// the kernel's counters stand still in a suspend alike, yet the one sample
// across it is dropped, as it is whenever the wall clock gets a second ahead.
package loop
