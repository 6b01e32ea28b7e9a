package serve

import (
	"cmp"
	"runtime/debug"
)

// unversioned is what the toolchain calls a build of no version.
const unversioned = "(devel)"

// Version is what the build recorded: a tag if it was built by version, the
// commit if it was built from a clone, "(devel)" if it says neither.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unversioned
	}
	version := cmp.Or(info.Main.Version, unversioned)
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && version == unversioned {
			version += " " + s.Value
		}
	}
	return version
}
