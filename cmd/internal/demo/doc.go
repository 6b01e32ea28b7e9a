// Package demo is the program spazio-demo: flags around the packages demo, demo/testbeds
// and compare.
package demo
