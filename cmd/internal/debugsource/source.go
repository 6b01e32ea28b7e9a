package debugsource

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/podforward"
)

// Source says which program to ask. Flags gives the fields their defaults.
type Source struct {
	// URL is the base of the program's debug address.
	URL string
	// Kubeconfig and Context, if either is given, lead to the program through the
	// API server instead, which forwards to Port on the loopback of a pod in
	// Namespace.
	Kubeconfig, Context string
	Namespace           string
	Port                int
	// Timeout bounds one question.
	Timeout time.Duration

	program string // as the flags call it
}

// Flags binds the fields to flags: --PROGRAM is the URL. The port is that of the
// debug address, here and in the pod.
func (s *Source) Flags(f *pflag.FlagSet, program, namespace string, port int) {
	s.program = program
	f.StringVar(&s.URL, program, "http://127.0.0.1:"+strconv.Itoa(port), "URL of the "+program+"'s debug address")
	f.StringVar(&s.Kubeconfig, "kubeconfig", "", "have the API server of this kubeconfig forward to the pod; empty asks the address; it takes the right to create pods/portforward")
	f.StringVar(&s.Context, "context", "", "the kubeconfig's context, if not its current one; without --kubeconfig of the usual one")
	f.DurationVar(&s.Timeout, "timeout", 5*time.Second, "time that an answer may take")
	f.StringVar(&s.Namespace, program+"-namespace", namespace, "namespace of the "+program+"'s pod"+Remotely)
	f.IntVar(&s.Port, program+"-port", port, "port of the debug address in the pod"+Remotely)
}

// Remotely ends the help of flags that mean something for pods alone.
const Remotely = " (with --kubeconfig or --context)"

// Remote says whether a pod is asked through the API server.
func (s *Source) Remote() bool { return s.Kubeconfig != "" || s.Context != "" }

var errPositive = errors.New("must be positive")

// Open checks the source and returns the way to its URL, or to the pod that is
// found anew for each query.
func (s *Source) Open(find podforward.Finder) (*podforward.Client, error) {
	if s.Timeout <= 0 {
		return nil, command.Usage(fmt.Errorf("--timeout: %w", errPositive))
	}
	if !s.Remote() {
		c, err := podforward.DirectClient(s.URL, s.Timeout)
		if err != nil {
			return nil, command.Usage(fmt.Errorf("--%s: %w", s.program, err))
		}
		return c, nil
	}
	cluster, _, err := Cluster(s.Kubeconfig, s.Context)
	if err != nil {
		return nil, err
	}
	c, err := podforward.NewClient(podforward.Config{Cluster: cluster, Namespace: s.Namespace, Port: s.Port, Find: find}, s.Timeout)
	if bad := (*podforward.FieldError)(nil); errors.As(err, &bad) {
		return nil, command.Usage(fmt.Errorf("--%s-%s: %w", s.program, strings.ToLower(bad.Field), err))
	}
	if err != nil {
		return nil, command.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	return c, nil
}

// Cluster is podforward's by the flags --kubeconfig and --context. Its error is one of
// usage.
func Cluster(kubeconfig, context string) (*rest.Config, string, error) {
	cluster, namespace, err := podforward.Cluster(kubeconfig, context)
	if err != nil {
		err = command.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	return cluster, namespace, err
}
