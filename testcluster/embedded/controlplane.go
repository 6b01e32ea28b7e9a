package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/spazio-scheduler/spazio/field"
	_ "github.com/spazio-scheduler/spazio/testcluster/embedded/internal/etcdquiet"
)

// ControlPlane is a running etcd and kube-apiserver. It is safe for concurrent
// use.
type ControlPlane struct {
	dir       string
	log       *logFile
	authority *authority
	etcd      *etcdServer
	api       *apiServer

	failed   chan struct{} // closed after err is set
	failOnce sync.Once
	err      error

	closeOnce sync.Once
	closeErr  error
}

var started atomic.Bool

// Start runs a control plane until Close, and returns when its API is ready and
// pods can be created in the namespace default (with [Config.Managed] as soon as
// the controller manager has made its service account). A ctx that ends early abandons
// the start, nothing more. When Start fails it leaves neither ports nor files
// behind.
func Start(ctx context.Context, config Config) (*ControlPlane, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &ControlPlane{failed: make(chan struct{})}
	if err := c.start(ctx, config); err != nil {
		return nil, errors.Join(fmt.Errorf("embedded: %w", err), c.Close())
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context, config Config) (err error) {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case started.Load():
		return errStarted
	}
	parent, err := config.dir()
	if err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp(parent, dirPrefix); err != nil {
		return fmt.Errorf("make a data directory: %w", err)
	}
	if c.log, err = openLog(filepath.Join(c.dir, "controlplane.log")); err != nil {
		return err
	}
	if c.authority, err = newAuthority(c.dir); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", netip.AddrPortFrom(config.address(), uint16(config.APIPort)).String())
	if err != nil {
		return fmt.Errorf("kube-apiserver's port: %w", err)
	}
	if c.etcd, err = startEtcd(ctx, c.dir, c.log, c.fail); err != nil {
		return errors.Join(err, listener.Close())
	}
	// Until here no global of Kubernetes was touched, and a start may be tried
	// again.
	if !started.CompareAndSwap(false, true) {
		return errors.Join(errStarted, listener.Close())
	}
	c.log.redirectKlog(c.fail)
	options := serverOptions(config, c.dir, listener, c.etcd.endpoint, c.authority)
	var audit *auditHook
	if config.Audit != nil {
		audit = &auditHook{call: config.Audit}
	}
	if c.api, err = startAPIServer(ctx, c.dir, listener, options, audit, c.fail); err != nil {
		return err
	}
	return c.api.waitReady(ctx, c.RESTConfig(), c.failed, c.Err)
}

// fail records the first reason for which the control plane died by itself.
func (c *ControlPlane) fail(err error) {
	c.failOnce.Do(func() {
		c.err = err
		close(c.failed)
	})
}

// Failed is closed when etcd or kube-apiserver dies by itself, on a full disk
// for instance; Err says why.
func (c *ControlPlane) Failed() <-chan struct{} { return c.failed }

// Err returns nil until Failed is closed.
func (c *ControlPlane) Err() error {
	select {
	case <-c.failed:
		return c.err
	default:
		return nil
	}
}

// Dir returns the directory that holds data, credentials and the log; Close
// removes it.
func (c *ControlPlane) Dir() string { return c.dir }

// Close stops kube-apiserver and etcd, waits for them and removes the directory
// that Start made. Further calls return the first one's result.
func (c *ControlPlane) Close() error {
	c.closeOnce.Do(func() {
		var errs []error
		if c.api != nil {
			errs = append(errs, c.api.close())
		}
		if c.etcd != nil {
			errs = append(errs, c.etcd.close())
		}
		if c.log != nil {
			errs = append(errs, c.log.Close())
		}
		if c.dir != "" {
			errs = append(errs, os.RemoveAll(c.dir))
		}
		if err := errors.Join(errs...); err != nil {
			c.closeErr = fmt.Errorf("embedded: close: %w", err)
		}
	})
	return c.closeErr
}

// Errors of this package; match them with errors.Is.
var (
	// errInvalid is in every field.Error.
	errInvalid = errors.New("invalid configuration or input")
	// errStarted is returned by a second Start in one process.
	errStarted = errors.New("this process has already started a kube-apiserver")
)

// refuse makes a *field.Error; want completes "must be".
var refuse = field.Refuser("embedded", errInvalid)

// Config says where a control plane lives and whom it lets do what. The zero
// value is ready to use. It is a plain value; Start keeps no reference to it but
// for Audit.
type Config struct {
	// Dir is the directory in which the control plane makes its own temporary
	// one; default os.TempDir(). A socket lies in there, whose path most systems
	// limit to some hundred bytes.
	Dir string
	// Address is the one of this machine's on which kube-apiserver listens; default
	// 127.0.0.1. Real pods reach one that is not loopback, as the service kubernetes;
	// then set RBAC. etcd stays out of their reach.
	Address netip.Addr
	// APIPort is the port of kube-apiserver; 0 picks a free one.
	APIPort int
	// Managed prepares for kubelets and a controller manager that connect by
	// configurations of UserConfig: pods get service accounts and nodes the taint
	// not-ready, which a controller manager handles, and users of the group
	// system:nodes have the rights of their node. The cluster's ranges are
	// 10.0.0.0/16 for services and what the kubelets say for pods.
	Managed bool
	// RBAC authorizes by the roles and bindings in the API, and gives all rights
	// to the administrator of RESTConfig alone. Without, every credential has
	// all rights.
	RBAC bool
	// RuntimeConfig switches versions of the API on, as kube-apiserver's --runtime-config does:
	// {"scheduling.k8s.io/v1beta1": "true"}. A feature gate that one needs is set in the process before
	// Start, with utilfeature.DefaultMutableFeatureGate of k8s.io/apiserver.
	RuntimeConfig map[string]string
	// Audit, if set, receives an event for every request that has been answered, and
	// for each watch that begins: user, request and response code, without
	// bodies (level Metadata). The API server's own requests are left out. It
	// is called from many goroutines, after the answer is on its way, never
	// after Close has returned; it must not call Close.
	Audit func(auditv1.Event)
}

// dirPrefix begins the name of the directory that Start makes.
const dirPrefix = "spazio-"

// maxSocketPath is what the narrowest system takes: 104 bytes on macOS, a
// terminating zero among them.
const maxSocketPath = 103

// validate returns a *field.Error for a field out of its range.
func (c Config) validate() error {
	if c.APIPort < 0 || c.APIPort > 65535 {
		return refuse("APIPort", c.APIPort, "0 to 65535")
	}
	if c.Address.IsValid() && (c.Address.IsUnspecified() || c.Address.IsMulticast() || c.Address.Zone() != "") {
		return refuse("Address", c.Address, "one address of this machine")
	}
	dir, err := c.dir()
	if err != nil {
		return err
	}
	// os.MkdirTemp appends up to ten digits.
	longest := len(socketPath(filepath.Join(dir, dirPrefix+"4294967295")))
	if longest > maxSocketPath {
		return refuse("Dir", c.Dir, fmt.Sprintf("a path shorter by %d bytes, for a socket in it", longest-maxSocketPath))
	}
	return nil
}

// address is where the API server listens.
func (c Config) address() netip.Addr {
	if !c.Address.IsValid() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return c.Address
}

// dir is the absolute path of the directory to work in.
func (c Config) dir() (string, error) {
	dir := c.Dir
	if dir == "" {
		dir = os.TempDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", &field.Error{Package: "embedded", Field: "Dir", Value: c.Dir, Err: fmt.Errorf("%w: %w", errInvalid, err)}
	}
	return dir, nil
}

// WriteKubeconfig writes a file, readable by its owner alone, with which kubectl
// and every other client can do what config can: one of a ControlPlane's. It
// makes missing directories.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "embedded"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{
		Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
	}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	file.CurrentContext = name
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return fmt.Errorf("embedded: write the kubeconfig: %w", err)
	}
	return nil
}
