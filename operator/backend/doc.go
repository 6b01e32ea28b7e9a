// Package backend is what the external scheduler's interface (module external) stands on in
// a cluster: a [Store] of a manager's cache, which every replica has, leader or not; an
// authenticator ([NewAuthenticator]) that asks the API server whose a token is, and an authorizer
// ([NewAuthorizer]) that asks it what a caller may do.
//
// What is read comes from the cache, what is written goes to the API server, in the name of
// whoever runs this. After a write the Store waits for its cache to have it, so that a
// caller who goes on asking the same replica finds what was written. What a Scheduling
// would lead to (Plan) is found by the controllers' own steps.
//
//	store, err := backend.NewStore(ctx, backend.Config{Cache: mgr.GetCache(), Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Authorizer: may})
//	s, err := server.New(server.Config{Store: store, Authenticator: who, Authorizer: may})
//
// Package cmd/testbed/service does all of it.
//
// Types that do not speak of concurrent use are plain values.
package backend
