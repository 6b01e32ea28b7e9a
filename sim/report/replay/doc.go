// Package replay presents an agent's recording (package agent/recording), run again
// through the same pipeline: whether every report comes out the same, bit for bit,
// or what the reports would have been with other options.
//
//	reader, err := recording.Open("recording")
//	result, err := replay.Run(reader, replay.Options{Set: []string{"avail.caution=0.5"}})
//	err = result.WriteText(os.Stdout)
//
// Types that do not speak of concurrent use are plain values.
package replay
