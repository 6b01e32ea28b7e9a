package schedulerd

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server"
	serverfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/spazio-scheduler/spazio/node/endpoint"
)

// serveKnown serves over TLS what callers may see by the API server's word, the
// way kube-scheduler does on its own port, whose flags count here, too. stop
// waits for the end.
func serveKnown(flags *pflag.FlagSet, shown endpoint.Config) (stop func(), err error) {
	text := func(name string) string {
		flag := flags.Lookup(name)
		if flag == nil {
			return ""
		}
		return flag.Value.String()
	}
	serving, authentication, authorization := options.NewSecureServingOptions(), options.NewDelegatingAuthenticationOptions(), options.NewDelegatingAuthorizationOptions()
	serving.ServerCert.CertDirectory, serving.ServerCert.PairName = "", "spazio-scheduler"
	serving.ServerCert.CertKey = options.CertKey{CertFile: text("tls-cert-file"), KeyFile: text("tls-private-key-file")}
	if err := serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, err
	}
	authentication.RemoteKubeConfigFile = cmp.Or(text("authentication-kubeconfig"), text("kubeconfig"))
	authorization.RemoteKubeConfigFile = cmp.Or(text("authorization-kubeconfig"), text("kubeconfig"))
	// Without the cluster's authorities of clients there are tokens.
	authentication.TolerateInClusterLookupFailure = true
	listener, err := net.Listen("tcp", shown.Addr)
	if err != nil {
		return nil, err
	}
	if serving.Listener, err = endpoint.Limit(listener); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	defer func() {
		if err != nil {
			serving.Listener.Close()
		}
	}()
	serving.BindPort = serving.Listener.Addr().(*net.TCPAddr).Port
	var info *server.SecureServingInfo
	if err := serving.ApplyTo(&info); err != nil {
		return nil, err
	}
	var who server.AuthenticationInfo
	if err := authentication.ApplyTo(&who, info, nil); err != nil {
		return nil, fmt.Errorf("who calls: %w", err)
	}
	var may server.AuthorizationInfo
	if err := authorization.ApplyTo(&may); err != nil {
		return nil, fmt.Errorf("who may: %w", err)
	}
	ending := make(chan struct{})
	ended, _, err := info.Serve(known(endpoint.Handler(shown), who.Authenticator, may.Authorizer), time.Second, ending)
	if err != nil {
		return nil, err
	}
	return func() { close(ending); <-ended }, nil
}

// known admits callers that the API server authenticates and authorizes; health is open to
// all.
func known(handler http.Handler, who authenticator.Request, may authorizer.Authorizer) http.Handler {
	resolver := &request.RequestInfoFactory{}
	handler = genericfilters.WithAuthorization(handler, may, scheme.Codecs)
	handler = genericfilters.WithAuthentication(handler, who, genericfilters.Unauthorized(scheme.Codecs), nil, nil)
	handler = genericfilters.WithRequestInfo(handler, resolver)
	handler = genericfilters.WithCacheControl(handler)
	return serverfilters.WithPanicRecovery(handler, resolver)
}
