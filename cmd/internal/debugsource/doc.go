// Package debugsource asks our programs for their debug data, which each shows
// on loopback alone: on this machine by its URL, from elsewhere through the API
// server, which forwards to the pod's loopback for whoever may create
// pods/portforward.
package debugsource
