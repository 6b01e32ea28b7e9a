package spazioctl

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/field"
)

// debugSource selects the program to ask. bind sets the defaults of the fields.
type debugSource struct {
	// URL is the base of the program's debug address, if this machine reaches it by
	// itself. Without it the API server that Kubeconfig and Context lead to, as kubectl's
	// do, forwards to port on the loopback of a pod in namespace. If no kubeconfig leads
	// to one, port on this machine's loopback is asked.
	URL                 string
	Kubeconfig, Context string
	namespace           string
	port                int
	// Timeout bounds one question.
	Timeout time.Duration

	program string // as the flags call it
}

// debugPorts are the ports of the programs' debug addresses, as the chart sets them.
var debugPorts = map[string]int{"scheduler": 9694, "aggregator": 9693, "agent": 9691}

// bind adds the fields to flags. The port is that of the debug address, here and in the pod.
func (s *debugSource) bind(f *pflag.FlagSet, program, namespace string) {
	s.program, s.port = program, debugPorts[program]
	f.StringVar(&s.URL, "url", "", "URL of the "+program+"'s debug address, such as "+loopback(s.port)+", instead of a pod; the default only if no kubeconfig leads to a cluster")
	f.StringVar(&s.Kubeconfig, "kubeconfig", "", "leads to the API server (default: as kubectl's), which forwards to the pod; that needs the right to create pods/portforward")
	f.StringVar(&s.Context, "context", "", "the kubeconfig's context, if not its current one")
	f.DurationVar(&s.Timeout, "timeout", 5*time.Second, "time that an answer may take")
	f.StringVar(&s.namespace, "spazio-namespace", namespace, "namespace of the "+program+"'s pod")
}

// loopback is the URL of a port of this machine.
func loopback(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }

var (
	errBoth = errors.New("cannot be combined with --kubeconfig or --context")
)

// connect checks the source and returns the way to its URL, or to the pod that is
// found anew for each query.
func (s *debugSource) connect(find podforward.Finder) (*debugClient, error) {
	named := s.Kubeconfig != "" || s.Context != ""
	switch {
	case s.Timeout <= 0:
		return nil, command.Usage(fmt.Errorf("--timeout: %w", errPositive))
	case s.URL != "" && named:
		return nil, command.Usage(fmt.Errorf("--url: %w", errBoth))
	case s.URL != "":
		return s.direct(s.URL)
	}
	target, err := podforward.Cluster(s.Kubeconfig, s.Context)
	if errors.Is(err, podforward.ErrNoKubeconfig) && !named {
		c, err := s.direct(loopback(s.port))
		if err == nil {
			c.guessed = true
		}
		return c, err
	}
	if err != nil {
		return nil, command.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	c, err := podforward.NewClient(podforward.Config{Cluster: target.Config, Namespace: s.namespace, Port: s.port, Find: find}, s.Timeout)
	if bad := field.By(err, "podforward"); bad != nil {
		return nil, command.Usage(fmt.Errorf("--spazio-namespace: %w", err))
	}
	if err != nil {
		return nil, command.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	return &debugClient{Client: c, Target: &target, source: *s}, nil
}

func (s *debugSource) direct(url string) (*debugClient, error) {
	c, err := podforward.DirectClient(url, s.Timeout)
	if err != nil {
		return nil, command.Usage(fmt.Errorf("--url: %w", err))
	}
	return &debugClient{Client: c, source: *s}, nil
}

// clusterOf is podforward's by the flags --kubeconfig and --context. Its error is one of
// usage.
func clusterOf(kubeconfig, context string) (podforward.Target, error) {
	target, err := podforward.Cluster(kubeconfig, context)
	if err != nil {
		err = command.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	return target, err
}

// reading holds the flags of commands that read objects of a namespace.
type reading struct {
	kubeconfig, context, namespace string
	timeout                        time.Duration
}

func (r *reading) flags(f *pflag.FlagSet, namespace string) {
	f.StringVar(&r.kubeconfig, "kubeconfig", "", "leads to the API server (default: as kubectl's)")
	f.StringVar(&r.context, "context", "", "the kubeconfig's context, if not its current one")
	f.StringVarP(&r.namespace, "namespace", "n", "", namespace)
	f.DurationVar(&r.timeout, "timeout", 30*time.Second, "time that an answer may take")
}

// cluster checks the flags and returns the cluster. The namespace becomes the context's if none is given.
func (r *reading) cluster() (podforward.Target, error) {
	if r.timeout <= 0 {
		return podforward.Target{}, command.Usage(fmt.Errorf("--timeout: %w", errPositive))
	}
	at, err := clusterOf(r.kubeconfig, r.context)
	r.namespace = cmp.Or(r.namespace, at.Namespace)
	return at, err
}
