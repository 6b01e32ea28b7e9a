// Command protogen turns the .proto files of a directory into Go, without
// protoc: it compiles them with protocompile and hands the descriptors to the
// generators that go.mod pins as tools. Run it from the tools module; .ci/generate does.
//
//	go run ./protogen ../api spazio/v1
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := generate(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// generate has code written for the files in a directory below root, which imports are relative to.
func generate(ctx context.Context, root, dir string) error {
	names, err := filepath.Glob(filepath.Join(root, dir, "*.proto"))
	if err != nil {
		return err
	}
	for i := range names {
		names[i] = path.Join(dir, filepath.Base(names[i]))
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, names...)
	if err != nil {
		return err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: names, Parameter: proto.String("paths=source_relative")}
	seen := map[string]bool{}
	var add func(file protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) { // behind everything that it imports, as generators require
		if seen[file.Path()] {
			return
		}
		seen[file.Path()] = true
		for i := range file.Imports().Len() {
			add(file.Imports().Get(i).FileDescriptor)
		}
		request.ProtoFile = append(request.ProtoFile, protodesc.ToFileDescriptorProto(file))
	}
	for _, file := range files {
		add(file)
	}
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	return errors.Join(run(ctx, "protoc-gen-go", input, root), run(ctx, "protoc-gen-go-grpc", input, root))
}

// run hands a request to one generator and writes the files it answers with.
func run(ctx context.Context, generator string, request []byte, root string) error {
	cmd := exec.CommandContext(ctx, "go", "tool", generator)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(request), os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", generator, err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err = proto.Unmarshal(output, &response); err == nil && response.Error != nil {
		err = errors.New(response.GetError())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", generator, err)
	}
	for _, file := range response.File {
		err = errors.Join(err, os.WriteFile(filepath.Join(root, filepath.FromSlash(file.GetName())), []byte(file.GetContent()), 0o644))
	}
	return err
}
