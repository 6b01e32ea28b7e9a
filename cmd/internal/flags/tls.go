// Package flags holds the flags that several commands share: those for TLS and for a machine's energy,
// and the mapping of errors to them.
package flags

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/field"
)

// TLSClient binds the fields of c to the flags of a client. The values of c are
// the defaults.
func TLSClient(flags *pflag.FlagSet, c *transport.Config) {
	flags.StringVar(&c.CertFile, "tls-cert-file", c.CertFile, "PEM certificate chain that this process presents; empty for none")
	flags.StringVar(&c.KeyFile, "tls-private-key-file", c.KeyFile, "PEM private key of --tls-cert-file, which needs it")
	flags.StringVar(&c.CAFile, "tls-ca-file", c.CAFile, "PEM authorities that servers' certificates must come from (default the system's)")
	flags.BoolVar(&c.Insecure, "insecure", c.Insecure, "allow plaintext beyond loopback")
}

// TLSServer binds what a gRPC server has besides: whom it knows its clients by.
func TLSServer(flags *pflag.FlagSet, c *transport.Config) {
	TLSClient(flags, c)
	flags.StringVar(&c.ClientCAFile, "tls-client-ca-file", c.ClientCAFile, "PEM authorities that clients' certificates must come from; empty asks for none")
}

// tlsFlags are the flags of the fields that package transport refuses.
var tlsFlags = map[string]string{
	"CertFile": "tls-cert-file", "KeyFile": "tls-private-key-file", "CAFile": "tls-ca-file", "ClientCAFile": "tls-client-ca-file",
	"Insecure": "insecure",
}

// RefusedTLS is Refused of a command with the flags of TLSClient or TLSServer: it also names the
// flag of a field that package transport refuses.
func RefusedTLS(err error) error {
	if bad := field.By(err, "transport"); bad != nil && tlsFlags[bad.Field] != "" {
		err = fmt.Errorf("--%s: %w", tlsFlags[bad.Field], err)
	}
	return Refused(err)
}

// Refused marks the refusals of package transport to listen as usage errors; any
// other error stays as it is.
func Refused(err error) error {
	var plaintext *transport.PlaintextError
	var unauthenticated *transport.UnauthenticatedError
	if errors.As(err, &plaintext) || errors.As(err, &unauthenticated) {
		return command.Usage(err)
	}
	return err
}
