package main

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/ko/pkg/build"
	"github.com/sigstore/cosign/v3/pkg/oci"
	"github.com/sigstore/cosign/v3/pkg/oci/walk"
	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

// spdx is the media type of a bill of materials.
const spdx types.MediaType = "application/spdx+json"

// limits are how many bytes the files of an image may have: what each node
// holds, and each region.
var limits = map[string]int64{"spazio-agent": 25e6, "spazio-aggregator": 25e6}

// bills are the documents that ko has attached to an image, and to an index and its images, as OCI
// 1.1 keeps them in registries and layouts: manifests whose subject is the image. It checks the images.
func (s *source) bills(ctx context.Context, program string, result build.Result) (bills []v1.Image, err error) {
	entity, ok := result.(oci.SignedEntity)
	if !ok {
		return nil, fmt.Errorf("ko made a %T without bills of materials", result)
	}
	err = walk.SignedEntity(ctx, entity, func(_ context.Context, e oci.SignedEntity) error {
		attached, err := e.Attachment("sbom")
		if err != nil {
			return fmt.Errorf("bill of materials: %w", err)
		}
		document, err := attached.Payload()
		if err != nil {
			return fmt.Errorf("bill of materials: %w", err)
		}
		if image, ok := e.(v1.Image); ok {
			if document, err = s.check(program, image, document); err != nil {
				return err
			}
		}
		manifest, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), spdx), static.NewLayer(document, spdx))
		if err != nil {
			return err
		}
		subject, err := partial.Descriptor(e.(partial.Describable))
		if err != nil {
			return err
		}
		bills = append(bills, mutate.Subject(manifest, *subject).(v1.Image))
		return nil
	})
	return bills, err
}

// check compares an image with what it should be, and returns its bill of materials with the modules
// that the workspace selects in the place of those that are required, which are all that ko looks at.
func (s *source) check(program string, image v1.Image, document []byte) ([]byte, error) {
	files, err := filesOf(image)
	if err != nil {
		return nil, err
	}
	size := int64(0)
	for _, content := range files {
		size += int64(len(content))
	}
	if limit := limits[program]; limit > 0 && size > limit {
		return nil, fmt.Errorf("its files have %d bytes, it may have %d", size, limit)
	}
	info, err := buildinfo.Read(bytes.NewReader(files["ko-app/"+program]))
	if err != nil {
		return nil, fmt.Errorf("the program: %w", err)
	}
	if s.suffix != "" {
		if document, err = correct(document, info); err != nil {
			return nil, fmt.Errorf("bill of materials: %w", err)
		}
	}
	fmt.Fprintf(s.log, "%s %.1f MB, %d modules\n", program, float64(size)/1e6, len(info.Deps)+1)
	return document, holds(document, info)
}

// filesOf are the contents of an image's files by their path.
func filesOf(image v1.Image) (map[string][]byte, error) {
	stream := mutate.Extract(image)
	defer stream.Close()
	files := map[string][]byte{}
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeReg {
			if files[strings.TrimPrefix(header.Name, "/")], err = io.ReadAll(archive); err != nil {
				return nil, err
			}
		}
	}
}

// correct replaces the modules of a bill of materials as the program's build has.
func correct(document []byte, info *buildinfo.BuildInfo) ([]byte, error) {
	bill, err := json.Read(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	for _, p := range bill.Packages {
		for _, d := range info.Deps {
			if d.Replace == nil || d.Path != p.PackageName {
				continue
			}
			sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(d.Replace.Sum, "h1:"))
			if err == nil && len(sum) == 0 {
				err = errors.New("it is empty")
			}
			if err != nil {
				return nil, fmt.Errorf("sum %q of %s %s: %w", d.Replace.Sum, d.Path, d.Replace.Version, err)
			}
			p.PackageVersion = d.Replace.Version
			p.PackageDownloadLocation = strings.ReplaceAll(p.PackageDownloadLocation, "/@v/"+d.Version, "/@v/"+d.Replace.Version)
			for _, r := range p.PackageExternalReferences {
				r.Locator = strings.ReplaceAll(r.Locator, "@"+d.Version, "@"+d.Replace.Version)
			}
			p.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: hex.EncodeToString(sum)}}
		}
	}
	var corrected bytes.Buffer
	err = json.Write(bill, &corrected)
	return corrected.Bytes(), err
}

// holds fails if a bill of materials lists other modules than a program was built from.
func holds(document []byte, info *buildinfo.BuildInfo) error {
	text := strings.ToLower(string(document)) // as package URLs are
	if listed := strings.Count(text, `"pkg:golang/`); listed != len(info.Deps)+1 {
		return fmt.Errorf("built from %d modules, its bill of materials lists %d", len(info.Deps)+1, listed)
	}
	for _, d := range append(info.Deps, &info.Main) {
		version := d.Version
		if d.Replace != nil {
			version = d.Replace.Version
		}
		if !strings.Contains(text, strings.ToLower(`"pkg:golang/`+d.Path+"@"+version+"?")) {
			return fmt.Errorf("built from %s %s, which its bill of materials does not list", d.Path, version)
		}
	}
	return nil
}
