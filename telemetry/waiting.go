package telemetry

// waitingSamples is how many readings of the runnable tasks are averaged, half a
// second at 10 Hz. Each shows one moment only: of tasks that run in short
// bursts a single one is off by as many tasks as there are, in either direction,
// and the share is bounded, so that what is off does not cancel afterwards.
const waitingSamples = 5

// waiting is the mean number of tasks that waited for a CPU.
type waiting struct {
	tasks [waitingSamples]float64
	count int
}

// share takes a reading, with the utilisation of the time before it, and returns
// the tasks that waited in the last readings, a CPU, at most 1. Of the tasks that
// could run, one is the reader itself and as many as there are busy CPUs do run.
func (w *waiting) share(runnable uint64, utilisation float64, cpus int) float64 {
	others := max(float64(runnable)-1, 0)
	w.tasks[w.count%waitingSamples] = others - utilisation*float64(cpus)
	w.count++
	n := min(w.count, waitingSamples)
	sum := 0.
	for _, tasks := range w.tasks[:n] {
		sum += tasks
	}
	return clamp(sum / float64(n) / float64(cpus))
}
