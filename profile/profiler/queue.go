package profiler

import "time"

// turns are workloads to be published for the first time, by namespace: each
// namespace has its turn, so that who floods one waits for himself.
type turns struct {
	of    map[string][]*workload
	order []string
	count int
}

func (t *turns) push(w *workload) {
	if t.of == nil {
		t.of = map[string][]*workload{}
	}
	of := t.of[w.of.Namespace]
	if len(of) == 0 {
		t.order = append(t.order, w.of.Namespace)
	}
	t.of[w.of.Namespace] = append(of, w)
	t.count++
}

func (t *turns) pop() *workload {
	if len(t.order) == 0 {
		return nil
	}
	namespace := t.order[0]
	t.order = t.order[1:]
	of := t.of[namespace]
	w := of[0]
	t.count--
	if of = of[1:]; len(of) == 0 {
		delete(t.of, namespace)
		return w
	}
	t.of[namespace] = of
	t.order = append(t.order, namespace)
	return w
}

// rota has each workload once, by when it is due. A workload that is pushed is due no earlier
// than those before it, or a little late.
type rota []turn

type turn struct {
	w   *workload
	due time.Time
}

func (r *rota) push(w *workload, due time.Time) { *r = append(*r, turn{w, due}) }

// pop returns a workload that is due at a time and has not been dropped, nil if there
// is none.
func (r *rota) pop(at time.Time) *workload {
	for len(*r) > 0 && ((*r)[0].w.dropped || !(*r)[0].due.After(at)) {
		w := (*r)[0].w
		*r = (*r)[1:]
		if !w.dropped {
			return w
		}
	}
	return nil
}
