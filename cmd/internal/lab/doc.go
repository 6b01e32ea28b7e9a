// Package lab holds the commands of spazio-lab: experiments in the simulator, the
// thesis's figures, recordings replayed, recommenders and rejections evaluated. They are flags, wiring and exit codes;
// packages sim/experiment, sim/prediction, agent/recording and profile/replay compute, the module report presents.
//
// It imports nothing of Kubernetes.
package lab
