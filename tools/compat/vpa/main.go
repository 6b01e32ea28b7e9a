// Command vpa reads a VerticalPodAutoscaler as JSON from its input and decodes it by the
// types of the Vertical Pod Autoscaler's own module, strictly: a field that these don't
// have is an error. It prints the status, encoded anew by them.
//
//	GOWORK=off go run -C tools/compat/vpa . < object.json
//
// The module is outside the workspace because what it requires is newer than what
// k8s.io/kubernetes is built from. The tests of cmd/internal/e2e/profiles run it on what
// the profiler wrote to a real API server.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	autoscaling "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errKind = errors.New("not a VerticalPodAutoscaler of autoscaling.k8s.io/v1")

func run(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	var o autoscaling.VerticalPodAutoscaler
	if err := decoder.Decode(&o); err != nil {
		return err
	}
	if o.Kind != "VerticalPodAutoscaler" || o.APIVersion != autoscaling.SchemeGroupVersion.String() {
		return fmt.Errorf("%s of %s: %w", o.Kind, o.APIVersion, errKind)
	}
	return json.NewEncoder(out).Encode(o.Status)
}
