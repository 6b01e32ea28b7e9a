// Package build says which program this is: to people, to peers and to Prometheus.
package build

import (
	"cmp"
	"runtime/debug"
)

// Version is what the build recorded: the tag if it was built by version, if it
// was built from a clone the commit as a pseudo-version, with +dirty where files
// had changed. It is "(devel)" where the toolchain recorded neither, which it does
// not for go run and go test unless they get -buildvcs=true.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unversioned
	}
	return cmp.Or(info.Main.Version, unversioned)
}

// unversioned is what the toolchain calls a build of no version.
const unversioned = "(devel)"
