// Package schedulers reports runs in which schedulers were measured one after the other, on real
// processes: what each took in joules and processor time, and how its requests fared. Schedulers are
// compared pair by pair (experiment.PairedRatio). Where the interval of a ratio contains 1, the report
// shows no difference, whatever the means are.
//
//	r := schedulers.Report{Quality: "measured", Schedulers: []string{"default", "spazio"}, Runs: runs}
//	err := r.WriteText(os.Stdout, text.Terminal)
//	err = r.Save("comparison")
//
// [Components], [Guests] and [Following] report what else package compare, and
// programs like it, measure.
//
// Types are plain values unless they say otherwise.
package schedulers
