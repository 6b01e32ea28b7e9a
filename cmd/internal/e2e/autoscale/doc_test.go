// Package autoscale holds what a scheduler shows autoscalers against a real API server, against
// rules of its chart of which one is withheld at a time, and against Karpenter itself:
//
//	.ci/run karpenter
package autoscale
