package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"golang.org/x/mod/modfile"
	xmodule "golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// The tree is written for one minor version of Kubernetes, that of cmd/go.mod. Of others
// the scheduler is made by a workspace of the same modules which replaces Kubernetes' own,
// with a build tag such as kubernetes1.35 for what that version has otherwise.
const (
	kubernetesModule = "k8s.io/kubernetes"
	otherKubernetes  = "tools/kubernetes" // a directory a minor version, with a go.work
)

var minorVersion = regexp.MustCompile(`^1\.[1-9][0-9]*$`)

// checkKubernetes refuses what is no minor version, and other programs than the scheduler:
// they are the same for all.
func checkKubernetes(minor, only string) error {
	if !minorVersion.MatchString(minor) {
		return invalid("kubernetes", minor, "want a minor version, such as 1.35")
	}
	if p, _ := programNamed(only); only != "" && p.name != scheduler {
		return invalid("kubernetes", minor, "the scheduler alone is made of it, not "+only)
	}
	return nil
}

// workspaceOf is the file of the workspace that has a minor version of Kubernetes, the
// tree's own for "", and the build tag by which the tree is written for that version.
func (s *source) workspaceOf(kubernetes string) (file, tag string, err error) {
	own := filepath.Join(s.root, "go.work")
	if kubernetes == "" {
		return own, "", nil
	}
	version, err := s.required(kubernetesModule)
	if err != nil {
		return "", "", err
	}
	has := strings.TrimPrefix(semver.MajorMinor(version), "v")
	if kubernetes == has {
		return own, "", nil
	}
	others, err := filepath.Glob(filepath.Join(s.root, otherKubernetes, "*", "go.work"))
	if err != nil {
		return "", "", err
	}
	known := []string{has}
	for _, file := range others {
		minor := filepath.Base(filepath.Dir(file))
		if minor == kubernetes {
			return file, "kubernetes" + minor, nil
		}
		known = append(known, minor)
	}
	return "", "", invalid("kubernetes", kubernetes, "there are "+strings.Join(known, ", "))
}

// digestName is what a program's image goes by in the file of digests: the scheduler of
// another Kubernetes stands beside that of the tree's own.
func (s *source) digestName(program string) string {
	if minor, other := strings.CutPrefix(s.tags, "kubernetes"); other {
		return program + "-k8s" + minor
	}
	return program
}

// copyReplaced replaces what the workspace replaces: Kubernetes by another version of it, and
// nothing else, for nobody who reads the modules would know.
func (s *source) copyReplaced(work *modfile.WorkFile) error {
	for _, r := range s.work.Replace {
		if r.Old.Version != "" || r.Old.Path != r.New.Path || r.New.Version == "" || path.Dir(r.Old.Path) != "k8s.io" {
			return invalid(s.workspace, "replace "+r.Old.Path, "only modules may have any, and Kubernetes be of another version")
		}
		if err := work.AddReplace(r.Old.Path, "", r.New.Path, r.New.Version); err != nil {
			return err
		}
	}
	return nil
}

// kubernetesVersion is the one that the workspace selects.
func (s *source) kubernetesVersion() (string, error) {
	for _, r := range s.work.Replace {
		if r.Old.Path == kubernetesModule {
			return r.New.Version, nil
		}
	}
	return s.required(kubernetesModule)
}

// required is the version of a module that the programs require.
func (s *source) required(path string) (string, error) {
	file := filepath.Join(s.root, "cmd", "go.mod")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", invalid("root", s.root, err.Error())
	}
	mod, err := modfile.ParseLax(file, text, nil)
	if err != nil {
		return "", invalid("root", s.root, err.Error())
	}
	for _, r := range mod.Require {
		if r.Mod.Path == path {
			return r.Mod.Version, nil
		}
	}
	return "", invalid(file, path, "it is not required")
}

// correct returns a bill of materials with the modules that the workspace selects in the
// place of those that are required, which are all that ko looks at.
func (s *source) correct(document []byte) ([]byte, error) {
	if len(s.work.Replace) == 0 {
		return document, nil
	}
	bill, err := json.Read(bytes.NewReader(document))
	if err != nil {
		return nil, fmt.Errorf("bill of materials: %w", err)
	}
	sums, err := s.replacedSums()
	if err != nil {
		return nil, err
	}
	for _, p := range bill.Packages {
		i := slices.IndexFunc(s.work.Replace, func(r *modfile.Replace) bool { return r.Old.Path == p.PackageName })
		if i < 0 {
			continue
		}
		required, selected := p.PackageVersion, s.work.Replace[i].New
		sum, ok := sums[selected]
		if !ok {
			return nil, invalid(s.workspace+".sum", selected.String(), "it has no sum of it")
		}
		p.PackageVersion = selected.Version
		p.PackageDownloadLocation = strings.ReplaceAll(p.PackageDownloadLocation, "/@v/"+required, "/@v/"+selected.Version)
		for _, r := range p.PackageExternalReferences {
			r.Locator = strings.ReplaceAll(r.Locator, "@"+required, "@"+selected.Version)
		}
		p.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: sum}}
	}
	var corrected bytes.Buffer
	err = json.Write(bill, &corrected)
	return corrected.Bytes(), err
}

// replacedSums are what go.work.sum says of modules, in hexadecimal digits.
func (s *source) replacedSums() (map[xmodule.Version]string, error) {
	text, err := os.ReadFile(s.workspace + ".sum")
	if err != nil {
		return nil, err
	}
	sums := map[xmodule.Version]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(fields[2], "h1:"))
		if err != nil {
			return nil, invalid(s.workspace+".sum", fields[0], err.Error())
		}
		sums[xmodule.Version{Path: fields[0], Version: fields[1]}] = hex.EncodeToString(raw)
	}
	return sums, nil
}
