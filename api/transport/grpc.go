package transport

import (
	"cmp"
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// maxMessage bounds what a peer can make this process allocate for one
	// message. The largest valid ones are a model of 64 x 64, a report with 4096
	// pods and a chunk of replicas' states, some 33, 60 and 200 KiB.
	maxMessage = 256 << 10
	// maxHeaders bounds the headers of a call: a token of 8 KiB fits. gRPC's own
	// 16 MiB are as much for each call in progress.
	maxHeaders = 16 << 10
	// streams bounds the calls in progress on one connection.
	streams = 100
	// idle is how long a connection may stay without a call in progress; agents
	// push at least every 10 s.
	idle = time.Minute
	// probe and patience notice a peer that vanished without closing its
	// connection. 10 s is the least that gRPC clients allow.
	probe    = 10 * time.Second
	patience = 5 * time.Second
	// lastCalls is what the calls of a connection that has reached its age get to
	// end.
	lastCalls = 10 * time.Second
	// window is what a server's peer may send ahead of its reader, gRPC's least;
	// for a larger message it opens further while that is being read. A fixed one
	// spares small reports the pings by which gRPC measures the bandwidth. A
	// client trusts its server with more.
	window, clientWindow = 64 << 10, maxMessage
	// buffer is the size of a connection's buffers. A report of 50 pods
	// takes some 600 bytes; gRPC's 32 KiB are 300 MB for 5,000 agents.
	buffer = 8 << 10
)

// ServerOptions returns the credentials, bounds and keepalive of a gRPC server
// that listens on what l.Listen returns. Errors are *field.Error.
func (l *ConnLimiter) ServerOptions(c Config) ([]grpc.ServerOption, error) {
	files, err := serverFiles(c)
	if err != nil {
		return nil, err
	}
	options := []grpc.ServerOption{
		grpc.InTapHandle(l.tap),
		grpc.MaxConcurrentStreams(streams),
		grpc.MaxRecvMsgSize(l.limits.Message),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.ConnectionTimeout(l.limits.Handshake),
		grpc.StaticStreamWindowSize(window),
		grpc.StaticConnWindowSize(window),
		grpc.ReadBufferSize(buffer),
		grpc.WriteBufferSize(buffer),
		grpc.SharedWriteBuffer(true), //nolint:staticcheck // the version in go.mod does not share by default
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: probe, Timeout: patience, MaxConnectionIdle: idle,
			MaxConnectionAge: l.limits.Age, MaxConnectionAgeGrace: cmp.Or(l.limits.CallTime, lastCalls),
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: probe / 2, PermitWithoutStream: true}),
	}
	if files != nil {
		options = append(options, grpc.Creds(handshakes{files}))
	}
	return options, nil
}

// DialOptions returns the credentials, message bounds and keepalive of a gRPC
// client of target. Plaintext to a target that may lie beyond loopback needs
// Insecure: else the error is a *PlaintextError. Other errors are
// *field.Error.
func DialOptions(target string, c Config) ([]grpc.DialOption, error) {
	files, err := clientFiles(c)
	if err != nil {
		return nil, err
	}
	creds := insecure.NewCredentials()
	switch {
	case files != nil:
		creds = handshakes{files}
	case !c.Insecure && !onLoopback(target):
		return nil, &PlaintextError{Action: "send to", Addr: target}
	}
	return []grpc.DialOption{
		grpc.WithTransportCredentials(rawCredentials{creds}),
		grpc.WithStaticStreamWindowSize(clientWindow),
		grpc.WithStaticConnWindowSize(clientWindow),
		grpc.WithReadBufferSize(buffer),
		grpc.WithWriteBufferSize(buffer),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: probe, Timeout: patience, PermitWithoutStream: true}),
	}, nil
}

// rawCredentials are credentials over connections that leave Go's monitor thread asleep.
type rawCredentials struct {
	credentials.TransportCredentials
}

// ClientHandshake calls that of the credentials, over a rawConn.
func (r rawCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return r.TransportCredentials.ClientHandshake(ctx, authority, withRawIO(conn))
}

// Clone returns the same over a clone.
func (r rawCredentials) Clone() credentials.TransportCredentials {
	return rawCredentials{r.TransportCredentials.Clone()}
}
