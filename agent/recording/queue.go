package recording

import "sync"

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
