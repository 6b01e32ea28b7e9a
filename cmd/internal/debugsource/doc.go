// Package debugsource is the flags that say where our programs show their debug data,
// which each does on loopback alone: on this machine by a URL, from elsewhere by
// package podforward.
package debugsource
