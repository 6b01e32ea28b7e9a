// Package social is a small social network to compare schedulers with: nine tiers that
// call each other over HTTP, each replica a process of its own. It computes nothing, but
// each request burns a stated CPU time in each tier that it passes, by the kernel's clock
// of the thread, so that what an amount of requests should take is known.
//
// It is in the shape of DeathStarBench's social network (Y. Gan et al., ASPLOS 2019), with
// its caches and databases left out:
//
//	read     front → home-timeline → graph, post → user, media
//	compose  front → compose → text → url, user
//	                         → media, post, home-timeline → graph
//
// Types that do not speak of concurrent use are plain values.
package social
