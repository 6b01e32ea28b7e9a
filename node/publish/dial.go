package publish

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/spazio-scheduler/spazio/api/transport"
)

// connectTimeout is how long one attempt may take to connect before it counts
// as failed; gRPC's own 20 s would keep a node silent long after a peer that
// dropped packets has returned.
const connectTimeout = 3 * time.Second

// dialOptions are those of a target; a tokenFile, if there is one, is read anew
// for each stream.
func dialOptions(target string, c transport.Config, tokenFile string) ([]grpc.DialOption, error) {
	options, err := transport.DialOptions(target, c)
	if err != nil {
		return nil, err
	}
	if tokenFile != "" {
		options = append(options, transport.Token(tokenFile))
	}
	return append(options, grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.DefaultConfig,
		MinConnectTimeout: connectTimeout,
	})), nil
}
