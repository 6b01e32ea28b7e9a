// Package server serves the interface /external/v1 on any Store: what there is to see of
// test beds, slots, jobs and schedulings, and what an outside program decides.
//
//	s, err := server.New(server.Config{Store: store, Authenticator: who, Authorizer: may})
//	go s.Run(ctx)                    // feeds the watches; requests are answered without
//	err = http.ListenAndServe(addr, s)
//
// Package servertest has a Store in memory to begin with. The contract that every server of the
// interface keeps to, whatever its Store is, is TestContract of this package's tests; a server of
// one's own that runs is tested by
//
//	go test -run '^TestContract$' github.com/spazio-scheduler/spazio/external/server -args -contract FILE
//
// where FILE has its address and tokens (the type target in contract_test.go, as JSON).
//
// Every request goes through the same steps. Its Host and Origin are checked; its caller is
// identified by a bearer token or a session's cookie, and limited in rate and number; the table of
// routes has the right that it needs, and the Authorizer checks it; only then are the body read and
// the Store asked. A refusal is a wire.Problem, and nothing has been written.
//
// A session is the token itself in a cookie that scripts cannot read. So every replica
// accepts it, none stores it, and it ends with the token, which the Authenticator checks
// for each request. Ending a session deletes the browser's cookie; the token itself can
// only be revoked by its issuer.
//
// Types that do not speak of concurrent use are plain values.
package server
