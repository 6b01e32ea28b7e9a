//go:build !linux

package load

// prefer is for Linux.
func prefer() {}
