package v1alpha1

import _ "embed"

var (
	//go:embed crd/profile.spazio-scheduler.github.io_workloadprofilecheckpoints.yaml
	checkpointsCRD []byte
	//go:embed crd/profile.spazio-scheduler.github.io_workloadprofiles.yaml
	profilesCRD []byte
)

// CRDs returns the definitions of the resources as YAML, one document each.
func CRDs() [][]byte { return [][]byte{checkpointsCRD, profilesCRD} }
