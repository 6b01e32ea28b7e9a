package flags_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/flags"
)

// A client trusts ca.crt and presents a certificate if there is one; a server always presents one, and
// asks for its clients' only if it knows their authorities.
func TestTLSDir(t *testing.T) {
	bare, full := t.TempDir(), t.TempDir()
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt", "client-ca.crt"} {
		if err := os.WriteFile(filepath.Join(full, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(dir, name string) string { return filepath.Join(dir, name) }
	for name, test := range map[string]struct {
		bind func(*pflag.FlagSet, *transport.Config)
		dir  string
		want transport.Config
	}{
		"client of a bare one": {flags.TLSClient, bare, transport.Config{CAFile: in(bare, "ca.crt")}},
		"client":               {flags.TLSClient, full, transport.Config{CAFile: in(full, "ca.crt"), CertFile: in(full, "tls.crt"), KeyFile: in(full, "tls.key")}},
		"replica":              {flags.TLSReplica, bare, transport.Config{CAFile: in(bare, "ca.crt"), CertFile: in(bare, "tls.crt"), KeyFile: in(bare, "tls.key")}},
		"server of a bare one": {flags.TLSServer, bare, transport.Config{CAFile: in(bare, "ca.crt"), CertFile: in(bare, "tls.crt"), KeyFile: in(bare, "tls.key")}},
		"server": {flags.TLSServer, full, transport.Config{
			CAFile: in(full, "ca.crt"), CertFile: in(full, "tls.crt"), KeyFile: in(full, "tls.key"), ClientCAFile: in(full, "client-ca.crt"),
		}},
		"plaintext": {flags.TLSServer, "", transport.Config{}},
	} {
		var config transport.Config
		c := &cobra.Command{Use: "tool", RunE: func(*cobra.Command, []string) error { return nil }}
		test.bind(c.Flags(), &config)
		args := []string{"--tls-dir=/replaced", "--tls-dir=" + test.dir, "--insecure"}
		if code := command.Execute(t.Context(), c, args, io.Discard, io.Discard); code != command.ExitOK {
			t.Errorf("%s: exit code %d", name, code)
		}
		if test.want.Insecure = true; config != test.want {
			t.Errorf("%s: got config %+v, want %+v", name, config, test.want)
		}
	}
}

// A file that cannot be looked at is not taken for one that is not there: the server would ask its clients
// for no certificates.
func TestTLSDirUnreadable(t *testing.T) {
	loop := t.TempDir()
	for _, name := range []string{"client-ca.crt", "tls.crt"} {
		if err := os.Symlink(name, filepath.Join(loop, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	for name, bind := range map[string]func(*pflag.FlagSet, *transport.Config){
		"client-ca.crt": flags.TLSServer, "tls.crt": flags.TLSClient,
	} {
		var config transport.Config
		c := &cobra.Command{Use: "tool", RunE: func(*cobra.Command, []string) error { return nil }}
		bind(c.Flags(), &config)
		var errs strings.Builder
		if code := command.Execute(t.Context(), c, []string{"--tls-dir", loop}, io.Discard, &errs); code != command.ExitUsage || !strings.Contains(errs.String(), name) {
			t.Errorf("%s: exit code %d, %s", name, code, &errs)
		}
	}
}

// Only a server that calls other replicas is said to need their authorities.
func TestTLSHelp(t *testing.T) {
	for _, test := range []struct {
		bind     func(*pflag.FlagSet, *transport.Config)
		replicas bool
	}{{flags.TLSServer, false}, {flags.TLSReplica, true}} {
		f := pflag.NewFlagSet("tool", pflag.ContinueOnError)
		test.bind(f, &transport.Config{})
		if help := f.Lookup("tls-dir").Usage; strings.Contains(help, "replicas") != test.replicas {
			t.Errorf("help %q", help)
		}
	}
}

// The error of a refused TLS file names its flag.
func TestRefusedTLS(t *testing.T) {
	for name, config := range map[string]transport.Config{
		"--tls-dir: ":  {CertFile: "a"},
		"--insecure: ": {CAFile: "a", Insecure: true},
	} {
		refusal := config.Validate()
		if err := flags.RefusedTLS(fmt.Errorf("start: %w", refusal)); !errors.Is(err, refusal) || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%v: got %v, want prefix %q", refusal, err, name)
		}
	}
	if err := errors.New("disk full"); !errors.Is(flags.RefusedTLS(err), err) || flags.RefusedTLS(nil) != nil {
		t.Error("another error, or nil, was changed")
	}
}

// A refusal of plaintext is a usage error, any other is not.
func TestRefused(t *testing.T) {
	refusal := fmt.Errorf("start: %w", &transport.PlaintextError{Action: "listen on", Addr: ":1"})
	unauthenticated := fmt.Errorf("start: %w", &transport.UnauthenticatedError{Addr: ":1"})
	for _, test := range []struct {
		err  error
		code int
	}{{refusal, command.ExitUsage}, {unauthenticated, command.ExitUsage}, {errors.New("disk full"), command.ExitFailure}, {nil, command.ExitOK}} {
		c := &cobra.Command{Use: "tool", RunE: func(*cobra.Command, []string) error { return flags.Refused(test.err) }}
		if code := command.Execute(t.Context(), c, nil, io.Discard, io.Discard); code != test.code {
			t.Errorf("%v: exit code %d, want %d", test.err, code, test.code)
		}
	}
}
