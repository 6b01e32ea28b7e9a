//go:build realnode && linux

package realnode

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"time"
)

// A registry serves the images of an archive of tools/images by their digests, and records the
// requests. It is safe for concurrent use.
type registry struct {
	blobs  map[string][]byte // by digest
	images map[string]string // digests, by program

	mu        sync.Mutex
	requested map[string]bool
}

// descriptor is an OCI descriptor, of an index.
type descriptor struct {
	Digest      string
	Annotations map[string]string
}

func openRegistry(t *testing.T, archive string) *registry {
	t.Helper()
	r := &registry{blobs: map[string][]byte{}, images: map[string]string{}, requested: map[string]bool{}}
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var index struct{ Manifests []descriptor }
	for from := tar.NewReader(file); ; {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
		if header.Name == "index.json" {
			if err := json.Unmarshal(text, &index); err != nil {
				t.Fatalf("%s: %v", archive, err)
			}
		}
		r.blobs["sha256:"+path.Base(header.Name)] = text
	}
	for _, one := range index.Manifests {
		if name, _, found := strings.Cut(path.Base(one.Annotations["io.containerd.image.name"]), ":"); found {
			r.images[name] = one.Digest
		}
	}
	if len(r.images) == 0 {
		t.Fatalf("%s has no images", archive)
	}
	return r
}

// serve returns the registry's loopback address, which containerd contacts by plain HTTP.
func (r *registry) serve(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v2/spazio/{program}/{kind}/{digest}", func(w http.ResponseWriter, request *http.Request) {
		digest := request.PathValue("digest")
		text, found := r.blobs[digest]
		if !found {
			http.NotFound(w, request)
			return
		}
		if request.Method == http.MethodGet {
			r.mu.Lock()
			r.requested[digest] = true
			r.mu.Unlock()
		}
		w.Header().Set("Docker-Content-Digest", digest)
		w.Header().Set("Content-Type", "application/octet-stream")
		if request.PathValue("kind") == "manifests" {
			w.Header().Set("Content-Type", mediaType(text))
		}
		http.ServeContent(w, request, "", time.Time{}, strings.NewReader(string(text)))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// mediaType returns a manifest's own media type.
func mediaType(manifest []byte) string {
	var m struct{ MediaType string }
	_ = json.Unmarshal(manifest, &m) // an invalid manifest has none
	return m.MediaType
}

// fetched returns how many of the blobs of a program's image were requested, its manifest included.
func (r *registry) fetched(t *testing.T, program string) (fetched, of int) {
	t.Helper()
	digest := r.images[program]
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	if err := json.Unmarshal(r.blobs[digest], &manifest); err != nil || manifest.Config.Digest == "" {
		t.Fatalf("%s@%s is no image of one platform: %v", program, digest, err)
	}
	all := map[string]bool{digest: true, manifest.Config.Digest: true}
	for _, layer := range manifest.Layers {
		all[layer.Digest] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for one := range maps.Keys(all) {
		if r.requested[one] {
			fetched++
		}
	}
	return fetched, len(all)
}
