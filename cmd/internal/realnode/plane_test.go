//go:build realnode && linux

package realnode

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

// address is the address of the node and its API server.
var address = netip.MustParseAddr("192.0.2.2")

const (
	nodeName = "real"
	apiPort  = 6443
)

// users are the users that the control plane writes kubeconfigs for, each in a file of that name.
var users = map[string]struct {
	name   string
	groups []string
}{
	"kubelet":                 {"system:node:" + nodeName, []string{"system:nodes"}},
	"kube-controller-manager": {"system:kube-controller-manager", nil},
	"kube-proxy":              {"system:kube-proxy", nil},
	"kube-scheduler":          {"system:kube-scheduler", nil},
	"coredns":                 {"coredns", []string{"system:masters"}},
}

// ready is the file whose presence shows that the API server serves.
const ready = "ready"

func configurations(work string) string { return filepath.Join(work, "plane") }

func kubeconfig(work, user string) string {
	return filepath.Join(configurations(work), user+".kubeconfig")
}

// plane runs etcd and the API server until its standard input ends, so that they can be stopped and
// suspended like any other program.
func plane() int {
	work := os.Getenv(workVariable)
	c, err := embedded.Start(context.Background(), embedded.Config{
		Dir: work, Address: address, APIPort: apiPort, Managed: true, RBAC: true,
	})
	if err != nil {
		complain("control plane", err)
		return 1
	}
	err = publish(c, configurations(work))
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	if err := errors.Join(err, c.Close()); err != nil {
		complain("control plane", err)
		return 1
	}
	return 0
}

// publish writes what clients and the kubelet need.
func publish(c *embedded.ControlPlane, dir string) error {
	var errs []error
	write := func(user string, config *rest.Config, err error) {
		if err == nil {
			err = embedded.WriteKubeconfig(filepath.Join(dir, user+".kubeconfig"), config)
		}
		errs = append(errs, err)
	}
	write("admin", c.RESTConfig(), nil)
	for file, user := range users {
		config, err := c.UserConfig(user.name, user.groups...)
		write(file, config, err)
	}
	text := func(name string, content []byte) {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	text("client-ca.crt", c.ClientCA())
	text("server-ca.crt", c.RESTConfig().CAData)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ready), []byte(strings.TrimPrefix(c.RESTConfig().Host, "https://")), 0o600)
}
