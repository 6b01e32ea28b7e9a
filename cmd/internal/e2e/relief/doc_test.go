// Package relief holds the descheduler against a real API server, with the scheduler, upstream's
// controllers and simulated nodes: what it evicts and what not, and rules of its chart of which one is
// withheld at a time.
package relief
