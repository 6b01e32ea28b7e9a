package transport

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
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
)

// ServerOptions returns the credentials, message bounds and keepalive of a
// gRPC server. Errors are *ConfigError.
func ServerOptions(c Config) ([]grpc.ServerOption, error) {
	config, err := ServerTLS(c)
	if err != nil {
		return nil, err
	}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: probe, Timeout: patience}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: probe / 2, PermitWithoutStream: true}),
	}
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	return options, nil
}

// DialOptions returns the credentials, message bounds and keepalive of a gRPC
// client of target. Plaintext to a target that may lie beyond loopback needs
// Insecure: else the error is a *PlaintextError. Other errors are
// *ConfigError.
func DialOptions(target string, c Config) ([]grpc.DialOption, error) {
	config, err := ClientTLS(c)
	if err != nil {
		return nil, err
	}
	creds := insecure.NewCredentials()
	switch {
	case config != nil:
		creds = credentials.NewTLS(config)
	case !c.Insecure && !onLoopback(target):
		return nil, &PlaintextError{Action: "send to", Addr: target}
	}
	return []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: probe, Timeout: patience, PermitWithoutStream: true}),
	}, nil
}
