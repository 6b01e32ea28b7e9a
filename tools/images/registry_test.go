package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// serve starts a registry on the loopback and returns its address.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestPush: a node that pulls by the printed digest gets the image, and its bill of materials can be
// found from there.
func TestPush(t *testing.T) {
	for kind, options := range map[string][]registry.Option{
		"with referrers":    {registry.WithReferrersSupport(true)},
		"without referrers": nil,
	} {
		t.Run(kind, func(t *testing.T) {
			root := newTree(t, nil)
			address := serve(t, registry.New(append(options, registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)))...))
			code, stdout, stderr := invoke(t, "-root", root, "-to", "push:"+address+"/team", "-tag", "v7", "-only", "agent")
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			reference := strings.TrimSpace(stdout)
			if !strings.HasPrefix(reference, address+"/team/spazio-agent@sha256:") {
				t.Fatalf("printed %q", reference)
			}
			digest, err := name.NewDigest(reference)
			if err != nil {
				t.Fatal(err)
			}
			index, err := remote.Index(digest)
			if err != nil {
				t.Fatal(err)
			}
			manifest, err := index.IndexManifest()
			if err != nil || len(manifest.Manifests) != 2 {
				t.Fatalf("pulled %+v, %v", manifest, err)
			}
			tagged, err := remote.Head(digest.Context().Tag("v7"))
			if err != nil || tagged.Digest.String() != digest.DigestStr() {
				t.Errorf("got tag of %v, %v", tagged, err)
			}
			for _, d := range manifest.Manifests {
				checkPulled(t, digest.Context().Digest(d.Digest.String()))
			}
		})
	}
}

func checkPulled(t *testing.T, digest name.Digest) {
	t.Helper()
	pulled, err := remote.Image(digest)
	if err != nil {
		t.Fatal(err)
	}
	referrers, err := remote.Referrers(digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := referrers.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].ArtifactType != string(spdx) {
		t.Fatalf("got bills of materials %+v, %v", manifest, err)
	}
	bill, err := remote.Image(digest.Context().Digest(manifest.Manifests[0].Digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := bill.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	document := must(io.ReadAll(must(layers[0].Uncompressed())))
	if _, err := (&source{log: io.Discard}).check("spazio-agent", pulled, document); err != nil {
		t.Error(err)
	}
}

// TestRefused: a registry that denies access is detected before the build, one that refuses images with
// the first one; neither leaves a file of digests.
func TestRefused(t *testing.T) {
	root := newTree(t, nil)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for kind, refuses := range map[string]struct{ address, want string }{
		"everything": {serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "go away", http.StatusForbidden)
		})), "403"},
		"uploads": {serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				return
			}
			http.Error(w, "read only", http.StatusForbidden)
		})), "403"},
		"connections": {strings.TrimPrefix(closed.URL, "http://"), "connect"},
	} {
		digests := filepath.Join(t.TempDir(), "digests.json")
		code, stdout, stderr := invoke(t, "-root", root, "-to", "push:"+refuses.address, "-digests", digests, "-only", "agent", "-platforms", "linux/"+runtime.GOARCH)
		if code != 1 || stdout != "" || !strings.Contains(stderr, refuses.want) || !strings.Contains(stderr, refuses.address) {
			t.Errorf("%s: exit code %d, %s%s", kind, code, stdout, stderr)
		}
		if _, err := os.Stat(digests); err == nil {
			t.Errorf("%s: digests were written", kind)
		}
	}
}
