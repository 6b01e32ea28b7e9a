// Command protogen turns the .proto files below a directory into Go, without
// protoc: it compiles them with protocompile and hands the descriptors to the
// plugins that this module's go.mod pins as tools. Run it from the tools
// module; .ci/generate does.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// plugins are the tools that write Go; each is built by `go tool` at the
// version in go.mod.
var plugins = []string{"protoc-gen-go", "protoc-gen-go-grpc"}

func main() {
	root := flag.String("root", "../api", "directory that imports are relative to and code is written to")
	flag.Parse()
	if err := generate(context.Background(), *root); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func generate(ctx context.Context, root string) error {
	names, err := protoFiles(root)
	if err != nil {
		return err
	}
	request, err := compile(ctx, root, names)
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		if err := run(ctx, plugin, request, root); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	return nil
}

// protoFiles lists the .proto files below root, sorted, with slashes: the
// names they are imported by.
func protoFiles(root string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".proto") {
			return err
		}
		name, err := filepath.Rel(root, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no .proto file below %s", root)
	}
	return names, err
}

func compile(ctx context.Context, root string, names []string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, names...)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: names,
		Parameter:      proto.String("paths=source_relative"),
	}
	seen := map[string]bool{}
	for _, file := range files {
		request.ProtoFile = appendFile(request.ProtoFile, file, seen)
	}
	return request, nil
}

// appendFile appends file behind everything it imports, as plugins require.
func appendFile(dst []*descriptorpb.FileDescriptorProto, file protoreflect.FileDescriptor, seen map[string]bool) []*descriptorpb.FileDescriptorProto {
	if seen[file.Path()] {
		return dst
	}
	seen[file.Path()] = true
	imports := file.Imports()
	for i := range imports.Len() {
		dst = appendFile(dst, imports.Get(i).FileDescriptor, seen)
	}
	return append(dst, protodesc.ToFileDescriptorProto(file))
}

// run hands the request to one plugin and writes the files it answers with.
func run(ctx context.Context, plugin string, request *pluginpb.CodeGeneratorRequest, root string) error {
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "tool", plugin)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &output, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output.Bytes(), &response); err != nil {
		return err
	}
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	sort.Slice(response.File, func(i, j int) bool { return response.File[i].GetName() < response.File[j].GetName() })
	for _, file := range response.File {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(file.GetName())), []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
