package main

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// spdx is the media type of a bill of materials.
const spdx types.MediaType = "application/spdx+json"

// referrer is the bill as OCI 1.1 keeps it in registries and layouts: a manifest
// whose subject is the image.
func (b bill) referrer() (v1.Image, error) {
	manifest := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), spdx)
	manifest, err := mutate.AppendLayers(manifest, static.NewLayer(b.document, spdx))
	if err != nil {
		return nil, err
	}
	attached, ok := mutate.Subject(manifest, b.subject).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("bill of materials of %s: not an image", b.subject.Digest)
	}
	return attached, nil
}

// describe is the descriptor that others name an image or index by.
func describe(entity any) (v1.Descriptor, error) {
	describable, ok := entity.(partial.Describable)
	if !ok {
		return v1.Descriptor{}, fmt.Errorf("%T has no descriptor", entity)
	}
	digest, err := describable.Digest()
	if err != nil {
		return v1.Descriptor{}, err
	}
	size, err := describable.Size()
	if err != nil {
		return v1.Descriptor{}, err
	}
	mediaType, err := describable.MediaType()
	return v1.Descriptor{MediaType: mediaType, Size: size, Digest: digest}, err
}
