package build_test

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/node/build"
)

func TestDescribe(t *testing.T) {
	library := &debug.Module{Path: "k8s.io/client-go", Version: "v0.36.3"}
	stamped := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}, {Key: "vcs.modified", Value: "false"}}
	dirty := []debug.BuildSetting{stamped[0], {Key: "vcs.modified", Value: "true"}}
	for want, info := range map[string]*debug.BuildInfo{
		"(devel)":                    {},
		"v0.1.0, go1.26.8":           {Main: debug.Module{Version: "v0.1.0"}, GoVersion: "go1.26.8"},
		"v0.1.0, Kubernetes v1.36.3": {Main: debug.Module{Version: "v0.1.0"}, Deps: []*debug.Module{library}},
		"v0.1.1, commit 0123456789ab, go1.26.8, Kubernetes v1.36.2": {
			Main: debug.Module{Version: "v0.1.1"}, GoVersion: "go1.26.8", Settings: stamped,
			Deps: []*debug.Module{library, {Path: "k8s.io/kubernetes", Version: "v1.36.2"}, {Path: "k8s.io/api", Version: "v0.36.3"}},
		},
		"v0.1.1-0.20261123+dirty, commit 0123456789ab and changes, Kubernetes v1.35.4": {
			Main: debug.Module{Version: "v0.1.1-0.20261123+dirty"}, Settings: dirty,
			Deps: []*debug.Module{{Path: "k8s.io/apimachinery", Version: "v0.36.3", Replace: &debug.Module{Version: "v0.35.4"}}},
		},
		"v0.1.2": {Main: debug.Module{Version: "v0.1.2"}, Deps: []*debug.Module{{Path: "k8s.io/klog/v2", Version: "v2.140.0"}, {Path: "k8s.io/api", Version: "(devel)"}}},
	} {
		if got := build.Describe(info); got != want {
			t.Errorf("%+v is %q, want %q", info, got, want)
		}
	}
}

// A test's program has a Go version and no version of its own.
func TestAbout(t *testing.T) {
	if got := build.About(); !strings.HasPrefix(got, build.Version()+", ") || !strings.Contains(got, ", go1.") {
		t.Errorf("%q", got)
	}
}
