package embedded

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// credentialLife is how long credentials are valid: longer than any test.
const credentialLife = 7 * 24 * time.Hour

const (
	adminUser  = "admin"
	adminGroup = "system:masters"
)

// authority is what the API server knows its callers by. It is safe for
// concurrent use.
type authority struct {
	adminToken string
	tokenFile  string

	serviceAccountKey string

	// The server's own as a client of kubelets.
	serverCert, serverKey string

	caFile string
	ca     *x509.Certificate
	caKey  *ecdsa.PrivateKey
}

// newAuthority writes the files that kube-apiserver reads.
func newAuthority(dir string) (*authority, error) {
	a := &authority{
		adminToken:        rand.Text(),
		tokenFile:         filepath.Join(dir, "tokens.csv"),
		serviceAccountKey: filepath.Join(dir, "service-account.key"),
		serverCert:        filepath.Join(dir, "kubelet-client.crt"),
		serverKey:         filepath.Join(dir, "kubelet-client.key"),
		caFile:            filepath.Join(dir, "client-ca.crt"),
	}
	line := a.adminToken + "," + adminUser + "," + adminUser + "," + adminGroup + "\n"
	if err := os.WriteFile(a.tokenFile, []byte(line), 0o600); err != nil {
		return nil, fmt.Errorf("write the token file: %w", err)
	}
	if err := writeKey(a.serviceAccountKey); err != nil {
		return nil, fmt.Errorf("service account key: %w", err)
	}
	if err := a.makeCA(); err != nil {
		return nil, fmt.Errorf("client CA: %w", err)
	}
	if err := a.writeServer(); err != nil {
		return nil, fmt.Errorf("the server's certificate for kubelets: %w", err)
	}
	return a, nil
}

// writeServer writes what kube-apiserver shows to kubelets.
func (a *authority) writeServer() error {
	certificate, key, err := a.issue("kube-apiserver-kubelet-client", []string{adminGroup})
	if err != nil {
		return err
	}
	if err := os.WriteFile(a.serverCert, certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(a.serverKey, key, 0o600)
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func writeKey(path string) error {
	text, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func (a *authority) makeCA() (err error) {
	if a.caKey, err = newKey(); err != nil {
		return err
	}
	if a.ca, err = cert.NewSelfSignedCACert(cert.Config{CommonName: "embedded"}, a.caKey); err != nil {
		return err
	}
	return os.WriteFile(a.caFile, encodeCertificate(a.ca.Raw), 0o600)
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}

// issue makes a client certificate, as which kube-apiserver takes the common
// name for the user's and the organizations for the groups'.
func (a *authority) issue(name string, groups []string) (certificate, key []byte, err error) {
	private, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	if key, err = keyutil.MarshalPrivateKeyToPEM(private); err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    a.ca.NotBefore,
		NotAfter:     a.ca.NotBefore.Add(credentialLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.ca, private.Public(), a.caKey)
	if err != nil {
		return nil, nil, err
	}
	return encodeCertificate(der), key, nil
}

// RESTConfig returns a new client configuration of the administrator, the user
// admin in system:masters, with protobuf and without a rate limit. For custom
// resources clear its ContentType.
func (c *ControlPlane) RESTConfig() *rest.Config {
	config := c.api.restConfig()
	config.BearerToken = c.authority.adminToken
	return config
}

// UserConfig returns a new client configuration like RESTConfig's for the user
// of the given name in the given groups, by a client certificate. With
// [Config.RBAC] the user has the rights that the API's bindings give.
func (c *ControlPlane) UserConfig(name string, groups ...string) (*rest.Config, error) {
	if name == "" {
		return nil, refuse("name", name, "a user's name")
	}
	config := c.api.restConfig()
	var err error
	if config.CertData, config.KeyData, err = c.authority.issue(name, groups); err != nil {
		return nil, fmt.Errorf("embedded: certificate of user %s: %w", name, err)
	}
	return config, nil
}

// ClientCA returns the certificate, as PEM, of the authority that vouches for the
// users of UserConfig, and for the API server where it calls a kubelet.
func (c *ControlPlane) ClientCA() []byte { return encodeCertificate(c.authority.ca.Raw) }

// ServiceAccountConfig returns a new client configuration like RESTConfig's for a
// service account, by a token, and makes the account if there is none of that
// name in the namespace. A token for another audience, or bound to a pod, is to
// be had from the API itself.
func (c *ControlPlane) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("embedded: make a client: %w", err)
	}
	accounts := client.CoreV1().ServiceAccounts(namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("embedded: service account %s/%s: %w", namespace, name, err)
	}
	seconds := int64(credentialLife.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if request, err = accounts.CreateToken(ctx, name, request, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("embedded: token of service account %s/%s: %w", namespace, name, err)
	}
	config := c.api.restConfig()
	config.BearerToken = request.Status.Token
	return config, nil
}
