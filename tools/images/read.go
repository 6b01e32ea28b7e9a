package main

import (
	"fmt"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// image is one of a layout.
type image struct {
	name   string
	digest v1.Hash
	parts  []part
}

// part is the image of one platform.
type part struct {
	v1.Image
	platform string
	bill     []byte
}

// read returns the images of a layout with their bills of materials.
func read(from layout.Path) ([]image, error) {
	root, err := from.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		return nil, err
	}
	bills, err := billsBySubject(root, manifest)
	if err != nil {
		return nil, err
	}
	var images []image
	for _, d := range manifest.Manifests {
		reference := d.Annotations[containerdName]
		if reference == "" {
			continue
		}
		name, _, _ := strings.Cut(path.Base(reference), ":")
		parts, err := partsOf(root, d, bills)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		images = append(images, image{name, d.Digest, parts})
	}
	return images, nil
}

// billsBySubject finds the documents that refer to an image, by its digest.
func billsBySubject(root v1.ImageIndex, manifest *v1.IndexManifest) (map[v1.Hash][]byte, error) {
	bills := map[v1.Hash][]byte{}
	for _, d := range manifest.Manifests {
		if d.Annotations[containerdName] != "" {
			continue
		}
		referrer, err := root.Image(d.Digest)
		if err != nil {
			return nil, err
		}
		described, err := referrer.Manifest()
		if err != nil {
			return nil, err
		}
		if described.Subject == nil || len(described.Layers) != 1 {
			return nil, fmt.Errorf("%s: not a bill of materials", d.Digest)
		}
		document, err := referrer.LayerByDigest(described.Layers[0].Digest)
		if err != nil {
			return nil, err
		}
		if bills[described.Subject.Digest], err = content(document); err != nil {
			return nil, err
		}
	}
	return bills, nil
}

// partsOf returns the image of each platform.
func partsOf(root v1.ImageIndex, d v1.Descriptor, bills map[v1.Hash][]byte) ([]part, error) {
	descriptors := []v1.Descriptor{d}
	if d.MediaType.IsIndex() {
		index, err := root.ImageIndex(d.Digest)
		if err != nil {
			return nil, err
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			return nil, err
		}
		root, descriptors = index, manifest.Manifests
	}
	var parts []part
	for _, d := range descriptors {
		img, err := root.Image(d.Digest)
		if err != nil {
			return nil, err
		}
		config, err := img.ConfigFile()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{img, config.OS + "/" + config.Architecture, bills[d.Digest]})
	}
	return parts, nil
}
