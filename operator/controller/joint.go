package controller

import (
	"context"
	"errors"
	"sync"
)

// joint has what several ask for at once be done once: while it is being done at a place,
// those who come wait, and it is done for all of them together then. So everybody gets
// what was begun after he asked. It is done by the first who came, with his context.
// Nothing that is returned is to be modified. Safe for concurrent use.
type joint[P comparable, K, V any] struct {
	do func(ctx context.Context, at P, keys []K) (V, error)

	mu sync.Mutex
	// last is what was asked for last at each place, until it is done.
	last map[P]*asked[K, V]
}

// asked is what is done once.
type asked[K, V any] struct {
	keys  []K
	begun bool
	// done is closed when value and err are there.
	done  chan struct{}
	value V
	err   error
}

// errLeft is what those get who waited for one that did not come back.
var errLeft = errors.New("what was waited for was not done")

// ask returns what came of doing it for all that were asked for together with the key.
func (j *joint[P, K, V]) ask(ctx context.Context, at P, key K) (V, error) {
	mine, before := j.join(at, key)
	if mine == nil {
		return await(ctx, before)
	}
	defer j.leave(at, mine)
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
			mine.err = context.Cause(ctx)
			return mine.value, mine.err
		}
	}
	j.mu.Lock()
	mine.begun = true
	j.mu.Unlock()
	mine.value, mine.err = j.do(ctx, at, mine.keys)
	return mine.value, mine.err
}

// join adds the key to what is asked for next. If nothing is yet it is the caller's to do,
// as mine, after what was before.
func (j *joint[P, K, V]) join(at P, key K) (mine, before *asked[K, V]) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before = j.last[at]
	if before != nil && !before.begun {
		before.keys = append(before.keys, key)
		return nil, before
	}
	mine = &asked[K, V]{keys: []K{key}, done: make(chan struct{}), err: errLeft}
	if j.last == nil {
		j.last = make(map[P]*asked[K, V])
	}
	j.last[at] = mine
	return mine, before
}

// leave has those who wait go on.
func (j *joint[P, K, V]) leave(at P, mine *asked[K, V]) {
	j.mu.Lock()
	defer j.mu.Unlock()
	mine.begun = true
	if j.last[at] == mine {
		delete(j.last, at)
	}
	close(mine.done)
}

func await[K, V any](ctx context.Context, a *asked[K, V]) (V, error) {
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}
