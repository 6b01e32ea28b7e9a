//go:build race

package recording_test

// hours of TestDay: the race detector takes ten times as long for each and finds
// in the first what there is to find.
const hours = 3
