package v1alpha1

import _ "embed"

var (
	//go:embed crd/testbed.spazio-scheduler.github.io_batchjobs.yaml
	batchjobsCRD []byte
	//go:embed crd/testbed.spazio-scheduler.github.io_schedulings.yaml
	schedulingsCRD []byte
	//go:embed crd/testbed.spazio-scheduler.github.io_testbeds.yaml
	testbedsCRD []byte
)

// CRDs returns the definitions of the resources as YAML, one document each.
func CRDs() [][]byte { return [][]byte{batchjobsCRD, schedulingsCRD, testbedsCRD} }
