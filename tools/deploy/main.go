// Command deploy makes what is generated under deploy from its one source, the
// Helm chart: the rendered manifests of each variant, and the components by which
// kustomize makes the variants from the first; and the dashboards and alerts of
// deploy/observe, from their definitions here, which tools/observe judges.
//
//	GOWORK=off go run -C tools/deploy .            writes them
//	GOWORK=off go run -C tools/deploy . -verify    fails if that would change any
//
// A variant is a file of values in deploy/chart/ci. This module is no part of the
// workspace, for Helm wants a newer k8s.io/client-go than kube-scheduler.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", "../..", "directory of the repository")
	verify := flag.Bool("verify", false, "change nothing, but fail if something would change")
	flag.Parse()
	if err := run(*root, *verify); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string, verify bool) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	if !verify {
		return files.write(root)
	}
	return errors.Join(files.compare(root)...)
}
