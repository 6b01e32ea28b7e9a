// Package bench is the map of the programs that measure Spazio; it holds no code.
//
//	go run ./bench/perf        what the plugin costs a scheduler, on Kubernetes' scheduler_perf
//	go run ./bench/footprint   what the agent takes of its node
//	go run ./bench/fakerapl    how right the joules of pods are, on energy counters made of real processes' time
//	go run ./bench/loadgen     what a fleet's models cost an aggregator
//	go run ./bench/profileload what a fleet's pods cost a profiler
//	go run ./bench/testbedperf what test beds cost, and the pods in their slots
//	go run ./bench/webperf     what the page of a scheduler with many nodes costs the process that serves it
//	go run ./bench/contention  how well measures of CPU contention tell the tasks that want to run
//	go run ./bench/crowd       what many containers at once cost a real kernel
//	go run ./bench/validate    the simulator beside the demo's cluster on the same pods
//	go run ./bench/record      what a machine's counters show under a known load, for package sim/report/figures
//
// Each starts what it measures as a process of its own: it builds the program from
// this tree unless it is told where one is. None imports cmd but profileload, which has a
// profiler in its own process, and no module that is published requires this one.
//
// Results go to standard output, as a table or with --output json; progress and
// errors go to standard error. The exit code is 0, 1 after a failure or a missed
// bar, and 2 for a wrong command line.
package bench
