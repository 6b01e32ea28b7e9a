// Package web is a page that shows at a glance what a scheduler knows and does: the nodes by
// the pods that still fit, which pods wait and why, when pods were done under each profile,
// and what has happened to one of them.
//
// What it shows it asks of a Source and knows nothing of Kubernetes, nor where a Source has it
// from. A Server serves the page to browsers; all that it loads is in the program.
//
//	server, err := web.New(web.Config{Source: source})
//	…
//	mux.Handle("/page/", http.StripPrefix("/page", server))
//	…
//	err = server.Run(ctx) // makes frames while anybody looks, until ctx ends
//
// # Frames
//
// Once a second, while anybody looks, one goroutine asks the Source for its State and makes a
// frame of it, which all readers are sent as a server-sent event. The first that a reader is
// sent is all there is; later ones have what has changed: nodes one by one, all else part by
// part. A frame says which version of the page understands it, and a page of another loads
// anew. Who is too slow for a change is sent all again, and who takes nothing at all is let go,
// so that nothing queues. A Source that fails or doesn't answer is told of, beside what it said
// last.
//
// # Who may look
//
// The page only shows, to whoever gets to it: a loopback, a port-forward, or callers that the
// server which it is mounted in knows. Pages of other sites in the same browser get nothing:
// they can't read answers, may not ask for anything but the page itself, and names that they
// let lead here aren't the server's (Config.Hosts). Nothing that is shown becomes markup: names
// are set as text, and the page's policy allows no script but its own files.
//
// Types that do not speak of concurrent use are plain values.
package web
