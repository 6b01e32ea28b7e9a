package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// chart is what -only calls the Helm chart, and chartName its own name, which Helm wants to be that of
// the repository.
const (
	chart          = "chart"
	chartName      = "spazio"
	chartDirectory = "cmd/deploy/chart"
)

// The media types of a chart in a registry.
const (
	chartConfig  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartContent types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// makeChart puts the chart where images go, with its own version as the tag. Its values name the
// images there, by the digests that are known and by their tag.
func (s *source) makeChart(ctx context.Context) (name.Digest, error) {
	files, err := s.chartFiles()
	if err != nil {
		return name.Digest{}, err
	}
	var about struct {
		Version, Description string
	}
	if err := yaml.Unmarshal(files["Chart.yaml"], &about); err != nil {
		return name.Digest{}, fmt.Errorf("Chart.yaml: %w", err)
	}
	to := s.to
	to.tag = strings.ReplaceAll(about.Version, "+", "_") // as Helm does: tags have no +
	tag, err := to.tagOf(chartName)
	if err != nil {
		return name.Digest{}, invalid("version of the chart", about.Version, err.Error())
	}
	image, err := newChartImage(files, s.Created, map[string]string{
		"org.opencontainers.image.title": chartName, "org.opencontainers.image.version": about.Version,
		"org.opencontainers.image.description": about.Description, "org.opencontainers.image.revision": s.Revision,
		"org.opencontainers.image.source": "https://" + module, "org.opencontainers.image.created": s.Created.Format(time.RFC3339),
	})
	if err != nil {
		return name.Digest{}, err
	}
	if err := to.put(ctx, s.made, tag, image); err != nil {
		return name.Digest{}, err
	}
	digest, err := image.Digest()
	return tag.Context().Digest(digest.String()), err
}

// chartFiles are the chart's by their path in it.
func (s *source) chartFiles() (map[string][]byte, error) {
	files := map[string][]byte{}
	tree := os.DirFS(filepath.Join(s.Dir, chartDirectory))
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if path == "ci" && err == nil { // as .helmignore says
			return fs.SkipDir
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		files[path], err = fs.ReadFile(tree, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	digests, err := json.Marshal(s.digests) // which is YAML, too
	if err != nil {
		return nil, err
	}
	for _, change := range []struct{ file, line, by string }{
		{"values.yaml", "  registry: " + unpublished + "\n", fmt.Sprintf("  registry: %q\n", cmp.Or(s.to.registry, unpublished))},
		{"values.yaml", "  tag: dev\n", fmt.Sprintf("  tag: %q\n", s.to.tag)},
		{"values.yaml", "  digests: {}\n", fmt.Sprintf("  digests: %s\n", digests)},
		{"Chart.yaml", "appVersion: dev\n", fmt.Sprintf("appVersion: %q\n", s.to.tag)},
	} {
		before, after, found := bytes.Cut(files[change.file], []byte(change.line))
		if !found {
			return nil, fmt.Errorf("%s/%s has no line %q", chartDirectory, change.file, change.line)
		}
		files[change.file] = bytes.Join([][]byte{before, after}, []byte(change.by))
	}
	return files, nil
}

// chartImage is a manifest with the chart's metadata as its configuration and its package as the one
// layer.
type chartImage struct {
	config, manifest []byte
	layer            v1.Layer
}

func newChartImage(files map[string][]byte, created time.Time, annotations map[string]string) (v1.Image, error) {
	packed, err := pack(files, created)
	if err != nil {
		return nil, err
	}
	i := chartImage{layer: static.NewLayer(packed, chartContent)}
	if i.config, err = yaml.YAMLToJSON(files["Chart.yaml"]); err != nil {
		return nil, err
	}
	config, err := partial.Descriptor(static.NewLayer(i.config, chartConfig))
	if err != nil {
		return nil, err
	}
	content, err := partial.Descriptor(i.layer)
	if err != nil {
		return nil, err
	}
	if i.manifest, err = json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: *config, Layers: []v1.Descriptor{*content}, Annotations: annotations,
	}); err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&i)
}

func (i *chartImage) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

func (i *chartImage) RawConfigFile() ([]byte, error) { return i.config, nil }

func (i *chartImage) RawManifest() ([]byte, error) { return i.manifest, nil }

func (i *chartImage) LayerByDigest(digest v1.Hash) (partial.CompressedLayer, error) {
	if has, err := i.layer.Digest(); err != nil || has != digest {
		return nil, fmt.Errorf("the chart has no layer %v: %w", digest, cmp.Or(err, fs.ErrNotExist))
	}
	return i.layer, nil
}

// pack is the archive of a chart's files, in the order of their names, as of a time.
func pack(files map[string][]byte, created time.Time) ([]byte, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: chartName + "/" + path, Mode: 0o644, Size: int64(len(files[path])), ModTime: created}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(files[path]); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), zipped.Close())
	return packed.Bytes(), err
}
