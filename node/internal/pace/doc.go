// Package pace keeps a period: a schedule determines when samples are due, [Ticker]
// waits for that, and [Watchdog] judges whether they come as often as they should.
package pace
