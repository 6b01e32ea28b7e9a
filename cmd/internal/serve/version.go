package serve

import "runtime/debug"

// Version is what the build recorded: a tag if it was built by version, the
// commit if it was built from a clone.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && version == "(devel)" {
			version += " " + s.Value
		}
	}
	return version
}
