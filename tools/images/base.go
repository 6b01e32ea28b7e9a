package main

import (
	"archive/tar"
	"bytes"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is whom a program runs as: no name, for a kubelet that is to refuse root has
// to see a number.
const user = "65532:65532"

// baseReference is how ko calls the base in annotations. It is nowhere to be pulled.
const baseReference = "registry.invalid/spazio/base"

// file is one that an image holds beside its program. A name that ends in / is a
// directory's.
type file struct {
	name    string
	mode    int64
	content []byte
}

// system are the files of every image: who its user is, and a directory for
// temporary files where the root can be written. There is no shell, and no public
// authorities, for the programs trust their cluster's alone.
var system = []file{
	{name: "etc/", mode: 0o755},
	{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
	{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
	{name: "tmp/", mode: 0o1777},
}

// base makes the image that a program's is built on.
func base(platform v1.Platform, files []file, created time.Time) (v1.Image, error) {
	layer, err := layerOf(files, created)
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), mutate.Addendum{
		Layer:   layer,
		History: v1.History{Author: "spazio", Created: v1.Time{Time: created}, Comment: "user, /tmp and licences"},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = platform.OS, platform.Architecture
	config.Created = v1.Time{Time: created}
	config.Config = v1.Config{User: user, WorkingDir: "/"}
	return mutate.ConfigFile(image, config)
}

// index joins the bases of several platforms.
func index(platforms []v1.Platform, bases []v1.Image) v1.ImageIndex {
	joined := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, image := range bases {
		joined = mutate.AppendManifests(joined, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{MediaType: types.OCIManifestSchema1, Platform: &platforms[i]},
		})
	}
	return joined
}

func layerOf(files []file, created time.Time) (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: created, Typeflag: tar.TypeReg}
		if f.name[len(f.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buf.Bytes())), nil
	}, tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
}
