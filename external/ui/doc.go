// Package ui is the web interface of the external scheduler's interface: a person sees the
// slots of test beds, decides which job runs in which, and watches it happen, as the manual
// scheduler of L. Schwerdtfeger's thesis (see package testbed; §5.1.1).
//
//	/ui/                                   test beds node by position, schedulings, jobs
//	/ui/build                              a scheduling is put together, beside what it would lead to
//	/ui/jobs/{namespace}/{name}            runs, conditions and what outside programs keep in the job
//	/ui/schedulings/{namespace}/{name}     a scheduling's jobs; they are released, it is deleted
//	/ui/matrix                             run times of jobs beside each other
//	/ui/login                              a token becomes a session
//
// The handler is a client of /external/v1 and of nothing else: it asks the API's handler, in
// the same process, with the credentials of whoever asks it, so that a page never shows or
// does more than its caller may. Pages are complete without scripts. Scripts, two modules,
// follow the watch and change what is on the page; they never render it anew.
//
// Everything that a page loads is in the program. Its Content-Security-Policy allows nothing
// from elsewhere and nothing inline.
//
// Types that do not speak of concurrent use are plain values.
package ui
