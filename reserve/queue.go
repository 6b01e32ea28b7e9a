package reserve

// queue is an intrusive list of entries, oldest first, so that renewing and
// dropping one in the middle stays O(1).
type queue struct{ first, last *entry }

func (q *queue) push(e *entry) {
	e.queue, e.prev = q, q.last
	if q.last == nil {
		q.first = e
	} else {
		q.last.next = e
	}
	q.last = e
}

func (e *entry) dequeue() {
	q := e.queue
	if q == nil {
		return
	}
	if e.prev == nil {
		q.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		q.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.queue, e.prev, e.next = nil, nil, nil
}
