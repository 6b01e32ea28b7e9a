package embedded

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/util/errors"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

const (
	// readyPoll is how often readiness is asked; each question costs some 100 µs.
	readyPoll = 20 * time.Millisecond
	// drainTime bounds the wait for watches that clients hold open at the end. A
	// connection without any takes as long: it is HTTP/2's pause for a goodbye.
	drainTime = time.Second
	// apiStopTime is how long the whole end may take; without etcd it would take
	// minutes.
	apiStopTime = 5 * time.Second
)

type apiServer struct {
	address  string
	caFile   string
	token    string // of the user that WriteKubeconfig names
	loopback *rest.Config

	cancel context.CancelFunc
	done   chan struct{}
}

func listen(port int) (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("kube-apiserver's port: %w", err)
	}
	return listener, nil
}

// startAPIServer takes the listener over.
func startAPIServer(ctx context.Context, dir string, listener net.Listener, etcd string, fail func(error)) (*apiServer, error) {
	a := &apiServer{
		address: listener.Addr().String(),
		caFile:  filepath.Join(dir, "apiserver.crt"),
		token:   newToken(),
		done:    make(chan struct{}),
	}
	o, err := a.options(dir, listener, etcd)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	// The server lives until close, not until ctx ends: its clients stop first.
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	server, prepared, err := assemble(run, o)
	if err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("assemble kube-apiserver: %w", err), listener.Close())
	}
	server.ShutdownTimeout = drainTime
	a.cancel = cancel
	a.loopback = rest.CopyConfig(server.LoopbackClientConfig)
	go func() {
		defer close(a.done)
		if err := prepared(run); err != nil && run.Err() == nil {
			fail(fmt.Errorf("kube-apiserver: %w", err))
		}
	}()
	return a, nil
}

func newToken() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// options returns those of upstream with what a loopback server without
// controllers needs changed.
func (a *apiServer) options(dir string, listener net.Listener, etcd string) (*options.ServerRunOptions, error) {
	tokens, keys := filepath.Join(dir, "tokens.csv"), filepath.Join(dir, "service-account.key")
	if err := os.WriteFile(tokens, []byte(a.token+",spazio-admin,spazio-admin,system:masters\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write the token file: %w", err)
	}
	if err := writeKey(keys); err != nil {
		return nil, err
	}
	loopback := net.IPv4(127, 0, 0, 1)
	o := options.NewServerRunOptions()
	o.SecureServing.Listener = listener
	o.SecureServing.BindAddress = loopback
	o.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	o.SecureServing.ExternalAddress = loopback
	o.SecureServing.ServerCert.CertDirectory = dir
	o.GenericServerRunOptions.AdvertiseAddress = loopback
	// The endpoint of the service kubernetes may not be a loopback address.
	o.EndpointReconcilerType = "none"
	o.ServiceClusterIPRanges = "10.0.0.0/16"
	o.Etcd.StorageConfig.Transport.ServerList = []string{etcd}
	o.ServiceAccountSigningKeyFile = keys
	o.Authentication.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc"}
	o.Authentication.ServiceAccounts.KeyFiles = []string{keys}
	o.Authentication.TokenFile.TokenFile = tokens
	o.Authentication.Anonymous.Allow = false
	o.Authorization.Modes = []string{"AlwaysAllow"}
	o.Admission.GenericAdmission.DisablePlugins = []string{"ServiceAccount", "TaintNodesByCondition"}
	return o, nil
}

func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the service account key: %w", err)
	}
	pem, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return fmt.Errorf("make the service account key: %w", err)
	}
	if err := os.WriteFile(path, pem, 0o600); err != nil {
		return fmt.Errorf("write the service account key: %w", err)
	}
	return nil
}

// assemble takes upstream's steps from options to a server that can run.
func assemble(ctx context.Context, o *options.ServerRunOptions) (*genericapiserver.GenericAPIServer, func(context.Context) error, error) {
	completed, err := o.Complete(ctx)
	if err != nil {
		return nil, nil, err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, nil, apierrors.NewAggregate(errs)
	}
	config, err := app.NewConfig(completed)
	if err != nil {
		return nil, nil, err
	}
	ready, err := config.Complete()
	if err != nil {
		return nil, nil, err
	}
	chain, err := app.CreateServerChain(ready)
	if err != nil {
		return nil, nil, err
	}
	prepared, err := chain.PrepareRun()
	if err != nil {
		return nil, nil, err
	}
	return chain.GenericAPIServer, prepared.Run, nil
}

// waitReady returns when readyz does and the namespace default exists.
func (a *apiServer) waitReady(ctx context.Context, failed <-chan struct{}, reason func() error) error {
	client, err := kubernetes.NewForConfig(a.restConfig())
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		body, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			body, err = client.Discovery().RESTClient().Get().AbsPath("/api/v1/namespaces/default").DoRaw(ctx)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-failed:
			return reason()
		case <-ctx.Done():
			return fmt.Errorf("wait for kube-apiserver: %w%s", context.Cause(ctx), notReady(string(body)))
		}
	}
}

// notReady names the checks that the body of a readyz calls failed.
func notReady(body string) string {
	var failed []string
	for line := range strings.Lines(body) {
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ := strings.Cut(check, " ")
			failed = append(failed, name)
		}
	}
	if len(failed) == 0 {
		return ""
	}
	return " (not ready: " + strings.Join(failed, ", ") + ")"
}

func (a *apiServer) url() string { return "https://" + a.address }

func (a *apiServer) restConfig() *rest.Config {
	config := rest.CopyConfig(a.loopback)
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}

func (a *apiServer) close() error {
	a.cancel()
	select {
	case <-a.done:
		return nil
	case <-time.After(apiStopTime):
		return fmt.Errorf("kube-apiserver did not stop within %v", apiStopTime)
	}
}
