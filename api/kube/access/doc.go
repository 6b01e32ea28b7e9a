// Package access says who may call which method of our gRPC servers, in one
// table, and holds a server's callers to it: agents show the token of their pod,
// other replicas of the server a certificate of its service.
//
//	callers := access.New(access.Config{Agents: reviewer, Peers: names})
//	server := grpc.NewServer(grpc.ChainUnaryInterceptor(callers.Unary), grpc.ChainStreamInterceptor(callers.Stream))
//	caller, err := access.From(ctx) // in a method
//
// Types that do not speak of concurrent use are plain values.
package access
