// Package load sends requests at a constant rate and measures how long each took from when
// it was due, not from when it was sent, so that a server that stalls is charged for all
// who would have come meanwhile (vegeta's library sends, HdrHistogram counts).
//
// What it says of the server holds only if the requests were sent when they were due:
// [Result.Late] is the share of those that were not, because this machine had no time for
// the sender.
//
// Types that do not speak of concurrent use are plain values.
package load
