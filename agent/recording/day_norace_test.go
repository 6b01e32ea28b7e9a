//go:build !race

package recording_test

// hours of TestDay.
const hours = 24
