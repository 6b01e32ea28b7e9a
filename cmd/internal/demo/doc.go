// Package demo is the program spazio-demo: flags around the packages demo and compare, and Kubernetes'
// control plane, schedulers and agents as the roles of a comparison.
package demo
