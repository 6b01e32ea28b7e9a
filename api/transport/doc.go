// Package transport opens listeners and chooses TLS for the schedulers, the aggregator and
// the agents that call them.
//
// The rule is the same on both ends. Plaintext stays on loopback; anything
// beyond needs TLS or the operator's explicit Insecure. A server beyond loopback
// also has to authenticate its callers: by certificates of ClientCAFile, which it then
// demands, or by Tokens, which are its own to review. A client with a CA file
// trusts servers of that CA and no other. Files are read again when they change.
//
// A ConnLimiter bounds what a server's callers can make it hold before they are authenticated:
// connections, those of one address that have not been admitted, calls in progress, their size
// and their time.
//
//	limiter, err := transport.NewConnLimiter(transport.Limits{})
//	listener, err := limiter.Listen(ctx, "127.0.0.1:9692", config)
//	options, err := limiter.ServerOptions(config)
//	server := grpc.NewServer(options...)
//
// and a client of it:
//
//	options, err := transport.DialOptions("aggregator:9692", config)
//	connection, err := grpc.NewClient("aggregator:9692", options...)
//
// Types that do not speak of concurrent use are plain values.
package transport
