package profiler

import "github.com/spazio-scheduler/spazio/profile"

// Target is the workload of the pods that an object such as an autoscaler refers to, by
// the kind and name of what owns them. Pods that an annotation counts elsewhere
// (profile.WorkloadAnnotation) are not in it.
func Target(namespace, kind, name string) profile.Workload {
	switch kind {
	case "Deployment", "Rollout", "DeploymentConfig", "CronJob", "StatefulSet", "DaemonSet",
		"LeaderWorkerSet", "Fleet", "RunnerDeployment", "AutoscalingRunnerSet", "ScaledJob":
		return profile.Workload{Namespace: namespace, Kind: kind, Name: name}
	}
	w, _, _ := profile.Identify(profile.Meta{Namespace: namespace, Controller: profile.Owner{Kind: kind, Name: name}})
	return w
}
