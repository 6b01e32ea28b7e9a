//go:build crds

package tools

// The modules whose custom resource definitions the manifests' tests install.
import (
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
)
