// Package server serves the interface /external/v1 on any Store: what there is to see of
// test beds, slots, jobs and schedulings, and what an outside program decides.
//
//	s, err := server.New(server.Config{Store: store, Authenticator: who, Authorizer: may})
//	go s.Run(ctx)                    // feeds the watches; requests are answered without
//	err = http.ListenAndServe(addr, s)
//
// Package servertest has a Store in memory to begin with, and the contract that a Store of
// one's own is tested by.
//
// A request goes through the same steps whatever it is for. Its Host and Origin are
// looked at, its caller is told from a bearer token or a session's cookie and may have
// used up what a caller may use, a row of the table of routes says what right it takes,
// the Authorizer whether the caller has it, and only then is the body read and the Store
// asked. What is refused is a wire.Problem, and nothing has been written.
//
// A session is the token itself in a cookie that scripts cannot read. So every replica
// knows it, none keeps anything of it, and it ends with the token, of which the
// Authenticator is asked for each request. Ending a session takes the cookie from the
// browser; a token that is to be worth nothing has to be revoked where it is from.
//
// Types that do not speak of concurrent use are plain values.
package server
