package embedded

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes a file, readable by its owner alone, with which kubectl
// and every other client can reach the control plane as an administrator. It
// makes missing directories.
func (c *ControlPlane) WriteKubeconfig(path string) error {
	ca, err := os.ReadFile(c.api.caFile)
	if err != nil {
		return fmt.Errorf("controlplane: read the certificate: %w", err)
	}
	const name = "spazio"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: c.api.url(), CertificateAuthorityData: ca}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: c.api.token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("controlplane: write the kubeconfig: %w", err)
	}
	return nil
}
