// Package web is a page that shows at a glance what a scheduler knows and does: the nodes by
// the pods that still fit, which pods wait and why, when pods were done under each profile,
// and what has happened to one of them.
//
// It gets all of that from a Source and does not depend on Kubernetes. A Server serves the page to
// browsers; all files that the page loads are in the program.
//
//	server, err := web.New(web.Config{Source: source})
//	…
//	mux.Handle("/page/", http.StripPrefix("/page", server))
//	…
//	err = server.Run(ctx) // makes frames while there are readers, until ctx ends
//
// # Frames
//
// Once a second, while there are readers, one goroutine asks the Source for its State and makes a
// frame of it, which is sent to all readers as a server-sent event. A reader's first frame has
// everything; later ones have what has changed: nodes one by one, all else part by part. A frame
// has the version of the page that understands it; a page of another version reloads. A reader
// that is too slow for a change gets everything again, and one that takes nothing is disconnected,
// so that nothing queues. If a Source fails or doesn't answer, the page shows that beside the last
// State.
//
// # Access
//
// The page is read-only, for everyone who reaches it: over a loopback, a port-forward, or as a
// caller that the server which it is mounted in has authenticated. Pages of other sites in the same
// browser get nothing: they can't read answers, may only open the page itself, and requests for a
// host name of theirs that resolves to the server are refused (Config.Hosts). Nothing that is
// shown becomes markup: names are set as text, and the page's policy allows only its own scripts.
//
// Types that do not speak of concurrent use are plain values.
package web
