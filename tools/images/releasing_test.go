package main

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// releasing matches the commands in RELEASING.md that this test runs.
var releasing = regexp.MustCompile("(?ms)^<!-- run: TestReleasing of tools/images -->\n```sh\n(.*?)^```$")

// TestReleasing: the documented commands build every image, the scheduler's under each of its tags, and
// one file with their digests.
func TestReleasing(t *testing.T) {
	text, err := os.ReadFile("../../RELEASING.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := releasing.FindAllSubmatch(text, -1)
	if len(blocks) != 1 {
		t.Fatalf("%d blocks", len(blocks))
	}
	over := map[string]string{}
	for _, program := range names {
		if file := "cmd/" + program + "/main.go"; tiny[file] == "" {
			over[file] = "package main\n\nfunc main() {}\n"
		}
	}
	maps.Copy(over, chartIn(t))
	root := newTree(t, over)
	address := serve(t, registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))))
	dir := t.TempDir()
	for line := range strings.Lines(string(blocks[0][1])) {
		args, ours := strings.CutPrefix(strings.TrimSpace(line), "GOWORK=off go run -C tools/images . ")
		if !ours {
			t.Fatalf("unexpected command: %s", line)
		}
		args = strings.NewReplacer("REGISTRY", address+"/team", "/tmp/", dir+"/").Replace(args)
		if code, _, stderr := invoke(t, append(strings.Fields(args), "-root", root)...); code != 0 {
			t.Fatalf("%s: exit code %d: %s", line, code, stderr)
		}
	}
	var digests map[string]string
	if text, err := os.ReadFile(filepath.Join(dir, "digests.json")); err != nil || json.Unmarshal(text, &digests) != nil {
		t.Fatalf("%s, %v", text, err)
	}
	if len(digests) != len(names)+2 {
		t.Errorf("got digests of %d images: %v", len(digests), digests)
	}
	tagged := func(image string) string {
		tag, err := name.NewTag(address + "/team/" + image)
		if err != nil {
			t.Fatal(err)
		}
		found, err := remote.Head(tag)
		if err != nil {
			t.Fatalf("%s: %v", image, err)
		}
		return found.Digest.String()
	}
	for _, program := range names {
		if got := tagged(program + ":v0.2.0"); got != digests[program] {
			t.Errorf("%s: got %s, in the file %s", program, got, digests[program])
		}
	}
	if own := tagged(scheduler + ":v0.2.0-k8s1.37"); own != digests[scheduler] {
		t.Errorf("the tree's own scheduler: got %s, in the file %v", own, digests)
	}
	for _, minor := range []string{"1.36", "1.35"} {
		if other := tagged(scheduler + ":v0.2.0-k8s" + minor); other != digests[scheduler+"-k8s"+minor] || other == digests[scheduler] {
			t.Errorf("scheduler of %s: got %s, in the file %v", minor, other, digests)
		}
	}
	tagged("spazio:0.1.0-dev") // the chart
	if digests[scheduler+"-k8s1.36"] == digests[scheduler+"-k8s1.35"] {
		t.Errorf("got one image for two versions of Kubernetes: %v", digests)
	}
}
