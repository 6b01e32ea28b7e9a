//go:build !linux

package node

// ReadSpent knows nothing here.
func ReadSpent() Spent { return Spent{} }
