// Package sample has one fault for each verdict that mutate can come to.
package sample

import "errors"

var errNegative = errors.New("negative")

// Clamp is well tested but for its bounds, where both branches agree.
func Clamp(x, low, high int) int {
	if x < low {
		return low
	}
	if x > high {
		return high
	}
	return x
}

// A Counter counts.
type Counter[T any] struct {
	n    int
	last T
}

// Add is tested by the count alone.
func (c *Counter[T]) Add(values ...T) (n int, err error) {
	for _, v := range values {
		c.n++
		c.last = v
	}
	return c.n, nil
}

// Countdown runs away when its step is turned round.
func Countdown(n int) (steps int, _ error) {
	if n < 0 {
		return 0, errNegative
	}
	for n > 0 {
		n--
		steps++
	}
	return steps, nil
}

// Untested is called by no test.
func Untested(a, b bool) bool { return a && !b }

// Guard recovers, which only the deferred function itself may.
func Guard() (caught bool) {
	defer func() { caught = recover() != nil }()
	return 1+1 == 2
}

const limit = 10

// Over compares with a constant; a constant expression is left alone.
func Over(x float64) bool { return x*0.5 > limit+1 }
