package figures

// All are the figures that the thesis has or announces, in order, and the one that holds the simulator
// against a machine.
func All() []Figure {
	return []Figure{
		{"2.3", "CPU pressure by its total, under load",
			"Even lightweight workloads make the pressure spike, because of the container runtime.", ofRecording(podsFile, totals)},
		{"2.4", "CPU pressure by avg10, under load",
			"avg10 reduces the spikes but is slow: in a batch of ten pods it does not reach the level of the total before the pods are done.", ofRecording(podsFile, averages)},
		{"4.3", "CPU and memory utilisation of jobs of several sizes",
			"CPU utilisation rises with the number of pods that compute π, memory utilisation stays.", ofRecording(sweepFile, overTime)},
		{"4.4", "Completion time and throughput against the number of pods (2.2 and 3.10 of the first draft)",
			"Completion time grows about linearly with the number of pods (in the draft: less than linearly), and throughput still grows when CPU utilisation is at 100 %.", ofRecording(sweepFile, completion)},
		{"4.5", "Utilisation, pressure and their mean against the number of pods",
			"Pressure hardly moves until there are more pods than cores; the mean of both rises steadily and is full only when some thread always waits.", ofRecording(sweepFile, joined)},
		{"4.6", "Filters on the start and the end of a container",
			"The dynamic EMA suppresses the spike of a container event, yet converges quickly on a load that lasts; other cheap filters do worse.", ofRecording(podsFile, filters)},
		{"4.7", "The signal of a CPU-loaded node while CPU-heavy pods run elsewhere",
			"The signal falls: the fleet's typical load becomes heavier in the channel that the node has little left of.", cpuLoaded},
		{"4.8", "The signal of a memory-loaded node while CPU-heavy pods run elsewhere",
			"The signal rises: the fleet's typical load turns to the channel that the node has left.", memoryLoaded},
		{"4.9", "Event sources against the spike of a start",
			"The runtime's events precede the spike of a pod's start, those of the Kubernetes API miss it.", ofRecording(podsFile, starting.draw)},
		{"4.10", "Event sources against the spike of an end",
			"The runtime's events precede the spike of a pod's end, those of the Kubernetes API miss it.", ofRecording(podsFile, stopping.draw)},
		{"4.11", "Estimators of a pod's cost under bursts",
			"The Δ filter finds the cost but no capacity, the two-dimensional filter oscillates, the dual filter converges fast without.", bursts},
		{"sim-node", "The simulator's node and a machine under the same load",
			"Given what ran on the machine, from when on and for how much CPU time, package sim/node shows for every number of workers its mean utilisation and its mean CPU pressure to within 0.06, and the mean run time to within 15 %.", modelledNode},
	}
}
