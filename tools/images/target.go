package main

import (
	"context"
	"path"

	"github.com/google/go-containerregistry/pkg/name"
)

// target is where images are to go.
type target interface {
	// open makes sure that images can go there.
	open(ctx context.Context) (destination, error)
	// repository is the name that an image has there.
	repository(program string) string
}

// destination takes images. What others look at is whole or not there: files are
// only named when committed, a registry's tag when all it needs is there.
type destination interface {
	add(ctx context.Context, image built) error
	commit(ctx context.Context) error
	// abandon leaves nothing of what was not committed; after commit it does nothing.
	abandon() error
}

// unpublished is the registry that the chart names. Images in files have
// its names, so that a node that imports them runs the manifests as they are.
const unpublished = "registry.invalid/spazio"

func checkTag(tag string) error {
	if _, err := name.NewTag(path.Join(unpublished, scheduler)+":"+tag, name.StrictValidation); err != nil || tag == "" {
		return invalid("tag", tag, "want letters, digits, . _ and -, 128 at most")
	}
	return nil
}
