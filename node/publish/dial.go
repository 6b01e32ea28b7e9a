package publish

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/node/build"
)

// connectTimeout is how long one attempt may take to connect before it counts
// as failed; gRPC's own 20 s would keep a node silent long after a peer that
// dropped packets has returned.
const connectTimeout = 3 * time.Second

// usageConnectTimeout is that of what can wait: windows are kept, and grow together. When
// all agents of a fleet come to a profiler at once, who gives up and comes again has it
// begin another handshake where it was about to end one.
const usageConnectTimeout = 20 * time.Second

// dialOptions are those of a target, which gets this program's version; a tokenFile, if there is one, is read anew
// for each stream.
func dialOptions(target string, c transport.Config, tokenFile string, timeout time.Duration) ([]grpc.DialOption, error) {
	options, err := transport.DialOptions(target, c)
	if err != nil {
		return nil, err
	}
	if tokenFile != "" {
		options = append(options, transport.Token(tokenFile))
	}
	options = append(options, grpc.WithUserAgent("spazio-agent/"+build.Version()))
	return append(options, grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.DefaultConfig,
		MinConnectTimeout: timeout,
	})), nil
}
