// Package deploy holds the manifests in deploy/rendered against the API server and
// the programs that they are for.
package deploy
