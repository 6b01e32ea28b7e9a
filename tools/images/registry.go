package main

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// remoteRegistry is HOST[:PORT][/PATH], below which each image has a repository. Who may
// push is what docker's or podman's login has left.
type remoteRegistry struct {
	address string
	tag     string
	options []name.Option
}

func newRegistry(address, tag string, insecure bool) (target, error) {
	r := &remoteRegistry{address: address, tag: tag, options: []name.Option{name.StrictValidation}}
	if insecure {
		r.options = append(r.options, name.Insecure)
	}
	// A first part that is no host would be taken for a path at Docker Hub.
	host, _, _ := strings.Cut(address, "/")
	if strings.Contains(address, "//") || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return nil, invalid("to", "push:"+address, "want HOST[:PORT][/PATH]")
	}
	if _, err := r.reference(scheduler); err != nil {
		return nil, invalid("to", "push:"+address, err.Error())
	}
	return r, nil
}

func (r *remoteRegistry) repository(program string) string { return path.Join(r.address, program) }

func (r *remoteRegistry) reference(program string) (name.Tag, error) {
	return name.NewTag(r.repository(program)+":"+r.tag, r.options...)
}

// open asks the registry for its version, so that an address that is none, or lets
// nobody in, is known before anything is built.
func (r *remoteRegistry) open(ctx context.Context) (destination, error) {
	reference, err := r.reference(scheduler)
	if err != nil {
		return nil, err
	}
	who, err := authn.Resolve(ctx, authn.DefaultKeychain, reference.Context())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.address, err)
	}
	scopes := []string{reference.Scope(transport.PushScope)}
	if _, err := transport.NewWithContext(ctx, reference.Registry, who, remote.DefaultTransport, scopes); err != nil {
		return nil, fmt.Errorf("%s: %w", r.address, err)
	}
	pusher, err := remote.NewPusher(remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("spazio-images"))
	return &pushed{r, pusher}, err
}

// pushed is a registry that takes images.
type pushed struct {
	*remoteRegistry
	pusher *remote.Pusher
}

// add puts the bills behind the image: they refer to it.
func (p *pushed) add(ctx context.Context, image built) error {
	reference, err := p.reference(image.name)
	if err != nil {
		return err
	}
	if err := p.pusher.Push(ctx, reference, image.result); err != nil {
		return fmt.Errorf("push %s: %w", reference, err)
	}
	for _, b := range image.bills {
		referrer, err := b.referrer()
		if err != nil {
			return err
		}
		digest, err := referrer.Digest()
		if err != nil {
			return err
		}
		if err := p.pusher.Push(ctx, reference.Digest(digest.String()), referrer); err != nil {
			return fmt.Errorf("push the bill of materials of %s: %w", reference, err)
		}
	}
	return nil
}

func (p *pushed) commit(context.Context) error { return nil }

func (p *pushed) abandon() error { return nil }
