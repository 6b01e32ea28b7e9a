package debugsource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

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
	f.StringVar(&s.Kubeconfig, "kubeconfig", "", "have the API server of this kubeconfig forward to the pod; it takes the right to create pods/portforward")
	f.StringVar(&s.Context, "context", "", "the kubeconfig's context, if not its current one; without --kubeconfig of the usual one")
	f.DurationVar(&s.Timeout, "timeout", 5*time.Second, "time that an answer may take")
	f.StringVar(&s.Namespace, program+"-namespace", namespace, "namespace of the "+program+"'s pod"+Remotely)
	f.IntVar(&s.Port, program+"-port", port, "port of the debug address in the pod"+Remotely)
}

// Remotely ends the help of flags that mean something for pods alone.
const Remotely = " (with --kubeconfig or --context)"

// Remote says whether a pod is asked through the API server.
func (s *Source) Remote() bool { return s.Kubeconfig != "" || s.Context != "" }

var (
	errPositive = errors.New("must be positive")
	errNoURL    = errors.New("not an http or https URL")
)

// Fetcher asks a program. Safe for concurrent use.
type Fetcher struct {
	base   *url.URL
	client *http.Client
}

// Open checks the source and returns the way to its URL, or to the pod that is
// found anew for each query.
func (s *Source) Open(find podforward.Finder) (*Fetcher, error) {
	if s.Timeout <= 0 {
		return nil, command.Usage(fmt.Errorf("--timeout: %w", errPositive))
	}
	if s.Remote() {
		return s.OpenRemote(find)
	}
	base, err := url.Parse(s.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, command.Usage(fmt.Errorf("--%s %q: %w", s.program, s.URL, errNoURL))
	}
	return &Fetcher{base: base, client: &http.Client{Timeout: s.Timeout}}, nil
}

// OpenRemote returns the way to the pod, also where neither Kubeconfig nor Context
// is given: then as kubectl reaches the API server.
func (s *Source) OpenRemote(find podforward.Finder) (*Fetcher, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: s.Context}).ClientConfig()
	if err != nil {
		return nil, command.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	through, err := podforward.New(podforward.Config{Cluster: config, Namespace: s.Namespace, Port: s.Port, Find: find})
	if bad := (*podforward.FieldError)(nil); errors.As(err, &bad) {
		return nil, command.Usage(fmt.Errorf("--%s-%s: %w", s.program, strings.ToLower(bad.Field), err))
	}
	if err != nil {
		return nil, command.Usage(fmt.Errorf("--kubeconfig: %w", err))
	}
	base := &url.URL{Scheme: "http", Host: "localhost:" + strconv.Itoa(s.Port)}
	return &Fetcher{base: base, client: &http.Client{Transport: through, Timeout: s.Timeout}}, nil
}

// Ask decodes the answer.
func Ask[T any](ctx context.Context, f *Fetcher, path string, query url.Values) (T, error) {
	var answer T
	text, err := f.Fetch(ctx, path, query)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, fmt.Errorf("the answer to %s: %w", path, err)
	}
	return answer, nil
}

// mostAnswer bounds what is read: some 200 bytes for each channel of a node.
const mostAnswer = 64 << 20

// Fetch gets the answer to a query.
func (f *Fetcher) Fetch(ctx context.Context, path string, query url.Values) ([]byte, error) {
	target := f.base.JoinPath(path)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", f.base.Host, err)
	}
	response, err := f.client.Do(request)
	if asked := (*url.Error)(nil); errors.As(err, &asked) {
		err = asked.Err // whom, is said here
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", f.base.Host, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return nil, fmt.Errorf("the answer of %s: %w", f.base.Host, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s: %s", f.base.Host, response.Status, strings.TrimSpace(string(text)))
	}
	return text, nil
}
