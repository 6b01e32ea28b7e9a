package v1alpha1

import (
	"embed"
	"path"
)

//go:embed crd/*.yaml
var definitions embed.FS

// CRDs returns the definitions of the resources as YAML, one document each.
func CRDs() ([][]byte, error) {
	entries, err := definitions.ReadDir("crd")
	if err != nil {
		return nil, err
	}
	all := make([][]byte, len(entries))
	for i, e := range entries {
		if all[i], err = definitions.ReadFile(path.Join("crd", e.Name())); err != nil {
			return nil, err
		}
	}
	return all, nil
}
