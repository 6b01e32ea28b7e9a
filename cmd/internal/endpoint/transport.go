package endpoint

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/serve"
)

// TransportFlags binds the fields of c to the TLS flags that every command
// shares. What c holds is the default.
func TransportFlags(flags *pflag.FlagSet, c *transport.Config) {
	flags.StringVar(&c.CertFile, "tls-cert-file", c.CertFile, "PEM certificate chain that this process presents")
	flags.StringVar(&c.KeyFile, "tls-private-key-file", c.KeyFile, "PEM private key of --tls-cert-file")
	flags.StringVar(&c.CAFile, "tls-ca-file", c.CAFile, "PEM authorities that the other side's certificate must come from")
	flags.BoolVar(&c.Insecure, "insecure", c.Insecure, "allow plaintext beyond loopback")
}

// Refused marks the refusal of plaintext by package transport as a usage error; any
// other error stays as it is.
func Refused(err error) error {
	var plaintext *transport.PlaintextError
	if errors.As(err, &plaintext) {
		return serve.Usage(err)
	}
	return err
}
