package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/ko/pkg/build"
	"github.com/sigstore/cosign/v3/pkg/oci"
)

// built is the image of a program: an index of as many platforms as were asked
// for, or of one the image itself.
type built struct {
	name   string
	result build.Result
	digest v1.Hash
	bills  []bill
}

// bill is an SPDX document of what an image, or an index, is made of.
type bill struct {
	subject  v1.Descriptor
	document []byte
}

// build makes a program's image. The environment has to be pinned.
func (s *source) build(ctx context.Context, p program) (built, error) {
	config, err := s.config(p)
	if err != nil {
		return built{}, err
	}
	options := []build.Option{
		build.WithBaseImages(func(ctx context.Context, _ string) (name.Reference, build.Result, error) { return s.bases(ctx, p) }),
		build.WithConfig(map[string]build.Config{p.path: config}),
		build.WithCreationTime(v1.Time{Time: s.created}),
		build.WithKoDataCreationTime(v1.Time{Time: s.created}),
		build.WithTrimpath(true),
		build.WithPlatforms("all"),
		build.WithSPDX(koVersion()),
		build.WithJobs(1),
	}
	for label, value := range map[string]string{
		"org.opencontainers.image.title":    p.name,
		"org.opencontainers.image.source":   "https://" + module,
		"org.opencontainers.image.revision": s.revision,
		"org.opencontainers.image.licenses": "Apache-2.0",
	} {
		options = append(options, build.WithLabel(label, value))
	}
	builder, err := build.NewGo(ctx, s.root, options...)
	if err != nil {
		return built{}, err
	}
	result, err := builder.Build(ctx, build.StrictScheme+p.path)
	if err != nil {
		return built{}, err
	}
	digest, err := result.Digest()
	if err != nil {
		return built{}, err
	}
	bills, err := billsOf(result)
	if err != nil {
		return built{}, err
	}
	for i := range bills {
		if bills[i].document, err = s.correct(bills[i].document); err != nil {
			return built{}, err
		}
	}
	return built{p.name, result, digest, bills}, nil
}

// config is how the toolchain builds the program.
func (s *source) config(p program) (build.Config, error) {
	config := build.Config{
		Flags:   build.FlagArray{"-buildvcs=" + strconv.FormatBool(s.stamped)},
		Ldflags: build.StringArray{"-s", "-w"},
	}
	if p.name != scheduler {
		return config, nil
	}
	// Without it, kube-scheduler says that it is v0.0.0-master.
	version, err := s.kubernetesVersion()
	config.Ldflags = append(config.Ldflags, "-X", "k8s.io/component-base/version.gitVersion="+version)
	return config, err
}

// bases are what the image is built on, a platform each.
func (s *source) bases(ctx context.Context, p program) (name.Reference, build.Result, error) {
	reference, err := name.ParseReference(baseReference)
	if err != nil {
		return nil, nil, err
	}
	images := make([]v1.Image, len(p.platforms))
	for i, platform := range p.platforms {
		licences, err := s.notices(ctx, p.path, platform)
		if err != nil {
			return nil, nil, err
		}
		if images[i], err = base(platform, append(licences, system...), s.created); err != nil {
			return nil, nil, err
		}
	}
	return reference, index(p.platforms, images), nil
}

// billsOf takes from ko's result the documents that it attached.
func billsOf(result build.Result) ([]bill, error) {
	entity, ok := result.(oci.SignedEntity)
	if !ok {
		return nil, fmt.Errorf("ko made a %T without bills of materials", result)
	}
	first, err := billOf(entity)
	if err != nil {
		return nil, err
	}
	bills := []bill{first}
	index, ok := result.(oci.SignedImageIndex)
	if !ok {
		return bills, nil
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, d := range manifest.Manifests {
		image, err := index.SignedImage(d.Digest)
		if err != nil {
			return nil, err
		}
		next, err := billOf(image)
		if err != nil {
			return nil, err
		}
		bills = append(bills, next)
	}
	return bills, nil
}

func billOf(entity oci.SignedEntity) (bill, error) {
	attached, err := entity.Attachment("sbom")
	if err != nil {
		return bill{}, fmt.Errorf("bill of materials: %w", err)
	}
	document, err := attached.Payload()
	if err != nil {
		return bill{}, fmt.Errorf("bill of materials: %w", err)
	}
	subject, err := describe(entity)
	return bill{subject, document}, err
}

// koVersion is the version that this program was built with, as its documents say.
func koVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, d := range info.Deps {
		if d.Path == "github.com/google/ko" {
			return d.Version
		}
	}
	return ""
}
