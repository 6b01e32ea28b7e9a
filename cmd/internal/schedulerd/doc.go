// Package schedulerd is the command spazio-scheduler: kube-scheduler, with all its flags,
// and the plugins Spazio and SpazioSlots. It runs beside a cluster's own scheduler and
// serves the pods whose schedulerName is spazio, and for testbeds those of spazio-slots.
package schedulerd
