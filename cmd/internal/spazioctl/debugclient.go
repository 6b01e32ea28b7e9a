package spazioctl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
)

// debugClient asks a program. Its errors name what was asked, of which cluster, and what to do.
type debugClient struct {
	*podforward.Client
	// Target is the cluster that was asked, nil if a URL was.
	Target *podforward.Target

	source  debugSource
	guessed bool // the URL: no kubeconfig was found
}

// Get is podforward's.
func (c *debugClient) Get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	answer, err := c.Client.Get(ctx, path, query)
	if err != nil {
		return nil, c.explain(err)
	}
	return answer, nil
}

func (c *debugClient) explain(err error) error {
	who := "the " + c.source.program
	if c.Target != nil {
		who += " of " + c.Target.String()
	}
	if advice := c.advice(err); advice != "" {
		return fmt.Errorf("%s: %w; %s", who, err, advice)
	}
	return fmt.Errorf("%s: %w", who, err)
}

// advice is what to do about an error, empty if the program itself has answered.
func (c *debugClient) advice(err error) string {
	status := (*podforward.StatusError)(nil)
	switch {
	case errors.As(err, &status), errors.Is(err, context.Canceled):
		return ""
	case c.guessed && os.Getenv("KUBECONFIG") != "":
		return fmt.Sprintf("KUBECONFIG=%s leads to no cluster: correct it, or give --kubeconfig or --url", os.Getenv("KUBECONFIG"))
	case c.guessed:
		return "no kubeconfig leads to a cluster: give --kubeconfig or set KUBECONFIG as for kubectl, or give --url"
	case c.Target == nil:
		return "check that it runs and that this is its debug address; without --url the cluster of kubectl's context is asked"
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("asking the %s needs the right to create pods/portforward in namespace %s, and to read leases or pods there", c.source.program, c.source.namespace)
	case apierrors.IsUnauthorized(err):
		return "the kubeconfig's credentials are refused: does kubectl work with it?"
	case apierrors.IsNotFound(err), errors.Is(err, podforward.ErrNoLeader), errors.Is(err, podforward.ErrNoPod):
		return called + " check shows whether Spazio runs there; --context names another cluster, --spazio-namespace another namespace"
	}
	return "does kubectl reach that cluster? --context names another"
}
