package recording

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/reserve"
)

// Defaults of Options. An agent of two channels writes some 40 MB a day.
const (
	DefaultFileSize  = 16 << 20
	DefaultTotalSize = 256 << 20
	// defaultBuffer holds ten minutes of such an agent's records while the disk
	// is slow.
	defaultBuffer = 256 << 10
	defaultFlush  = time.Second
)

// Options of a Recorder. State is required; the zero value of every other field
// means its default.
type Options struct {
	// State returns the state of the pipeline that is recorded. The Recorder's
	// methods call it at the start of a file and after a gap.
	State func() agent.State
	// FileSize is where a file ends and the next begins, at least 4 KiB; a
	// file may exceed it by one record.
	FileSize int64
	// TotalSize bounds all files of the directory, at least twice FileSize.
	TotalSize int64
	// Buffer is the memory, in bytes, that records wait in; there are two such.
	// At least 4 KiB.
	Buffer int

	// flush is the time between two writes.
	flush time.Duration
}

// Validate returns a *field.Error for the first field that is missing or out of
// its range.
func (o Options) Validate() error {
	d := o.withDefaults()
	switch {
	case o.State == nil:
		return refuse("State", nil, "is missing")
	case d.FileSize < minSize:
		return refuse("FileSize", o.FileSize, "must be at least %d", minSize)
	case d.TotalSize < 2*d.FileSize:
		return refuse("TotalSize", o.TotalSize, "must be at least twice FileSize")
	case d.Buffer < minSize:
		return refuse("Buffer", o.Buffer, "must be at least %d", minSize)
	}
	return nil
}

const minSize = 4 << 10

func (o Options) withDefaults() Options {
	o.FileSize = cmp.Or(o.FileSize, DefaultFileSize)
	o.TotalSize = cmp.Or(o.TotalSize, max(DefaultTotalSize, 2*o.FileSize))
	o.Buffer = cmp.Or(o.Buffer, defaultBuffer)
	o.flush = cmp.Or(o.flush, defaultFlush)
	return o
}

// Recorder writes the recording of one pipeline. Sample, Pods, Churn and Fleet
// are called just before the method of the pipeline that gets the same, Report
// with each report after it. None of them waits for the disk, and none allocates
// except for Fleet and at the start of a file: a goroutine writes what they left in
// memory. What finds no room there, or on the disk, is counted and leaves a gap
// record, never a silent hole.
//
// The methods belong to the goroutine that owns the pipeline; Stats may be
// called from any. A nil Recorder records nothing.
type Recorder struct {
	options Options
	config  agent.Config
	part    int
	payload []byte      // of the record being encoded
	framed  []byte      // the same with length and sum
	pods    []agent.Pod // that the reader knows of
	next    []agent.Pod
	counted []reserve.PodKey // that the reader expects in a report
	size    int64            // of the file being filled, so far
	lost    uint64           // since the last gap record

	queue  queue
	writer writer
	stop   chan struct{}
	ended  chan struct{}
	closed sync.Once
	err    error // of Close
}

// Create starts a recording of a pipeline of the given Config in dir, which is
// made if need be, and writes the pipeline's state to its first file. A
// directory belongs to one Recorder at a time; the files of earlier ones stay
// and count for Options.TotalSize. The error is that of Options.Validate, of
// Config.Validate, or of the file system. Close ends the Recorder.
func Create(dir string, c agent.Config, o Options) (*Recorder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	c.Channels = slices.Clone(c.Channels)
	r := &Recorder{
		options: o, config: c,
		writer: writer{dir: dir, fileSize: o.FileSize, totalSize: o.TotalSize},
		stop:   make(chan struct{}), ended: make(chan struct{}),
	}
	r.queue.init(o.Buffer)
	if err := r.writer.prepare(); err != nil {
		return nil, err
	}
	if !r.ready(time.Time{}) {
		return nil, refuse("State", "", "does not fit a record")
	}
	if err := r.flush(); err != nil {
		return nil, err
	}
	go r.run()
	return r, nil
}

// Sample records a sample that the pipeline is about to get.
func (r *Recorder) Sample(at time.Time, y []float64) {
	if r.ready(at) {
		r.payload = appendValues(r.payload[:0], KindSample, at, y)
		r.add()
	}
}

// Pods records the pods that the pipeline is about to get.
func (r *Recorder) Pods(at time.Time, pods []agent.Pod) {
	if !r.ready(at) {
		return
	}
	r.next = append(r.next[:0], pods...)
	slices.SortStableFunc(r.next, byKey)
	r.next = slices.CompactFunc(r.next, func(a, b agent.Pod) bool { return a.Key == b.Key })
	r.payload = appendPods(r.payload[:0], at, r.pods, r.next)
	if r.add() {
		r.pods, r.next = r.next, r.pods
		r.counted = countedTo(r.counted, r.pods)
	}
}

// Sizes records what Pipeline.Resize is about to get.
func (r *Recorder) Sizes(at time.Time, sizes []float64) {
	if r.ready(at) {
		r.payload = appendValues(r.payload[:0], KindSizes, at, sizes)
		r.add()
	}
}

// Churn records a container event that the pipeline is about to get.
func (r *Recorder) Churn(at time.Time) {
	if r.ready(at) {
		r.payload = appendTime(append(r.payload[:0], byte(KindChurn)), at)
		r.add()
	}
}

// Bound records the notice of a bind that the pipeline is about to get.
func (r *Recorder) Bound(at time.Time, b agent.Bind) {
	if r.ready(at) {
		r.payload = appendBind(r.payload[:0], at, b)
		r.add()
	}
}

// Placeholders records the placeholders that the pipeline is about to get.
func (r *Recorder) Placeholders(at time.Time, pods []reserve.PodKey) {
	if r.ready(at) {
		r.payload = appendKeys(appendTime(append(r.payload[:0], byte(KindPlaceholders)), at), pods)
		r.add()
	}
}

// Usage records the readings that the pipeline is about to get.
func (r *Recorder) Usage(at time.Time, readings []agent.PodReading) {
	if r.ready(at) {
		r.payload = appendUsage(r.payload[:0], at, readings)
		r.add()
	}
}

// Power records the power that the pipeline is about to get.
func (r *Recorder) Power(at time.Time, p energy.Power) {
	if r.ready(at) {
		r.payload = appendPower(appendTime(append(r.payload[:0], byte(KindPower)), at), p)
		r.add()
	}
}

// PodPower records the power of pods that the pipeline is about to get.
func (r *Recorder) PodPower(at time.Time, pods []agent.PodPower) {
	if r.ready(at) {
		r.payload = appendPodPower(r.payload[:0], at, pods)
		r.add()
	}
}

// Fleet records what Pipeline.SetFleet is about to get. One that has no JSON, as
// with a cost that is no number, is lost.
func (r *Recorder) Fleet(at time.Time, f agent.Fleet) {
	if !r.ready(at) {
		return
	}
	payload, err := appendFleet(r.payload[:0], at, f)
	if err != nil {
		r.lose()
		return
	}
	r.payload = payload
	r.add()
}

// Report records what the last input made the pipeline say.
func (r *Recorder) Report(report agent.Report) {
	if r == nil {
		return
	}
	if r.lost > 0 { // its input is missing too
		r.lose()
		return
	}
	r.payload = appendReport(r.payload[:0], &report, r.counted)
	r.add()
}

// Dropped records that a sample could not be taken.
func (r *Recorder) Dropped(at time.Time, err error) {
	if r.ready(at) {
		r.payload = appendText(r.payload[:0], KindDropped, at, err.Error())
		r.add()
	}
}

// ready makes sure that the next record has a file to go to and a state to
// start from. It reports false, and counts the record as lost, if there is no
// room for that.
func (r *Recorder) ready(at time.Time) bool {
	if r == nil {
		return false
	}
	failed, broken := r.queue.failure()
	r.lost += failed
	file := broken || r.size >= r.options.FileSize
	if !file && r.lost == 0 {
		return true
	}
	if r.resume(at, file) {
		r.lost = 0
		return true
	}
	r.lose()
	return false
}

func (r *Recorder) lose() {
	r.lost++
	r.queue.lose()
}

// leastPod is less than the bytes of a pod in a snapshot, running or ended.
const leastPod = 64

// resume writes what a reader needs to go on: after a gap the state, at the
// start of a file also the header.
func (r *Recorder) resume(at time.Time, file bool) bool {
	state := r.options.State()
	if len(state.Pods)+len(state.Ended) > maxRecord/leastPod { // it need not be tried, sample after sample
		return false
	}
	var prologue, payload []byte
	records := uint64(1)
	if file {
		var err error
		if payload, err = appendJSON(nil, KindHeader, Header{Part: r.part + 1, Config: r.config}); err != nil {
			return false
		}
		prologue = appendRecord(appendPreamble(nil), payload)
		records++
	}
	if r.lost > 0 {
		payload = appendUint(appendTime(append(payload[:0], byte(KindGap)), at), r.lost)
		prologue = appendRecord(prologue, payload)
		records++
	}
	payload, err := appendJSON(payload[:0], KindSnapshot, state)
	if err != nil || len(payload) > maxRecord {
		return false
	}
	prologue = appendRecord(prologue, payload)
	if !r.queue.push(prologue, records, file) {
		return false
	}
	if file {
		r.part++
		r.size = 0
	}
	r.size += int64(len(prologue))
	r.pods = listed(&state)
	r.counted = countedTo(r.counted, r.pods)
	return true
}

// add queues the encoded record and reports whether there was room.
func (r *Recorder) add() bool {
	if len(r.payload) <= maxRecord {
		r.framed = appendRecord(r.framed[:0], r.payload)
		if r.queue.push(r.framed, 1, false) {
			r.size += int64(len(r.framed))
			return true
		}
	}
	r.lose()
	return false
}

// Stats is what a Recorder has done so far.
type Stats struct {
	// Records and Bytes were written; Lost records were not.
	Records, Bytes, Lost uint64
	// Files were begun by this Recorder.
	Files int
	// Err is the last error of the file system; nil once writing is good again.
	Err error
}

// Stats returns what was done so far.
func (r *Recorder) Stats() Stats { return r.queue.stats() }

// Close writes what is left, ends the Recorder and returns the error of that
// last write. No other method but Stats may be called afterwards.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.closed.Do(func() {
		close(r.stop)
		<-r.ended
	})
	return r.err
}

// run writes once per Options.flush, and earlier if the buffer fills.
func (r *Recorder) run() {
	defer close(r.ended)
	ticker := time.NewTicker(r.options.flush)
	defer ticker.Stop()
	for {
		select {
		case <-r.stop:
			r.err = r.flush()
			if err := r.writer.close(); r.err == nil {
				r.err = err
			}
			return
		case <-ticker.C:
		case <-r.queue.filling:
		}
		r.flush() // Stats has its error
	}
}

// flush writes all that waits.
func (r *Recorder) flush() error {
	b := r.queue.take()
	err := r.writer.write(b)
	r.queue.wrote(b, err)
	return err
}

// batch is a stretch of encoded records.
type batch struct {
	bytes   []byte
	records uint64
	// files are the offsets at which a new file begins.
	files []int
}

func (b *batch) reset() {
	b.bytes, b.records, b.files = b.bytes[:0], 0, b.files[:0]
}

// queue hands records from the agent's loop to the writer: one batch is filled
// while the other is written. It is safe for concurrent use, and no method
// holds the lock for longer than a copy of a record takes.
type queue struct {
	// filling wakes the writer before the batch is full.
	filling chan struct{}
	limit   int

	mu     sync.Mutex
	active *batch
	spare  *batch
	// broken reports that the file could not be written to: nothing fits except the
	// start of a new one.
	broken bool
	failed uint64 // records lost by the writer and not yet counted in a gap
	total  Stats
}

func (q *queue) init(limit int) {
	q.limit = limit
	q.filling = make(chan struct{}, 1)
	q.active, q.spare = &batch{bytes: make([]byte, 0, limit)}, &batch{bytes: make([]byte, 0, limit)}
	q.broken = true // there is no file yet
}

// push adds encoded records, at the start of a new file if file is set. It
// reports false if there is no room.
func (q *queue) push(b []byte, records uint64, file bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	// What exceeds the limit alone fits an empty batch: a large snapshot.
	full := len(q.active.bytes) > 0 && len(q.active.bytes)+len(b) > q.limit
	if full {
		q.wake() // there may be no more than half, and yet no room for b
	}
	if full || q.broken && !file {
		return false
	}
	if file {
		q.broken = false
		q.active.files = append(q.active.files, len(q.active.bytes))
	}
	q.active.bytes = append(q.active.bytes, b...)
	q.active.records += records
	if len(q.active.bytes) > q.limit/2 {
		q.wake()
	}
	return true
}

// wake wakes the writer.
func (q *queue) wake() {
	select {
	case q.filling <- struct{}{}:
	default:
	}
}

// lose counts a record that was not pushed.
func (q *queue) lose() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.total.Lost++
}

// failure returns how many records the writer has lost since the last call, and
// whether a new file has to begin.
func (q *queue) failure() (lost uint64, broken bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	lost, q.failed = q.failed, 0
	return lost, q.broken
}

// take returns the batch to write; wrote gives it back.
func (q *queue) take() *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.active
	q.active, q.spare = q.spare, nil
	return b
}

// wrote takes the batch back. If it could not be written, what has come in
// since can't follow it either.
func (q *queue) wrote(b *batch, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil {
		q.total.Records += b.records
		q.total.Bytes += uint64(len(b.bytes))
		q.total.Files += len(b.files)
		if b.records > 0 {
			q.total.Err = nil
		}
	} else {
		lost := b.records + q.active.records
		q.failed += lost
		q.total.Lost += lost
		q.total.Err = err
		q.broken = true
		q.active.reset()
	}
	b.reset()
	q.spare = b
}

func (q *queue) stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.total
}
