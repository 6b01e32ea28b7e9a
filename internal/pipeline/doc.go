// Package pipeline holds what package agent's pipeline is made of and no operator
// sets: the constants of the algorithm, each with its reason, and the interface of
// what learns the cost of a pod. The simulator sets both.
//
// Types that do not speak of concurrent use are plain values.
package pipeline
