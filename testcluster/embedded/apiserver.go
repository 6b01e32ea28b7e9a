package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/version"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/compatibility"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/pkg/kubeapiserver/authorizer/modes"
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
	address string
	ca      []byte // of the server's certificate
	audit   *auditHook

	cancel context.CancelFunc
	done   chan struct{}
}

// startAPIServer takes the listener over. The server writes its certificate to
// dir.
func startAPIServer(ctx context.Context, dir string, listener net.Listener, o *options.ServerRunOptions, audit *auditHook, fail func(error)) (*apiServer, error) {
	a := &apiServer{address: listener.Addr().String(), audit: audit, done: make(chan struct{})}
	// The server lives until close, not until ctx ends: its clients stop first.
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	server, prepared, err := assemble(run, o, audit)
	if err == nil {
		a.ca, err = os.ReadFile(filepath.Join(dir, "apiserver.crt"))
	}
	if err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("assemble kube-apiserver: %w", err), listener.Close())
	}
	server.ShutdownTimeout = drainTime
	a.cancel = cancel
	go func() {
		defer close(a.done)
		if err := prepared(run); err != nil && run.Err() == nil {
			fail(fmt.Errorf("kube-apiserver: %w", err))
		}
	}()
	return a, nil
}

// serverOptions returns those of upstream with what this server needs changed.
func serverOptions(config Config, dir string, listener net.Listener, etcd string, callers *authority) *options.ServerRunOptions {
	address := net.IP(config.address().AsSlice())
	o := options.NewServerRunOptions()
	o.SecureServing.Listener = listener
	o.SecureServing.BindAddress = address
	o.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	o.SecureServing.ExternalAddress = address
	o.SecureServing.ServerCert.CertDirectory = dir
	o.GenericServerRunOptions.AdvertiseAddress = address
	// The endpoint of the service kubernetes may not be a loopback address.
	if address.IsLoopback() {
		o.EndpointReconcilerType = "none"
	}
	o.ServiceClusterIPRanges = "10.0.0.0/16"
	o.Etcd.StorageConfig.Transport.ServerList = []string{etcd}
	o.ServiceAccountSigningKeyFile = callers.serviceAccountKey
	o.Authentication.ServiceAccounts.Issuers = []string{"https://kubernetes.default.svc"}
	o.Authentication.ServiceAccounts.KeyFiles = []string{callers.serviceAccountKey}
	o.Authentication.TokenFile.TokenFile = callers.tokenFile
	o.Authentication.ClientCert.ClientCA = callers.caFile
	o.Authentication.Anonymous.Allow = false
	o.APIEnablement.RuntimeConfig = config.RuntimeConfig
	o.Authorization.Modes = []string{modes.ModeAlwaysAllow}
	if config.RBAC {
		o.Authorization.Modes = []string{modes.ModeRBAC}
	}
	if config.Managed {
		forKubelets(o, callers)
	} else {
		// Without a controller manager, service accounts are not created and taints not removed.
		o.Admission.GenericAdmission.DisablePlugins = []string{"ServiceAccount", "TaintNodesByCondition"}
	}
	return o
}

// forKubelets lets kubelets do what they may on their own nodes, and the server
// call them.
func forKubelets(o *options.ServerRunOptions, callers *authority) {
	o.Authorization.Modes = append([]string{modes.ModeNode}, o.Authorization.Modes...)
	o.Admission.GenericAdmission.EnablePlugins = []string{"NodeRestriction"}
	// The names of nodes do not resolve here.
	o.KubeletConfig.PreferredAddressTypes = []string{string(corev1.NodeInternalIP)}
	o.KubeletConfig.TLSClientConfig.CertFile = callers.serverCert
	o.KubeletConfig.TLSClientConfig.KeyFile = callers.serverKey
}

// assemble takes upstream's steps from options to a server that can run.
func assemble(ctx context.Context, o *options.ServerRunOptions, audit *auditHook) (*genericapiserver.GenericAPIServer, func(context.Context) error, error) {
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
	for _, c := range []*genericapiserver.Config{
		config.KubeAPIs.ControlPlane.Generic, &config.ApiExtensions.GenericConfig.Config, &config.Aggregator.GenericConfig.Config,
	} {
		dropLogCheck(c)
		c.EffectiveVersion = release{c.EffectiveVersion}
	}
	if audit != nil {
		audit.install(&config.Aggregator.GenericConfig.Config)
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

// release is a version that clients can parse also where Kubernetes' own build has written none into
// the program. Its patch is not known then.
type release struct{ compatibility.EffectiveVersion }

func (r release) Info() *version.Info {
	info := r.EffectiveVersion.Info()
	if info != nil && strings.HasPrefix(info.GitVersion, "v0.0.0-") {
		info.GitVersion = fmt.Sprintf("v%s.%s.0+embedded", info.Major, info.Minor)
	}
	return info
}

// dropLogCheck removes the check that the logger is not stuck: asked once, it
// keeps a goroutine for ever.
func dropLogCheck(c *genericapiserver.Config) {
	for _, checks := range []*[]healthz.HealthChecker{&c.HealthzChecks, &c.ReadyzChecks, &c.LivezChecks} {
		*checks = slices.DeleteFunc(slices.Clone(*checks), func(h healthz.HealthChecker) bool { return h == healthz.LogHealthz })
	}
}

// waitReady returns when readyz does and the namespace default exists. The
// configuration is an administrator's.
func (a *apiServer) waitReady(ctx context.Context, config *rest.Config, failed <-chan struct{}, reason func() error) error {
	client, err := kubernetes.NewForConfig(config)
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

// restConfig returns a client configuration without a credential.
func (a *apiServer) restConfig() *rest.Config {
	return &rest.Config{
		Host:            a.url(),
		TLSClientConfig: rest.TLSClientConfig{CAData: a.ca},
		QPS:             -1,
		ContentConfig: rest.ContentConfig{
			ContentType:        "application/vnd.kubernetes.protobuf",
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		},
	}
}

func (a *apiServer) close() error {
	a.cancel()
	if a.audit != nil {
		defer a.audit.stop()
	}
	select {
	case <-a.done:
		return nil
	case <-time.After(apiStopTime):
		return fmt.Errorf("kube-apiserver did not stop within %v", apiStopTime)
	}
}
