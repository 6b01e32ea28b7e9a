// Package deploy holds the chart's manifests against the API server and
// the programs that they are for.
package deploy
