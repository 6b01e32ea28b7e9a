// Command record measures what package sim/report/figures draws: what a machine's counters
// show under a known load. On a machine with nothing else to do:
//
//	go run ./bench/record sweep --out sweep.json.gz
//	CGO_ENABLED=0 go build -o /tmp/record ./bench/record
//	/tmp/record pods --out pods.json.gz --endpoint /run/containerd/containerd.sock --image local/pause:1
//
// sweep takes four minutes. Of each load it runs 1 to 12 workers at once, each a
// process that this program starts of itself: pi computes π to 2000 digits over
// and over, train trains and applies a small neural network; each takes about .8
// core-seconds, and as many batches follow one another as fill five seconds. busy
// keeps 0 to 8 workers busy for six seconds, hold has one worker hold 0 to 40 %
// of the memory.
//
// pods takes two minutes and root. It plays the kubelet to a containerd: it
// makes a pod's cgroup, asks the CRI for a sandbox and a container, and has the
// container run this program, which must be linked statically for that. Of the
// image nothing is used. Runs idle and busy are the start and the end of one pod
// at 100 Hz, with the moments at which each source of events told of them; run
// batches is a minute at 10 Hz with pods alone and ten at once.
//
// mixes takes half an hour and, with --runtime runc, root. Pods come and go at rates that
// change by the half minute and compute π, train, keep a core busy or do nothing; an
// agent without its streams records the machine's pressure, memory and IO in the
// format of package agent/recording:
//
//	/tmp/record mixes --runtime runc --out mixes
//
// Samples are those of package telemetry, at 10 Hz. Package measured has the
// format.
package main
