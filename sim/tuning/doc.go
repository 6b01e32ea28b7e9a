// Package tuning runs profilers that correct the requests and limits of an
// application's services while it serves, against a profiler who knows beforehand what
// is enough.
//
// It is the application test of S. Galantino's thesis (Politecnico di Torino, 2020,
// §6.1, 6.3): Google's Online Boutique, ten services that call one another, of which a
// visit is a mean number of calls each; the limits are its developers', none, all cut
// by a third, or cut where they seem more than enough (table 6.1); every ten minutes
// each service's request is set to what its profiler says, and its limit to twice that
// (table 6.3). Nothing is known at the start. Measured are the latency of a visit, the
// share of periods in which limits hold a service up, and what is requested.
//
// Each service has a node of its own (package node), so that it is its limit alone that
// holds it up; the calls and the work of each are this package's, drawn around means by
// the seed. Latency is the sum over a visit's calls of their mean response times, one
// after the other, without the network; its percentiles are of visits drawn from these times.
// What a service holds of memory grows at first and stays (figure 6.11): its limit changes
// nothing.
//
// Types that do not speak of concurrent use are plain values.
package tuning
