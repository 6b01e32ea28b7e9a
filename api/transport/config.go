package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/spazio-scheduler/spazio/field"
)

// Config is how a process proves its identity and whom it trusts. The zero
// value is plaintext on loopback only. The files are read when
// options are made, and again before a handshake when one of them has changed:
// rotated certificates and authorities take effect with the next connection.
// While changed files can't be used, the former ones stay in effect. Config is
// a plain value.
type Config struct {
	// CertFile and KeyFile hold the PEM certificate chain and private key that
	// this process presents; both or neither are given.
	CertFile, KeyFile string
	// CAFile holds the PEM certificates of the authorities that servers are
	// trusted by; a client without it trusts the system's.
	CAFile string
	// ClientCAFile holds those of the authorities of clients: a server that has
	// it requires a certificate of one of them (mutual TLS), or with Tokens
	// verifies the one that is shown, if any.
	ClientCAFile string
	// Tokens is set if a server learns its callers' identity from something else
	// than a certificate, such as a token that it has reviewed. The server itself
	// has to do so.
	Tokens bool
	// Insecure allows plaintext beyond loopback. It excludes the files.
	Insecure bool
}

// ErrInvalid refuses fields that are out of range or don't go together, and
// files without what they should hold.
var ErrInvalid = errors.New("invalid configuration or input")

// minTLS: both ends are this project's, so nothing older has to be spoken.
const minTLS = tls.VersionTLS13

var (
	errHalfPair = fmt.Errorf("%w: certificate and key are given together or not at all", ErrInvalid)
	errExcluded = fmt.Errorf("%w: plaintext and TLS files exclude each other", ErrInvalid)
	errNoCert   = fmt.Errorf("%w: a server that knows its clients needs a certificate and key of its own", ErrInvalid)
	errNoPEM    = fmt.Errorf("%w: no PEM certificate in the file", ErrInvalid)
)

// Validate checks that the fields go together. It reads no file.
func (c Config) Validate() error {
	switch {
	case c.CertFile != "" && c.KeyFile == "":
		return &field.Error{Package: "transport", Field: "CertFile", Value: c.CertFile, Err: errHalfPair}
	case c.CertFile == "" && c.KeyFile != "":
		return &field.Error{Package: "transport", Field: "KeyFile", Value: c.KeyFile, Err: errHalfPair}
	case c.Insecure && (c.CertFile != "" || c.CAFile != "" || c.ClientCAFile != ""):
		return &field.Error{Package: "transport", Field: "Insecure", Value: true, Err: errExcluded}
	}
	return nil
}

// Encrypted reports whether a client with c speaks TLS.
func (c Config) Encrypted() bool { return c.CertFile != "" || c.CAFile != "" }

// ServerTLS returns the TLS configuration of a server, or nil where it speaks
// plaintext. Errors are *field.Error.
func ServerTLS(c Config) (*tls.Config, error) {
	f, err := serverFiles(c)
	if f == nil || err != nil {
		return nil, err
	}
	config := f.tls.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		current, _ := f.current()
		return current, nil
	}
	return config, nil
}

// serverFiles is nil where a server speaks plaintext.
func serverFiles(c Config) (*files, error) {
	if err := c.validateServer(); err != nil || c.CertFile == "" {
		return nil, err
	}
	return open(c, readServer)
}

// clientFiles is nil where a client speaks plaintext: given neither a CA nor a
// certificate.
func clientFiles(c Config) (*files, error) {
	if err := c.Validate(); err != nil || !c.Encrypted() {
		return nil, err
	}
	return open(c, readClient)
}

func readServer(c Config) (*tls.Config, error) {
	config := &tls.Config{MinVersion: minTLS}
	var err error
	if config.Certificates, err = c.certificates(); err != nil {
		return nil, err
	}
	if c.ClientCAFile != "" {
		config.ClientAuth = tls.RequireAndVerifyClientCert
		if c.Tokens {
			config.ClientAuth = tls.VerifyClientCertIfGiven
		}
		if config.ClientCAs, err = authorities("ClientCAFile", c.ClientCAFile); err != nil {
			return nil, err
		}
	}
	return config, nil
}

// readClient makes a configuration that remembers servers: an agent comes back each minute,
// and most of a handshake is certificates. Of files that have changed there is another one,
// which has to see them again; so it is at the server.
func readClient(c Config) (*tls.Config, error) {
	config := &tls.Config{MinVersion: minTLS, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	var err error
	if c.CertFile != "" {
		if config.Certificates, err = c.certificates(); err != nil {
			return nil, err
		}
	}
	if c.CAFile != "" {
		if config.RootCAs, err = authorities("CAFile", c.CAFile); err != nil {
			return nil, err
		}
	}
	return config, nil
}

// validateServer also refuses to verify clients over plaintext: the operator
// would rely on an identity that is never checked.
func (c Config) validateServer() error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.ClientCAFile != "" && c.CertFile == "" {
		return &field.Error{Package: "transport", Field: "ClientCAFile", Value: c.ClientCAFile, Err: errNoCert}
	}
	return nil
}

func (c Config) certificates() ([]tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, &field.Error{Package: "transport", Field: "CertFile", Value: c.CertFile, Err: err}
	}
	return []tls.Certificate{pair}, nil
}

func authorities(name, file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, &field.Error{Package: "transport", Field: name, Value: file, Err: err}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &field.Error{Package: "transport", Field: name, Value: file, Err: errNoPEM}
	}
	return pool, nil
}
