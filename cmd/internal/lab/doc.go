// Package lab holds the commands of spazio-lab: experiments in the simulator, the
// thesis's figures, and recordings replayed. They are flags, wiring and exit codes;
// packages sim/experiment and agent/recording compute, the module report presents.
//
// It imports nothing of Kubernetes.
package lab
