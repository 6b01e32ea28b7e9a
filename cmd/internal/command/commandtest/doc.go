// Package commandtest runs a command in a process of its own, and says what that wrote and
// what it leaves.
package commandtest
