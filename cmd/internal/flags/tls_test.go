package flags_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/flags"
)

func TestFlags(t *testing.T) {
	var config transport.Config
	c := &cobra.Command{Use: "tool", RunE: func(*cobra.Command, []string) error { return nil }}
	flags.TLSServer(c.Flags(), &config)
	args := []string{"--tls-cert-file=a", "--tls-private-key-file=b", "--tls-ca-file=c", "--tls-client-ca-file=d", "--insecure"}
	if code := command.Execute(t.Context(), c, args, io.Discard, io.Discard); code != command.ExitOK {
		t.Errorf("exit code %d", code)
	}
	if want := (transport.Config{CertFile: "a", KeyFile: "b", CAFile: "c", ClientCAFile: "d", Insecure: true}); config != want {
		t.Errorf("got config %+v, want %+v", config, want)
	}
}

// The error of a refused TLS file names its flag.
func TestRefusedTLS(t *testing.T) {
	for name, config := range map[string]transport.Config{
		"--tls-cert-file: ":        {CertFile: "a"},
		"--tls-private-key-file: ": {KeyFile: "a"},
		"--insecure: ":             {CAFile: "a", Insecure: true},
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
