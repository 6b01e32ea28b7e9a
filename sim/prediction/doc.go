// Package prediction asks how well a node's rejections foretell the contention that
// follows, as A. Grammenos et al., "Pronto: Federated Task Scheduling", 2021, measure
// their signal: which share of the spikes of contention has a rejection shortly before
// it, how many alarms nothing follows, and for how much of the time the node rejects.
//
// # What is counted
//
// A spike begins where a node's pressure exceeds a threshold (threshold), its own 95th
// percentile or one half, after a rest at or below it. It is foretold within w if the
// node rejected at one of the w seconds before; a rejection at the very sample that is
// the first of the spike counts by itself, not as foretold. The lead is the time from the first
// rejection within the longest w. An alarm is where rejections begin after a rest
// without; it is false if there is no spike under way, and none begins within w.
//
// # Signals
//
// signals lists them. Pronto is package pronto with its defaults, the models of all
// nodes of a source merged once a block and adopted by each. Beside it are the same
// where each node keeps to itself, on the directions of a decomposition that is not
// centred, a threshold on the raw pressure and a z-score of it by exponential averages,
// and two forms of chance. The four that have a dial reject as often as Pronto does on
// the same node: the threshold of the two scores is set afterwards, which favours them;
// one coin is thrown sample by sample, the other has Pronto's own rejections at another
// time, so that they come in as long rows.
//
// # On what
//
// A [Source] is nodes seen at the same times: a recording of a machine,
// series of CloudWatch or the Grid Workloads Archive ([ReadSeries]),
// or simulated nodes ([Simulate]). Each is judged raw and filtered: behind the agent's
// dynamic EMA, rejections being void while containers come and go.
//
// Everything depends on the arguments alone. Types that do not speak of concurrent use are
// plain values.
package prediction
