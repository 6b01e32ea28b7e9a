// Command guestpower says how evenly spazio-power tells guests their energy, and what that
// takes:
//
//	go run ./bench/guestpower --check
//
// For each number of guests it starts as many processes that look like QEMU's, which keep
// part of a core busy together, and spazio-power on energy counters that are made of what
// this machine does. It looks at each guest's tree several times a second: a file's
// modification time is when its energy was sampled, its change time when it was published.
// The table has the time between two publications of a guest and the processor time of
// spazio-power.
//
// With --check the exit code is 1 where a bar is missed: publications 1.00 ± .02 s apart on
// average at each guest, none more than 1.25 s, and with 20 guests or fewer 5 millicores.
// What it says of the first two holds of a quiet machine alone.
package main
