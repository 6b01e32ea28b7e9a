package reserve

// queue is an intrusive list of entries, oldest first, so that renewing and
// dropping one in the middle stays O(1).
type queue struct{ first, last *link }

// link is an entry's place in a queue; the zero value is in none.
type link struct {
	entry      *entry
	prev, next *link
	queue      *queue
}

// oldest returns the entry that has been in the queue for longest, or nil.
func (q *queue) oldest() *entry {
	if q.first == nil {
		return nil
	}
	return q.first.entry
}

// push puts l at the end; it must be in no queue.
func (q *queue) push(l *link) {
	l.queue, l.prev = q, q.last
	if q.last == nil {
		q.first = l
	} else {
		q.last.next = l
	}
	q.last = l
}

// remove takes l out of the queue it is in, if any.
func (l *link) remove() {
	q := l.queue
	if q == nil {
		return
	}
	if l.prev == nil {
		q.first = l.next
	} else {
		l.prev.next = l.next
	}
	if l.next == nil {
		q.last = l.prev
	} else {
		l.next.prev = l.prev
	}
	l.queue, l.prev, l.next = nil, nil, nil
}
