package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// unprivileged is the user that images run as, as the tree's own do.
const unprivileged = 65532

// An image holds one static program and nothing else but an empty /tmp.
type image struct {
	name      string
	program   string
	as        string // its name in the image
	arguments []string
}

// A sandbox's process is called pause on every node there is, by which agents know it.
var images = []image{
	{name: "localhost/pause:1", program: "work", as: "pause", arguments: []string{"pause"}},
	{name: "localhost/work:1", program: "work", as: "work"},
}

// write writes the image of a program in bin as an archive.
func (i image) write(bin, dir string) error {
	tag, err := name.NewTag(i.name)
	if err != nil {
		return err
	}
	layer, err := layerOf(filepath.Join(bin, i.program), i.as)
	if err != nil {
		return err
	}
	made, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := made.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Entrypoint = append([]string{"/" + i.as}, i.arguments...)
	config.Config.User = fmt.Sprintf("%d:%d", unprivileged, unprivileged)
	if made, err = mutate.ConfigFile(made, config); err != nil {
		return err
	}
	file := strings.NewReplacer("/", "_", ":", "_").Replace(i.name) + ".tar"
	return tarball.WriteToFile(filepath.Join(dir, file), tag, made)
}

func layerOf(program, as string) (v1.Layer, error) {
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, h := range []*tar.Header{
		{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777},
		{Typeflag: tar.TypeReg, Name: as, Mode: 0o755, Size: int64(len(text))},
	} {
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromReader(&archive)
}
