package check

import (
	"fmt"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
)

// advice are commands that show more of what a check has failed on, where it does not
// say so itself.
func (c Config) advice(name string) []string {
	switch name {
	case "version":
		return []string{c.Kubectl + " version"}
	case "rights":
		return []string{
			c.Kubectl + " auth can-i --list --namespace " + deploy.SystemNamespace,
			c.Kubectl + " auth can-i --list --namespace " + deploy.AgentNamespace,
		}
	case "nodes":
		return []string{c.Kubectl + " get nodes --output wide"}
	case "certificates":
		return append(c.logs(deploy.SystemNamespace, "spazio-certs"), c.Kubectl+" get cronjobs,jobs,secrets --namespace "+deploy.SystemNamespace)
	case "testbeds":
		return append(c.logs(deploy.SystemNamespace, operatorName), c.Kubectl+" get testbeds --all-namespaces", c.Kubectl+" get pods,leases --namespace "+deploy.SystemNamespace)
	case "clocks":
		return []string{c.Kubectl + " get leases --namespace kube-node-lease --output yaml"}
	}
	return append(c.logs(deploy.SystemNamespace, "spazio-scheduler"), c.Kubectl+" get pods,leases --namespace "+deploy.SystemNamespace)
}

// logs shows the last words of a program's pods.
func (c Config) logs(namespace, program string) []string {
	return []string{fmt.Sprintf("%s logs --namespace %s --selector app.kubernetes.io/name=%s --prefix --tail 20", c.Kubectl, namespace, program)}
}

// describe shows what becomes of an object.
func (c Config) describe(o deploy.ID) string {
	resource := o.Resource
	if o.Group != "" {
		resource += "." + o.Group
	}
	return fmt.Sprintf("%s describe %s %s --namespace %s", c.Kubectl, resource, o.Name, o.Namespace)
}
