// Package endpoint is what the commands that others connect to have in common:
// their flags for TLS, and the HTTP server of their metrics, health and profiles.
package endpoint
