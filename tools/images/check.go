package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spdx/tools-golang/json"
)

// limits are how many bytes the files of an image may have: what each node
// holds, and each region.
var limits = map[string]int64{"spazio-agent": 25e6, "spazio-aggregator": 25e6}

// check holds what an image is against what it should be, and says what it found.
func (i image) check(stdout io.Writer) error {
	for _, p := range i.parts {
		size, modules, err := p.check(i.name)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", i.name, p.platform, err)
		}
		fmt.Fprintf(stdout, "%s %s %.1f MB, %d modules\n", i.name, p.platform, float64(size)/1e6, modules)
	}
	fmt.Fprintf(stdout, "%s@%s\n", i.name, i.digest)
	return nil
}

func (p part) check(name string) (size int64, modules int, err error) {
	files, err := p.files()
	if err != nil {
		return 0, 0, err
	}
	for _, content := range files {
		size += int64(len(content))
	}
	if limit := limits[name]; limit > 0 && size > limit {
		return 0, 0, fmt.Errorf("its files have %d bytes, it may have %d", size, limit)
	}
	built, err := linkedModules(files["ko-app/"+name])
	if err != nil {
		return 0, 0, err
	}
	listed, err := listedModules(p.bill)
	if err != nil {
		return 0, 0, err
	}
	if !slices.Equal(built, listed) {
		return 0, 0, fmt.Errorf("built from %v, its bill of materials lists %v", built, listed)
	}
	return size, len(built), nil
}

// files are the contents of an image's files by their path.
func (p part) files() (map[string][]byte, error) {
	layers, err := p.Layers()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, layer := range layers {
		text, err := content(layer)
		if err != nil {
			return nil, err
		}
		archive := tar.NewReader(bytes.NewReader(text))
		for {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			if header.Typeflag != tar.TypeReg {
				continue
			}
			if files[strings.TrimPrefix(header.Name, "/")], err = io.ReadAll(archive); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// content is a layer's, uncompressed.
func content(layer v1.Layer) ([]byte, error) {
	reader, err := layer.Uncompressed()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(reader)
	return text, cmp.Or(err, reader.Close())
}

// linkedModules are those that a program says it was built from, as go version -m
// prints them, each as what replaced it.
func linkedModules(binary []byte) ([]string, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("the program: %w", err)
	}
	modules := []string{info.Main.Path + "@" + info.Main.Version}
	for _, d := range info.Deps {
		version := d.Version
		if d.Replace != nil && d.Replace.Path == d.Path { // by the workspace: Kubernetes of another version
			version = d.Replace.Version
		}
		modules = append(modules, d.Path+"@"+version)
	}
	slices.Sort(modules)
	return modules, nil
}

// listedModules are those of an SPDX document: its packages that are Go's.
func listedModules(document []byte) ([]string, error) {
	read, err := json.Read(bytes.NewReader(document))
	if err != nil {
		return nil, fmt.Errorf("bill of materials: %w", err)
	}
	var modules []string
	for _, p := range read.Packages {
		for _, reference := range p.PackageExternalReferences {
			if !strings.HasPrefix(reference.Locator, "pkg:golang/") {
				continue
			}
			// ko gives the program's own module a version in its locator alone.
			_, version, _ := strings.Cut(strings.TrimSuffix(reference.Locator, "?type=module"), "@")
			modules = append(modules, p.PackageName+"@"+cmp.Or(p.PackageVersion, version))
		}
	}
	slices.Sort(modules)
	return modules, nil
}
