package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// parseVersion completes v0.N to v0.N.0.
func parseVersion(text string) (string, error) {
	version := semver.Canonical(text)
	if version == "" || semver.Build(text) != "" {
		return "", invalid("VERSION", text, "want vMAJOR.MINOR or vMAJOR.MINOR.PATCH")
	}
	if major := semver.Major(version); major != "v0" && major != "v1" {
		return "", invalid("VERSION", text, "from v2 on the modules' paths would have to name it")
	}
	return version, nil
}

// set has every module of the tree require its siblings at one version: the published as
// their users will get them, the others as `go mod tidy` would. All are changed or none.
func set(ctx context.Context, o options) error {
	version, err := parseVersion(o.argument)
	if err != nil {
		return err
	}
	t, err := open(ctx, o.root)
	if err != nil {
		return err
	}
	changed := map[string][]byte{}
	for _, m := range append(t.published, t.others...) {
		name := filepath.Join(t.root, filepath.FromSlash(m.dir), "go.mod")
		before, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		after, err := t.requiring(m, version)
		if err != nil {
			return err
		}
		if !bytes.Equal(before, after) {
			changed[name] = after
		}
	}
	for name, text := range changed {
		if err := os.WriteFile(name, text, 0o666); err != nil {
			return err
		}
	}
	fmt.Fprintf(o.stdout, "%d go.mod files require siblings at %s now\n", len(changed), version)
	return nil
}

// requiring is the module's go.mod with its siblings at the version.
func (t *tree) requiring(m *module, version string) ([]byte, error) {
	for _, r := range t.siblings(m) {
		if err := m.file.AddRequire(r.Mod.Path, version); err != nil {
			return nil, err
		}
	}
	return modfile.Format(m.file.Syntax), nil
}
