package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// request is a kind of request, by who makes it.
type request struct{ user, verb, resource string }

// requests are how many of each kind the API server has answered: unlike times they hardly
// depend on what else the machine does. Safe for concurrent use; the zero
// value has none.
type requests struct {
	mu sync.Mutex
	of map[request]int
}

// note counts a request that was answered.
func (r *requests) note(e *auditv1.Event) {
	of := request{user: e.User.Username, verb: e.Verb}
	if o := e.ObjectRef; o != nil {
		of.resource = strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = make(map[request]int)
	}
	r.of[of]++
}

// now are those so far.
func (r *requests) now() counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.of)
}

// counts are how many requests there were of each kind.
type counts map[request]int

// since returns those that have come since.
func (c counts) since(before counts) counts {
	more := make(counts)
	for of, n := range c {
		if n > before[of] {
			more[of] = n - before[of]
		}
	}
	return more
}

// by is how many a user made; watches are none, as they end whenever they do.
func (c counts) by(user string) (n int) {
	for of, count := range c {
		if of.user == user && of.verb != "watch" {
			n += count
		}
	}
	return n
}

// ended is how many watches of a resource have come to an end: the API server ends those
// that do not keep up with a burst, and who watches waits until it has another.
func (c counts) ended(resource string) (n int) {
	for of, count := range c {
		if of.verb == "watch" && of.resource == resource {
			n += count
		}
	}
	return n
}

// text names a user's kinds, the most frequent first.
func (c counts) text(user string) string {
	var all []request
	for of := range c {
		if of.user == user && of.verb != "watch" {
			all = append(all, of)
		}
	}
	slices.SortFunc(all, func(a, b request) int {
		return cmp.Or(cmp.Compare(c[b], c[a]), strings.Compare(a.verb+a.resource, b.verb+b.resource))
	})
	texts := make([]string, len(all))
	for i, of := range all {
		texts[i] = fmt.Sprintf("%d %s %s", c[of], of.verb, of.resource)
	}
	return fmt.Sprintf("%d requests: %s", c.by(user), strings.Join(texts, ", "))
}
