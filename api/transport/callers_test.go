package transport_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// certified answers every push with the name in the caller's certificate.
type certified struct {
	spaziov1.UnimplementedModelServiceServer
}

func (certified) Push(ctx context.Context, _ *spaziov1.PushRequest) (*spaziov1.PushResponse, error) {
	response := &spaziov1.PushResponse{Global: &spaziov1.GlobalModel{Schema: "anonymous"}}
	if c := transport.Certificate(ctx); c != nil {
		response.Global.Schema = c.Subject.CommonName
	}
	return response, nil
}

// TestCallerNames: a server with only a CA for servers does not require client certificates, and a
// certificate counts only if the client CA issued it.
func TestCallerNames(t *testing.T) {
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	server, member, foreign := ours.config(t, "server"), ours.config(t, "member"), theirs.config(t, "foreign")
	foreign.CAFile = ours.file
	anonymous := transport.Config{CAFile: ours.file}
	trusting := transport.Config{CertFile: server.CertFile, KeyFile: server.KeyFile, CAFile: ours.file}
	tokens := server
	tokens.Tokens = true
	for _, tt := range []struct {
		name           string
		server, client transport.Config
		want           string // "" means refused
	}{
		{"a server that trusts others, a client without certificate", trusting, anonymous, "anonymous"},
		{"a server that trusts others, a client that is not asked for a certificate", trusting, member, "anonymous"},
		{"mutual, no certificate", server, anonymous, ""},
		{"mutual", server, member, "member"},
		{"certificate or token, no certificate", tokens, anonymous, "anonymous"},
		{"certificate or token, a member", tokens, member, "member"},
		{"certificate or token, another authority's", tokens, foreign, "anonymous"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			target, stop := listen(t, tt.server, certified{})
			defer stop()
			options, err := transport.DialOptions(target, tt.client)
			if err != nil {
				t.Fatal(err)
			}
			connection, err := grpc.NewClient(target, options...)
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			response, err := spaziov1.NewModelServiceClient(connection).Push(t.Context(), &spaziov1.PushRequest{})
			if got := response.GetGlobal().GetSchema(); got != tt.want || (status.Code(err) == codes.Unavailable) != (tt.want == "") {
				t.Errorf("the server saw %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

// TestListenRefusesUnknownCallers: beyond loopback TLS alone is not enough.
func TestListenRefusesUnknownCallers(t *testing.T) {
	c := newAuthority(t, "ca").config(t, "server")
	with := func(change func(*transport.Config)) transport.Config {
		changed := c
		change(&changed)
		return changed
	}
	alone := with(func(c *transport.Config) { c.ClientCAFile = "" })
	for _, tt := range []struct {
		addr    string
		config  transport.Config
		refused bool
	}{
		{":0", c, false},
		{":0", alone, true},
		{"192.0.2.1:9690", alone, true},
		{"127.0.0.1:0", alone, false},
		{":0", with(func(c *transport.Config) { c.ClientCAFile, c.Tokens = "", true }), false},
	} {
		listener, err := transport.Listen(t.Context(), tt.addr, tt.config)
		var refusal *transport.UnauthenticatedError
		if errors.As(err, &refusal) != tt.refused || !tt.refused && err != nil {
			t.Errorf("Listen(%q, %+v): %v, want refusal %v", tt.addr, tt.config, err, tt.refused)
		}
		if tt.refused && (refusal == nil || refusal.Addr != tt.addr) {
			t.Errorf("Listen(%q): %v does not name the address", tt.addr, err)
		}
		if err == nil {
			listener.Close()
		}
	}
}

// TestConnectionsAge: a connection in use is closed after its maximum age, and with it the result of
// its handshake.
func TestConnectionsAge(t *testing.T) {
	c := newAuthority(t, "ca").config(t, "server")
	target, _, stop := listenWithin(t, transport.Limits{Age: 20 * time.Millisecond}, c, models{})
	defer stop()
	options, err := transport.DialOptions(target, c)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := grpc.NewClient(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	for range 3 {
		for connection.GetState() != connectivity.Ready {
			connection.Connect()
			if !connection.WaitForStateChange(t.Context(), connection.GetState()) {
				t.Fatal("the server never became ready")
			}
		}
		if !connection.WaitForStateChange(t.Context(), connectivity.Ready) {
			t.Fatal("the connection was not closed")
		}
	}
}
