package v1alpha1

import (
	"embed"

	"github.com/spazio-scheduler/spazio/profile/v1alpha1/internal/definitions"
)

//go:embed crd/*.yaml
var crds embed.FS

// CRDs returns the definitions of the resources as YAML, one document each.
func CRDs() ([][]byte, error) { return definitions.Read(crds) }
