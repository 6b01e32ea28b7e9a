package podforward

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ErrNoKubeconfig is that nothing leads to a cluster.
var ErrNoKubeconfig = errors.New("there is none that leads to a cluster: name one, or set KUBECONFIG as for kubectl")

// Target is a cluster as kubectl gets there. A plain value.
type Target struct {
	// Config leads to the API server.
	Config *rest.Config
	// context is the kubeconfig's context, empty inside a pod.
	context string
	// Namespace is meant where none is given.
	Namespace string
}

// String names the target in messages.
func (t Target) String() string {
	if t.context == "" {
		return t.Config.Host
	}
	return fmt.Sprintf("context %q (%s)", t.context, t.Config.Host)
}

// Cluster leads to the API server as kubectl gets there: by the kubeconfig of that name,
// else by that of KUBECONFIG, the home directory or the pod, in the given context or its
// current one.
func Cluster(kubeconfig, context string) (Target, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	config, err := loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = ErrNoKubeconfig // client-go's advice is a variable that nothing here reads
	}
	if err != nil {
		return Target{}, err
	}
	target := Target{Config: config, context: context}
	if target.Namespace, _, err = loaded.Namespace(); err != nil {
		return Target{}, err
	}
	if raw, err := loaded.RawConfig(); err == nil && context == "" {
		target.context = raw.CurrentContext
	}
	return target, nil
}
