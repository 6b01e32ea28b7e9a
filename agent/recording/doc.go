// Package recording stores what a node's agent has seen and said, and runs it
// again: the same samples and events through the same code give the same
// reports, bit for bit.
//
// A [Recorder] writes beside a running agent, a [Reader] reads, [Replay] runs
// the records through an agent.Pipeline, as it was or with other options. Bit
// for bit holds for the code and the architecture that recorded: Go lets some
// architectures fuse a multiplication with an addition, so that elsewhere the
// last digits may differ.
//
// # Time
//
// A record keeps its time in nanoseconds since the Unix epoch, without a
// monotonic reading, for which there is no place outside of its process. The
// pipeline counts differences of times, and those of time.Now are taken from
// the monotonic readings. So an agent that records passes times without them,
// yet of a steady clock:
//
//	started := time.Now()
//	now := func() time.Time { return started.Round(0).Add(time.Since(started)) }
//
// Times must be within the years 1678 to 2262, which is what int64 holds.
//
// # Files
//
// A recording is a directory of files 00000001.spazio, 00000002.spazio, …, in
// the order of their numbers. Each can be replayed by itself. The newest is
// written to; the oldest is deleted as the total grows too large.
//
// A file is
//
//	magic    8 bytes: 89 53 50 5a 52 45 43 0a ("\x89SPZREC\n")
//	version  2 bytes, little-endian: 2
//	records
//
// and a record is
//
//	length   u, of the payload: 1 to 1,048,576
//	payload  the kind (1 byte) and the body
//	sum      4 bytes, little-endian: CRC-32C (Castagnoli) of length and payload
//
// made of
//
//	u  unsigned varint: 7 bits a byte, least significant first, as encoding/binary
//	f  float64, IEEE 754, 8 bytes little-endian
//	e  float32, IEEE 754, 4 bytes little-endian
//	k  pod key, 8 bytes little-endian
//	t  time, int64 nanoseconds since the Unix epoch, 8 bytes little-endian;
//	   −2⁶³ is the zero time.Time
//	b  byte
//	s  string: its length as u, its bytes
//	j  the rest of the body is JSON, as encoding/json writes it; a field that the
//	   reader does not know is refused
//	[x] list of x: its length as u, its elements
//
// The kinds and their bodies:
//
//	1 header    j: {"part": 1, "config": {…}}; config is an agent.Config, part
//	            counts the files of one Recorder from 1
//	2 snapshot  j: the agent.State before the next record
//	3 sample    t, [f]: one value a channel
//	4 pods      t, [k] gone, [pod k, state b, starts u] new or changed, each
//	            ascending: against the pods known before, which are those of the
//	            snapshot and of the records after it
//	5 churn     t
//	6 fleet     j: {"at": …, "schema": …, "model": svd.State, "costs": […],
//	            "nodes": …}
//	7 report    node s, incarnation u, sequence u, sampled at t, schema s,
//	            avail f, allowance f, k f, limiting s, channels [name s, usage f,
//	            capacity f, cost f, sd f], flags b: 1 saturated, 2 churn,
//	            4 cost unknown, 8 no pressure, 16 warming up, 32 absorbed follows
//	            as [k], otherwise it is the pods known that are not pending;
//	            64 floored, 128 there follow for each channel room f, ahead f,
//	            unit f, pod sd f, most f, and mispredictions [pod k, cpu f, memory f];
//	            then, where anything is known of power, as in power, and [cores e,
//	            watts e] of the pods absorbed
//	8 dropped   t, reason s: a sample that could not be taken
//	9 gap       t, u: so many records were lost before this one
//	10 mark     t, s: a remark
//	11 bound    t, k, b, u: the notice of a pod's bind, whether it gives how many
//	            init containers the pod has, and how many; then, if anything is known
//	            of what it takes, amount f, sd f, confidence f of CPU and memory
//	12 sizes    t, [f]: the sizes of the channels, as agent.Pipeline.Resize gets them
//	13 usage    t, [pod k, flags b: 1 older, 2 ended, 4 pressure, age u, cpu u,
//	            stalled u in ns, memory u, peak u]: what pods took
//	14 power    t, watts f, sd f, max f, idle f, marginal f, busy f, cores f,
//	            joules f, quality b, flags u: an energy.Power
//	15 pod power  t, [pod k, cores e, watts e]: an agent.PodPower each
//	16 placeholders   t, [k]: the pods that a scheduler named as placeholders
//
// The first record is a header. A snapshot follows it and every gap, before any
// other record. Samples, pods, churn, bound, placeholders, sizes, usage, power, pod power
// and fleet are inputs; a report follows the input that caused it.
//
// # Crashes
//
// A file that was not closed may end within a record. The sum, or the end of
// the file, shows it; reading that file ends there with a [*TornError], and what
// came before is good. A Recorder never appends to a file of an earlier one.
//
// # Versions
//
// The version changes when a reader of the former would misread. A config with
// a field that this package does not know is refused, for it could not be
// replayed truly. So a field of agent.Config or agent.State that goes raises the
// version, or the JSON of recordings keeps its name.
//
// Types that do not speak of concurrent use are plain values.
package recording
