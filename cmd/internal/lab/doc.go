// Package lab holds the commands of spazio-lab: experiments in the simulator, the
// thesis's figures, recordings replayed, and recommenders evaluated. They are flags, wiring and exit codes;
// packages sim/experiment, agent/recording and profile/replay compute, the module report presents.
//
// It imports nothing of Kubernetes.
package lab
