// Package schedulers reports runs in which schedulers were measured one after the other,
// on real processes: what each took in joules and processor time, and how its requests
// fared. Schedulers are compared pair by pair (package ratio), and where the interval of a
// ratio holds 1 the report says that no difference is shown, whatever the means are.
//
//	r := schedulers.Report{Quality: "measured", Schedulers: []string{"default", "spazio"}, Runs: runs}
//	err := r.Validate()
//	err = r.WriteText(os.Stdout, table.Terminal)
//	err = r.Save("comparison")
//
// [Components], [Guests], [Following] and [Repeats] report what else package compare, and
// programs like it, measure.
//
// Types that do not speak of concurrent use are plain values.
package schedulers
