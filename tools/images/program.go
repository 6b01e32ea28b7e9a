package main

import (
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// module is the prefix of all import paths.
const module = "github.com/spazio-scheduler/spazio"

// program is one image to be made.
type program struct {
	name      string // of the image: the program's
	path      string // import path
	platforms []v1.Platform
}

// scheduler is the one program that builds k8s.io/kubernetes, which takes minutes.
const scheduler = "spazio-scheduler"

// names are all programs that run in a cluster, as the chart's images.digests has
// them.
var names = []string{
	"spazio-agent", "spazio-agent-kube", "spazio-aggregator", "spazio-certs", "spazio-profiler", scheduler, "spazio-testbed",
}

// others are made where they are asked for alone: nothing that is installed runs them.
var others = []string{"spazio-social"}

// supported are the platforms of an image.
var supported = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

// programNamed finds a program by its name, with or without "spazio-" before it.
func programNamed(name string) (program, bool) {
	if !strings.HasPrefix(name, "spazio-") {
		name = "spazio-" + name
	}
	return program{name: name, path: path.Join(module, "cmd", name)}, slices.Contains(slices.Concat(names, others), name)
}
