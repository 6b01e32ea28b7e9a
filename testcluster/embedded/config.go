package embedded

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/spazio-scheduler/spazio/field"
)

// Errors of this package; match them with errors.Is.
var (
	// errInvalid is in every field.Error.
	errInvalid = errors.New("invalid configuration or input")
	// errStarted is returned by a second Start in one process.
	errStarted = errors.New("this process has already started a kube-apiserver")
)

// refuse makes a *field.Error; want completes "must be".
func refuse(name string, value any, want string) error {
	return &field.Error{Package: "embedded", Field: name, Value: value, Err: fmt.Errorf("%w: must be %s", errInvalid, want)}
}

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
