// Package schedulers reports runs in which schedulers were measured one after the other,
// on real processes: what each took in joules and processor time, and how its requests
// fared. Schedulers are compared pair by pair (package ratio), and where the interval of a
// ratio holds 1 the report says that no difference is shown, whatever the means are.
//
// Types that do not speak of concurrent use are plain values.
package schedulers
