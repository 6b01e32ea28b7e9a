package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	stdjson "encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spdx/tools-golang/json"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// TestOtherKubernetes: the scheduler for another minor version is built with that version's modules,
// and reports it, as do its licences, its bill of materials and its tag.
func TestOtherKubernetes(t *testing.T) {
	root := newTree(t, nil)
	dir := filepath.Join(t.TempDir(), "images")
	args := []string{"-root", root, "-to", "layout:" + dir, "-platforms", "linux/" + runtime.GOARCH, "-tag", "v0.2.0", "-kubernetes", "1.35"}
	if code, stdout, stderr := invoke(t, args...); code != 0 || !strings.HasPrefix(stdout, "registry.invalid/spazio/spazio-scheduler@") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	index, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(index, []byte("registry.invalid/spazio/spazio-scheduler:v0.2.0-k8s1.35\"")) {
		t.Errorf("got image index\n%s", index)
	}
	images := read(t, dir)
	if len(images) != 1 || images[0].name != scheduler {
		t.Fatalf("made %+v", images)
	}
	files, err := filesOf(images[0].parts[0])
	if err != nil {
		t.Fatal(err)
	}
	program := files["ko-app/spazio-scheduler"]
	if runtime.GOOS == "linux" {
		if got := start(t, program); got != "v1.35.4 of 35, as it was" {
			t.Errorf("got version %q", got)
		}
	}
	if got := string(files["var/run/ko/licenses/k8s.io/kubernetes@v1.35.4/LICENSE"]); got != "kubernetes' licence of then\n" {
		t.Errorf("got licence %q", got)
	}
	checkBill(t, images[0].parts[0].bill, program)
	if changes := git(t, root, "status", "--porcelain"); changes != "" {
		t.Errorf("changed %s", changes)
	}
}

// checkBill compares versions, places and sums of a bill with what the toolchain linked.
func checkBill(t *testing.T, document, program []byte) {
	t.Helper()
	bill, err := json.Read(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range info.Deps {
		if m.Replace == nil {
			continue
		}
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Replace.Sum, "h1:"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range bill.Packages {
			if p.PackageName != m.Path {
				continue
			}
			found++
			version := m.Replace.Version
			if p.PackageVersion != version || !strings.HasSuffix(p.PackageDownloadLocation, "/@v/"+version+".zip") ||
				len(p.PackageExternalReferences) != 1 || !strings.Contains(p.PackageExternalReferences[0].Locator, "@"+version+"?") ||
				len(p.PackageChecksums) != 1 || p.PackageChecksums[0].Value != hex.EncodeToString(sum) {
				t.Errorf("%s %s: %+v", m.Path, version, p)
			}
		}
	}
	if found != 2 {
		t.Errorf("got %d modules of another version, want 2", found)
	}
}

// TestOwnKubernetes: the tree's own version by its number yields the same image as without it.
func TestOwnKubernetes(t *testing.T) {
	root := newTree(t, nil)
	platform := []string{"-platforms", "linux/" + runtime.GOARCH}
	plain, named := made(t, root, append(platform, "-only", "scheduler")...), made(t, root, append(platform, "-kubernetes", "1.37")...)
	if len(named) != 1 || plain[0].digest != named[0].digest {
		t.Errorf("got %+v, by its number %+v", plain, named)
	}
}

// TestDigestsOfBoth: the scheduler for another Kubernetes is added to an existing file of digests,
// beside the tree's own; an invalid file stays as it was.
func TestDigestsOfBoth(t *testing.T) {
	root := newTree(t, nil)
	file := filepath.Join(t.TempDir(), "digests.json")
	platform := []string{"-platforms", "linux/" + runtime.GOARCH, "-digests", file}
	own := made(t, root, append(platform, "-only", "agent,scheduler")...)
	other := made(t, root, append(platform, "-kubernetes", "1.35")...)
	var got map[string]string
	if text, err := os.ReadFile(file); err != nil || stdjson.Unmarshal(text, &got) != nil {
		t.Fatalf("%s, %v", text, err)
	}
	want := map[string]string{
		"spazio-agent": own[0].digest.String(), "spazio-scheduler": own[1].digest.String(), "spazio-scheduler-k8s1.35": other[0].digest.String(),
	}
	if !maps.Equal(got, want) {
		t.Errorf("got digests %v, want %v", got, want)
	}
	if err := os.WriteFile(file, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := invoke(t, append(platform, "-root", root, "-to", "layout:"+filepath.Join(t.TempDir(), "images"), "-kubernetes", "1.35")...)
	if text, err := os.ReadFile(file); code != 1 || string(text) != "none" || !strings.Contains(stderr, "digests = ") {
		t.Errorf("exit code %d, %s; left is %q, %v", code, stderr, text, err)
	}
}

// TestKubernetesRefused: an unknown version is refused.
func TestKubernetesRefused(t *testing.T) {
	for _, minor := range []string{"1.34", "1", "v1.35"} {
		code, _, stderr := invoke(t, "-root", newTree(t, nil), "-to", "layout:"+filepath.Join(t.TempDir(), "images"), "-kubernetes", minor)
		if code != 1 || !strings.Contains(stderr, "has no workspace of it, and the tree's own is v1.37.2") {
			t.Errorf("%s: exit code %d, %s", minor, code, stderr)
		}
	}
}

// runtimeModule is made for one minor version of Kubernetes. The test beds and profiles of spazio-demo, which
// tests a scheduler, need it.
const runtimeModule = "sigs.k8s.io/controller-runtime"

// runtimes are its minor versions by those of Kubernetes.
var runtimes = map[string]string{"1.36": "v0.24", "1.35": "v0.23"}

// begunAfter are modules of Kubernetes that an older minor version lacks.
var begunAfter = map[string][]string{"1.35": {"k8s.io/streaming"}}

// TestWorkspaces: each workspace for another Kubernetes has this one's modules, and those of a single
// Kubernetes release, with their sums. Compiling and testing the scheduler with it takes minutes:
// RELEASING.md has the command.
func TestWorkspaces(t *testing.T) {
	own, toolchain, err := workspace("../../go.work")
	if err != nil {
		t.Fatal(err)
	}
	released := kubernetesModules(t, own)
	others, err := filepath.Glob("../kubernetes/*/go.work")
	if err != nil || len(others) == 0 {
		t.Fatalf("got %d workspaces, %v", len(others), err)
	}
	for _, file := range others {
		minor := filepath.Base(filepath.Dir(file))
		t.Run(minor, func(t *testing.T) {
			work, pinned, err := workspace(file)
			if err != nil {
				t.Fatal(err)
			}
			if pinned != toolchain || work.Go.Version != own.Go.Version {
				t.Errorf("go %s, toolchain %s", work.Go.Version, pinned)
			}
			if got, want := used(work, filepath.Dir(file)), used(own, "../.."); !slices.Equal(got, want) {
				t.Errorf("got modules %q, go.work has %q", got, want)
			}
			checkReplaced(t, file, minor, work, released)
		})
	}
}

// workspace parses a go.work, and returns the toolchain that it pins.
func workspace(file string) (*modfile.WorkFile, string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, "", err
	}
	work, err := modfile.ParseWork(file, text, nil)
	if err != nil {
		return nil, "", err
	}
	return work, work.Toolchain.Name, nil
}

// used returns the directories of a workspace's modules.
func used(work *modfile.WorkFile, dir string) []string {
	var dirs []string
	for _, use := range work.Use {
		dirs = append(dirs, filepath.Join(dir, use.Path))
	}
	slices.Sort(dirs)
	return dirs
}

// kubernetesModules returns the modules of Kubernetes' release that any of the workspace's modules
// requires.
func kubernetesModules(t *testing.T, work *modfile.WorkFile) []string {
	t.Helper()
	required := map[string]string{}
	for _, dir := range used(work, "../..") {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		mod, err := modfile.Parse(dir, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range mod.Require {
			required[r.Mod.Path] = r.Mod.Version
		}
	}
	version := required["k8s.io/kubernetes"]
	_, minorPatch, _ := strings.Cut(version, ".")
	var found []string
	for module, v := range required {
		if path.Dir(module) == "k8s.io" && (v == version || v == "v0."+minorPatch) {
			found = append(found, module)
		}
	}
	slices.Sort(found)
	if len(found) < 20 {
		t.Fatalf("%s: got %q", version, found)
	}
	return found
}

func checkReplaced(t *testing.T, file, minor string, work *modfile.WorkFile, released []string) {
	t.Helper()
	sums, err := os.ReadFile(file + ".sum")
	if err != nil {
		t.Fatal(err)
	}
	var replaced []string
	release := ""
	for _, r := range work.Replace {
		replaced = append(replaced, r.Old.Path)
		if r.Old.Path != r.New.Path || r.Old.Version != "" {
			t.Errorf("got replacement of %s by %s", r.Old, r.New)
		}
		if r.Old.Path == "k8s.io/kubernetes" {
			release = r.New.Version
		}
	}
	if semver.MajorMinor(release) != "v"+minor {
		t.Errorf("got Kubernetes releases %q", release)
	}
	_, minorPatch, _ := strings.Cut(release, ".")
	for _, r := range work.Replace {
		if v := r.New.Version; r.New.Path == runtimeModule && semver.MajorMinor(v) != runtimes[minor] || r.New.Path != runtimeModule && v != release && v != "v0."+minorPatch {
			t.Errorf("%s: got version %s, Kubernetes %s", r.New.Path, v, release)
		}
		for _, line := range []string{" h1:", "/go.mod h1:"} {
			if !bytes.Contains(sums, []byte("\n"+r.New.Path+" "+r.New.Version+line)) {
				t.Errorf("%s.sum has no%s of %s", file, line, r.New)
			}
		}
	}
	slices.Sort(replaced)
	released = append(slices.Clone(released), runtimeModule) // the last by its name
	want := slices.DeleteFunc(slices.Clone(released), func(m string) bool { return slices.Contains(begunAfter[minor], m) })
	if !slices.Equal(replaced, want) {
		t.Errorf("got replacements of %q, want %q", replaced, want)
	}
}
