// Package debugsource asks our programs for their debug data, which each shows
// on loopback alone: on this machine by its URL, from elsewhere by package
// podforward.
package debugsource
