// Package schedulerd runs kube-scheduler with the plugins Spazio and SpazioSlots: as
// the command spazio-scheduler, which has all flags of kube-scheduler, and inside
// another process.
//
// In a cluster it runs beside the cluster's own scheduler and serves the pods whose
// schedulerName is spazio, and for testbeds those of spazio-slots. Inside another
// process it is the only scheduler and serves the profile default-scheduler too, which
// is upstream's own, for comparison.
package schedulerd
