package transport

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// maxMessage bounds what a peer can make this process allocate for one
	// message. The largest valid ones are a model of 64 x 64 and a report with
	// 4096 pods, some 33 KiB and 60 KiB.
	maxMessage = 256 << 10
	// probe and patience notice a peer that vanished without closing its
	// connection. 10 s is the least that gRPC clients allow.
	probe    = 10 * time.Second
	patience = 5 * time.Second
	// window is what a peer may send ahead of its reader: the largest message.
	// A fixed one spares small reports the pings by which gRPC measures the
	// bandwidth.
	window = maxMessage
	// buffer is that of a connection, for each direction. A report of 50 pods
	// takes some 600 bytes; gRPC's 32 KiB are 300 MB for 5,000 agents.
	buffer = 8 << 10
)

// ServerOptions returns the credentials, message bounds and keepalive of a
// gRPC server. Errors are *ConfigError.
func ServerOptions(c Config) ([]grpc.ServerOption, error) {
	files, err := serverFiles(c)
	if err != nil {
		return nil, err
	}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.StaticStreamWindowSize(window),
		grpc.StaticConnWindowSize(window),
		grpc.ReadBufferSize(buffer),
		grpc.WriteBufferSize(buffer),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: probe, Timeout: patience}),
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
// *ConfigError.
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
		grpc.WithTransportCredentials(creds),
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(window),
		grpc.WithReadBufferSize(buffer),
		grpc.WithWriteBufferSize(buffer),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: probe, Timeout: patience, PermitWithoutStream: true}),
	}, nil
}
