package podforward

import (
	"errors"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ErrNoKubeconfig is that nothing leads to a cluster.
var ErrNoKubeconfig = errors.New("there is none that leads to a cluster: name one, or set KUBECONFIG as for kubectl")

// Cluster leads to the API server as kubectl gets there: by the kubeconfig of that name,
// else by that of KUBECONFIG, the home directory or the pod, in the given context or its
// current one. It names the namespace that is meant where none is given.
func Cluster(kubeconfig, context string) (cluster *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
	if cluster, err = loaded.ClientConfig(); err == nil {
		namespace, _, err = loaded.Namespace()
	}
	if clientcmd.IsEmptyConfig(err) {
		err = ErrNoKubeconfig // client-go's advice is a variable that nothing here reads
	}
	if err != nil {
		return nil, "", err
	}
	return cluster, namespace, nil
}
