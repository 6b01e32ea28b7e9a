// Package server serves the interface /external/v1 on any Store.
package server
