// Package autoscale shows a cluster's autoscaler what Spazio measures. Both Karpenter and
// cluster-autoscaler simulate pods against requests: to them a pod without requests fits on any
// node, and a node full of such pods is unused. A [Controller] beside the scheduler therefore
//
//   - asks for nodes by one CapacityBuffer (autoscaling.x-k8s.io/v1beta1) and one PodTemplate for
//     each workload whose pods wait for measured room alone. The template requests what a pod is
//     measured to take;
//   - labels nodes that refuse pods with [plugin.FullLabel], which the templates exclude, so that
//     the simulation puts the buffer on new nodes;
//   - protects nodes that are busy by measurement and idle by requests from being drained, by the
//     annotations of both autoscalers.
//
// It writes by server-side apply as the field manager spazio-autoscale, so that an annotation that
// somebody else set stays when ours goes. Everything that it has written has a label, by which the
// next leader finds it. A planner, which knows no API, decides what should
// exist.
package autoscale
