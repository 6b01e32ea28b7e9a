package topctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
	"github.com/spazio-scheduler/spazio/plugin"
)

// Source says which scheduler to ask. The zero value of a field has the
// flag's default only after flags has been called.
type Source struct {
	// Scheduler is the base URL of the scheduler's debug address.
	Scheduler string
	// Kubeconfig and Context, if either is given, lead to the scheduler through
	// the API server instead, which forwards to Port on the loopback of Pod in
	// Namespace, or if that is empty of the holder of Lease there.
	Kubeconfig, Context         string
	Namespace, Pod, Lease, Port string
	// Timeout bounds one question.
	Timeout time.Duration
}

func (s *Source) flags(f *pflag.FlagSet) {
	f.StringVar(&s.Scheduler, "scheduler", "http://127.0.0.1:9694", "URL of the scheduler's debug address")
	s.clusterFlags(f)
	f.StringVar(&s.Namespace, "scheduler-namespace", metav1.NamespaceSystem, "namespace of the scheduler's pod and lease (with --kubeconfig or --context)")
	f.StringVar(&s.Pod, "scheduler-pod", "", "the scheduler's pod (with --kubeconfig or --context; default: the leader)")
	f.StringVar(&s.Lease, "scheduler-lease", "spazio-scheduler", "lease that names the leader (with --kubeconfig or --context)")
	f.StringVar(&s.Port, "scheduler-port", "9694", "port of the debug address in the pod (with --kubeconfig or --context)")
}

// clusterFlags are those of any pod that is asked.
func (s *Source) clusterFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Kubeconfig, "kubeconfig", "", "have the API server of this kubeconfig forward to the pod; it takes the right to create pods/portforward")
	f.StringVar(&s.Context, "context", "", "the kubeconfig's context, if not its current one; without --kubeconfig of the usual one")
	f.DurationVar(&s.Timeout, "timeout", 5*time.Second, "time that an answer may take")
}

// remote says whether a pod is asked through the API server.
func (s *Source) remote() bool { return s.Kubeconfig != "" || s.Context != "" }

var (
	errPositive = errors.New("must be positive")
	errNoURL    = errors.New("not an http or https URL")
	errNoLeader = errors.New("nobody holds the lease")
)

// scheduler is the way to the scheduler, the leading one unless a pod is named.
func (s *Source) scheduler() (fetcher, error) {
	return s.open("--scheduler", func(f *forwarded) func(context.Context) (string, error) {
		if s.Pod != "" {
			return func(context.Context) (string, error) { return s.Pod, nil }
		}
		return f.leader
	})
}

// open checks the source and returns the way to the URL of a flag or to the pod
// that is found.
func (s *Source) open(flag string, find func(*forwarded) func(context.Context) (string, error)) (fetcher, error) {
	if s.Timeout <= 0 {
		return nil, serve.Usage(fmt.Errorf("--timeout: %w", errPositive))
	}
	if !s.remote() {
		base, err := url.Parse(s.Scheduler)
		if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
			return nil, serve.Usage(fmt.Errorf("%s %q: %w", flag, s.Scheduler, errNoURL))
		}
		return &direct{base: base, client: &http.Client{Timeout: s.Timeout}}, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: s.Context}).ClientConfig()
	if err != nil {
		return nil, serve.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, serve.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	f := &forwarded{source: *s, config: config, client: client}
	f.pod = find(f)
	return f, nil
}

// fetcher gets the answer to a query.
type fetcher interface {
	fetch(ctx context.Context, path string, query url.Values) ([]byte, error)
}

// ask decodes the answer.
func ask[T any](ctx context.Context, f fetcher, query url.Values) (T, error) {
	var answer T
	text, err := f.fetch(ctx, plugin.DebugPath, query)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, fmt.Errorf("the scheduler's answer: %w", err)
	}
	return answer, nil
}

// mostAnswer bounds what is read: some 200 bytes for each channel of a node.
const mostAnswer = 64 << 20

type direct struct {
	base   *url.URL
	client *http.Client
}

func (d *direct) fetch(ctx context.Context, path string, query url.Values) ([]byte, error) {
	target := d.base.JoinPath(path)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", d.base.Host, err)
	}
	response, err := d.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", d.base.Host, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", d.base.Host, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s: %s", d.base.Host, response.Status, strings.TrimSpace(string(text)))
	}
	return text, nil
}

// leader returns the pod that holds the lease: identities are the pod's name,
// an underscore and a UUID.
func (f *forwarded) leader(ctx context.Context) (string, error) {
	lease, err := f.client.CoordinationV1().Leases(f.source.Namespace).Get(ctx, f.source.Lease, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("find the leading scheduler: %w", err)
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", fmt.Errorf("find the leading scheduler: lease %s/%s: %w", f.source.Namespace, f.source.Lease, errNoLeader)
	}
	holder := *lease.Spec.HolderIdentity
	if at := strings.LastIndexByte(holder, '_'); at > 0 {
		holder = holder[:at]
	}
	return holder, nil
}
