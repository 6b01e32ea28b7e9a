// Package social is a small social network to compare schedulers with, and the load on it.
//
// The network has nine tiers that call each other over HTTP, each replica a process of its own. It
// computes nothing, but each request burns a stated CPU time in each tier that it passes, by the
// kernel's clock of the thread, so that what an amount of requests should take is known. It is in the
// shape of DeathStarBench's social network (Y. Gan et al., ASPLOS 2019), with its caches and databases
// left out:
//
//	read     front → home-timeline → graph, post → user, media
//	compose  front → compose → text → url, user
//	                         → media, post, home-timeline → graph
//
// A read burns 4 ms in all, a compose 5.6 ms.
//
// A [Load] sends requests at a constant rate and measures how long each took from when it was due, not
// from when it was sent, so that a server that stalls is charged for all requests that would have come
// meanwhile (vegeta's library sends, HdrHistogram counts). Its result holds only if the requests were
// sent when they were due: [LoadResult.Late] is the share of those that were not, because this machine
// had no time for the sender.
//
// Types are plain values unless they say otherwise.
package social
