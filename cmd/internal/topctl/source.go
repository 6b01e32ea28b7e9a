package topctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
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
	// the API server instead: to Pod in Namespace, or if that is empty to the
	// holder of Lease there, on Port.
	Kubeconfig, Context         string
	Namespace, Pod, Lease, Port string
	// Timeout bounds one question.
	Timeout time.Duration
}

func (s *Source) flags(f *pflag.FlagSet) {
	f.StringVar(&s.Scheduler, "scheduler", "http://127.0.0.1:9694", "URL of the scheduler's debug address")
	f.StringVar(&s.Kubeconfig, "kubeconfig", "", "reach the scheduler's pod through the API server of this kubeconfig")
	f.StringVar(&s.Context, "context", "", "the kubeconfig's context, if not its current one; without --kubeconfig of the usual one")
	f.StringVar(&s.Namespace, "scheduler-namespace", metav1.NamespaceSystem, "namespace of the scheduler's pod and lease (with --kubeconfig or --context)")
	f.StringVar(&s.Pod, "scheduler-pod", "", "the scheduler's pod (with --kubeconfig or --context; default: the leader)")
	f.StringVar(&s.Lease, "scheduler-lease", "spazio-scheduler", "lease that names the leader (with --kubeconfig or --context)")
	f.StringVar(&s.Port, "scheduler-port", "9694", "port of the debug address in the pod; https:PORT with TLS (with --kubeconfig or --context)")
	f.DurationVar(&s.Timeout, "timeout", 5*time.Second, "time that an answer may take")
}

var (
	errPositive = errors.New("must be positive")
	errNoURL    = errors.New("not an http or https URL")
	errNoLeader = errors.New("nobody holds the lease")
)

// open checks the source and returns the way to it.
func (s *Source) open() (fetcher, error) {
	if s.Timeout <= 0 {
		return nil, serve.Usage(fmt.Errorf("--timeout: %w", errPositive))
	}
	if s.Kubeconfig == "" && s.Context == "" {
		base, err := url.Parse(s.Scheduler)
		if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
			return nil, serve.Usage(fmt.Errorf("--scheduler %q: %w", s.Scheduler, errNoURL))
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
	return &proxied{source: *s, client: client}, nil
}

// fetcher gets the scheduler's answer to a query.
type fetcher interface {
	fetch(ctx context.Context, query url.Values) ([]byte, error)
}

// ask decodes the answer.
func ask[T any](ctx context.Context, f fetcher, query url.Values) (T, error) {
	var answer T
	text, err := f.fetch(ctx, query)
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

func (d *direct) fetch(ctx context.Context, query url.Values) ([]byte, error) {
	target := d.base.JoinPath(plugin.DebugPath)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask the scheduler: %w", err)
	}
	response, err := d.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the scheduler: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return nil, fmt.Errorf("the scheduler's answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the scheduler answered %s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return text, nil
}

type proxied struct {
	source Source
	client kubernetes.Interface
}

func (p *proxied) fetch(ctx context.Context, query url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.source.Timeout)
	defer cancel()
	pod := p.source.Pod
	if pod == "" {
		var err error
		if pod, err = p.leader(ctx); err != nil {
			return nil, err
		}
	}
	// The proxy's name of a port is [SCHEME:]POD:PORT.
	scheme, port := "", p.source.Port
	if before, after, found := strings.Cut(port, ":"); found {
		scheme, port = before, after
	}
	params := make(map[string]string, len(query))
	for key := range query {
		params[key] = query.Get(key)
	}
	text, err := p.client.CoreV1().Pods(p.source.Namespace).ProxyGet(scheme, pod, port, plugin.DebugPath, params).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask pod %s through the API server: %w", net.JoinHostPort(pod, port), err)
	}
	return text, nil
}

// leader returns the pod that holds the lease: identities are the pod's name,
// an underscore and a UUID.
func (p *proxied) leader(ctx context.Context) (string, error) {
	lease, err := p.client.CoordinationV1().Leases(p.source.Namespace).Get(ctx, p.source.Lease, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("find the leading scheduler: %w", err)
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", fmt.Errorf("find the leading scheduler: lease %s/%s: %w", p.source.Namespace, p.source.Lease, errNoLeader)
	}
	holder := *lease.Spec.HolderIdentity
	if at := strings.LastIndexByte(holder, '_'); at > 0 {
		holder = holder[:at]
	}
	return holder, nil
}
