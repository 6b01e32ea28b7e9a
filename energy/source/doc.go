// Package source reads what a machine shows of the energy it takes: counters and
// gauges as [energy.Reading], for an [energy.Meter].
//
//   - [Powercap]: RAPL's counters below /sys/class/powercap.
//   - shared: the same tree, as a host publishes it for its guests.
//   - hwmon: energy counters and power meters below /sys/class/hwmon.
//   - redfish: a board's management controller, over HTTPS.
//   - [Model]: power by utilisation from nameplate figures, where nothing measures.
//
// [Open] makes a [Chain] of them, which takes the best that reads and changes when that
// fails:
//
//	chain, err := source.Open(ctx, source.Config{})
//	readings, err = chain.ReadTo(readings, time.Now()) // once a second
//	interval, err := meter.Add(readings)               // an energy.Meter
//
// Roots and times are arguments, so that everything runs on fixtures and, in a container,
// on a host mount. The package imports the standard library and energy.
//
// Since kernel 5.10 RAPL's counters can be read by root alone, since they show what other
// processes compute (CVE-2020-8694), and container runtimes hide them. What may not be
// read is [ErrNotPermitted].
//
// Sources are for one goroutine.
package source
