//go:build !linux

package social

// prefer is for Linux.
func prefer() {}
