// Package bench has what the programs that measure Spazio have in common: it builds and starts the
// programs under measurement, reads what they take of the machine and what their metrics show, and
// gives a benchmark its flags, its exit codes, and its result as a table, as JSON and in a file.
//
//	go run ./cmd/bench/scheduler   throughput and CPU of a scheduler with the plugin, on Kubernetes' scheduler_perf
//	go run ./cmd/bench/footprint   CPU and memory that the agent takes of its node
//	go run ./cmd/bench/load        what a fleet costs test beds, their watch and the page; one command each
//
// Each starts what it measures as a process of its own: it builds the program from
// this tree unless a flag names one. None imports a package of cmd that is not
// below cmd/bench, except cmd/internal/command, and nothing else imports those.
//
// Results go to standard output, as a table or with --output json, and with --out into a file, as those
// in cmd/bench/results; progress and errors go to standard error. The exit code is 0, 1 after a
// failure or a missed bar, and 2 for a wrong command line.
package bench
