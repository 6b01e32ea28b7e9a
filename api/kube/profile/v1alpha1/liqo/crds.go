package liqo

import _ "embed"

var (
	//go:embed crd/connectionprofiles.yaml
	connectionprofilesCRD []byte
	//go:embed crd/cpuprofiles.yaml
	cpuprofilesCRD []byte
	//go:embed crd/memoryprofiles.yaml
	memoryprofilesCRD []byte
)

// CRDs returns definitions of the thesis's shapes as YAML, one document each.
func CRDs() [][]byte { return [][]byte{connectionprofilesCRD, cpuprofilesCRD, memoryprofilesCRD} }
