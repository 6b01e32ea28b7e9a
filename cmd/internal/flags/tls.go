// Package flags holds the flags that several commands share: those for TLS and for a machine's energy,
// and the mapping of errors to them.
package flags

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/field"
)

// tlsDir is a directory of TLS files under the names that a TLS Secret has, as the value of a flag.
type tlsDir struct {
	config *transport.Config
	server bool
	dir    string
}

func (d *tlsDir) String() string { return d.dir }

// Type is how help names the value.
func (d *tlsDir) Type() string { return "string" }

// Set names the files. A server needs its certificate; which of the other certificates there are is
// seen now, and what they hold is read later. A file that cannot be looked at is refused: a server would
// else not ask its clients for certificates.
func (d *tlsDir) Set(dir string) error {
	c := d.config
	d.dir, c.CertFile, c.KeyFile, c.CAFile, c.ClientCAFile = dir, "", "", "", ""
	if dir == "" {
		return nil
	}
	c.CAFile = filepath.Join(dir, "ca.crt")
	optional := "tls.crt"
	if d.server {
		optional = "client-ca.crt"
	}
	path := filepath.Join(dir, optional)
	_, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if d.server && err == nil {
		c.ClientCAFile = path
	}
	if d.server || err == nil {
		c.CertFile, c.KeyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	}
	return nil
}

// TLSClient binds c to the flags of a client.
func TLSClient(flags *pflag.FlagSet, c *transport.Config) {
	flags.Var(&tlsDir{config: c}, "tls-dir", "directory of ca.crt, the authorities that servers' certificates must come from, "+
		"and of tls.crt and tls.key if this process presents a certificate; empty for plaintext")
	flags.BoolVar(&c.Insecure, "insecure", c.Insecure, "allow plaintext beyond loopback")
}

// TLSServer binds c to the flags of a gRPC server.
func TLSServer(flags *pflag.FlagSet, c *transport.Config) { TLSServerAs(flags, c, "tls-dir", "") }

// TLSReplica binds c to the flags of a gRPC server that calls other replicas of itself.
func TLSReplica(flags *pflag.FlagSet, c *transport.Config) {
	TLSServer(flags, c)
	flags.Lookup("tls-dir").Usage = serverFiles + "; and of ca.crt, the authorities of other replicas; empty for plaintext"
}

// serverFiles are those of each server.
const serverFiles = "directory of tls.crt and tls.key, the certificate that clients see; of client-ca.crt, if theirs must come from its authorities"

// TLSServerAs is TLSServer with another name of the directory's flag, and more words about both.
func TLSServerAs(flags *pflag.FlagSet, c *transport.Config, name, more string) {
	flags.Var(&tlsDir{config: c, server: true}, name, serverFiles+"; empty for plaintext"+more)
	flags.BoolVar(&c.Insecure, "insecure", c.Insecure, "allow plaintext beyond loopback"+more)
}

// RefusedTLS is Refused of a command with the flags of TLSClient or TLSServer: it also names the
// flag of a field that package transport refuses.
func RefusedTLS(err error) error {
	if bad := field.By(err, "transport"); bad != nil {
		switch bad.Field {
		case "CertFile", "KeyFile", "CAFile", "ClientCAFile":
			err = fmt.Errorf("--tls-dir: %w", err)
		case "Insecure":
			err = fmt.Errorf("--insecure: %w", err)
		}
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
