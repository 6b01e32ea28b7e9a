package transport

import (
	"context"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/spazio-scheduler/spazio/field"
)

// Token returns the option by which a client shows the bearer token in a file
// to the servers it calls. The file is read for each call, so that a rotated
// token, such as the kubelet's of a projected volume, takes effect with the next
// one; a call fails with Unauthenticated while it can't be read. A token is
// never sent in plaintext: grpc.NewClient refuses the option without TLS.
func Token(file string) grpc.DialOption {
	return grpc.WithPerRPCCredentials(tokenFile(file))
}

type tokenFile string

var errNoToken = fmt.Errorf("%w: the file is empty", ErrInvalid)

// GetRequestMetadata reads the token.
func (f tokenFile) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	text, err := os.ReadFile(string(f))
	token := strings.TrimSpace(string(text))
	if err == nil && token == "" {
		err = errNoToken
	}
	if err != nil {
		return nil, &field.Error{Package: "transport", Field: "TokenFile", Value: string(f), Err: err}
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity is true.
func (tokenFile) RequireTransportSecurity() bool { return true }

var _ credentials.PerRPCCredentials = tokenFile("")
