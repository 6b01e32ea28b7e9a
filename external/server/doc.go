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
// where FILE is the absolute path of a JSON object:
//
//   - URL is http[s]://HOST:PORT. CAFile is the absolute path of PEM certificates to trust in
//     place of the system's, for a server with a certificate of its own.
//   - Namespace has the test bed that Testbed names, with two or more free slots, and the two jobs
//     that the list Jobs names, which keep no data. It has no schedulings.
//   - Seed is true if SeedPaths names the namespace.
//   - Admin is the token of a caller who may do everything everywhere, Viewer of one who may see
//     everything, Team of one who may do everything in the namespace, and Nothing of one with no
//     right. Expired, Foreign, which is for another audience, and Unknown are refused.
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
