package placement_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/placement"
)

// trustEvent is one thing that happens to a Trust.
type trustEvent struct {
	kind string // outlier, end or renewal
	node int    // of an outlier
	at   time.Duration
	// then is when the pod that ended was bound, or until when the new profile was observed.
	then time.Duration
}

func outlierAt(node int, minute time.Duration) trustEvent {
	return trustEvent{kind: "outlier", node: node, at: minute * time.Minute}
}

func endAt(minute, bound time.Duration) trustEvent {
	return trustEvent{kind: "end", at: minute * time.Minute, then: bound * time.Minute}
}

func renewalAt(minute, observed time.Duration) trustEvent {
	return trustEvent{kind: "renewal", at: minute * time.Minute, then: observed * time.Minute}
}

// tell applies an event and returns what the Trust answers.
func tell(t *placement.Trust, e trustEvent) bool {
	switch e.kind {
	case "outlier":
		return t.AddOutlier(e.node, e.at)
	case "end":
		return t.AddEnd(e.then)
	}
	t.Renew(e.then)
	return false
}

// rejected are three outliers at minute 9; ends are pods that are bound and end thereafter.
func rejected(more ...trustEvent) []trustEvent {
	return append([]trustEvent{outlierAt(1, 0), outlierAt(2, 3), outlierAt(3, 9)}, more...)
}

func ends(n int, minute time.Duration) (list []trustEvent) {
	for range n {
		list = append(list, endAt(minute, minute))
	}
	return list
}

// Three nodes within ten minutes make a profile distrusted, until it is newer or five more pods have
// come and gone.
func TestTrust(t *testing.T) {
	again := []trustEvent{outlierAt(1, 11), outlierAt(2, 11), outlierAt(3, 11)}
	for _, test := range []struct {
		name       string
		events     []trustEvent
		distrusted bool
	}{
		{"none", nil, false},
		{"three nodes", rejected(), true},
		{"two nodes", []trustEvent{outlierAt(1, 0), outlierAt(2, 3), outlierAt(1, 9), outlierAt(2, 9)}, false},
		{"the first is too old", []trustEvent{outlierAt(1, 0), outlierAt(2, 3), outlierAt(3, 10)}, false},
		{"the first is renewed", []trustEvent{outlierAt(1, 0), outlierAt(2, 3), outlierAt(1, 4), outlierAt(3, 10)}, true},
		{"a newer profile", rejected(renewalAt(11, 10)), false},
		{"a profile of before", rejected(renewalAt(10, 9)), true},
		{"those before do not count again", rejected(renewalAt(11, 10), outlierAt(4, 11), outlierAt(5, 11)), false},
		{"four more pods", rejected(ends(4, 10)...), true},
		{"five more pods", rejected(ends(5, 10)...), false},
		{"of five one was bound before", rejected(append(ends(4, 10), endAt(11, 9))...), true},
		{"an outlier among them", rejected(append(append(ends(4, 10), outlierAt(1, 10)), ends(4, 10)...)...), true},
		{"five after an outlier", rejected(append(append(ends(4, 10), outlierAt(1, 10)), ends(5, 10)...)...), false},
		{"outliers meanwhile do not count later", rejected(append(append(again[:2:2], ends(5, 11)...), outlierAt(3, 12))...), false},
		{"distrusted again", rejected(append(append(ends(5, 10), again...), ends(20, 12)...)...), true},
		{"distrusted again, then newer", rejected(append(append(ends(5, 10), again...), renewalAt(13, 12))...), false},
		{
			"distrusted again, when newer", rejected(append(append(append(ends(5, 10), renewalAt(11, 10)), again...), ends(5, 12)...)...),
			false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var trust placement.Trust
			for _, e := range test.events {
				tell(&trust, e)
			}
			if got := trust.IsDistrusted(); got != test.distrusted {
				t.Errorf("distrusted: %t, want %t", got, test.distrusted)
			}
		})
	}
}

// naiveTrust keeps all events, and derives each answer from those before.
type naiveTrust struct {
	events []trustEvent
	// distrusted is the state before each event.
	distrusted []bool
}

// add notes an event and returns whether the profile is distrusted after it.
func (h *naiveTrust) add(e trustEvent) bool {
	before := h.isDistrusted()
	h.events, h.distrusted = append(h.events, e), append(h.distrusted, before)
	return h.isDistrusted()
}

// isDistrusted returns the state after the last event.
func (h *naiveTrust) isDistrusted() bool {
	n := len(h.events)
	if n == 0 {
		return false
	}
	last, before := h.events[n-1], h.distrusted[n-1]
	since, rejections := h.rejections()
	switch last.kind {
	case "outlier":
		return before || len(h.nodes(since)) >= 3
	case "end":
		return before && (rejections > 1 || h.ended(since) < 5)
	}
	return before && last.then <= h.events[since].at
}

// rejections returns the index of the event before the last that made the profile distrusted last, −1
// if none did, and how many did so since the profile was newer last.
func (h *naiveTrust) rejections() (since, count int) {
	since = -1
	for i := range len(h.events) - 1 {
		switch {
		case !h.distrusted[i] && h.distrusted[i+1]:
			since = i
			count++
		case h.events[i].kind == "renewal" && since >= 0 && h.events[i].then > h.events[since].at:
			count = 0
		}
	}
	return since, count
}

// nodes are those of outliers in the last ten minutes, after an event, while the profile was believed.
func (h *naiveTrust) nodes(since int) map[int]bool {
	nodes, now := map[int]bool{}, h.events[len(h.events)-1].at
	for i := since + 1; i < len(h.events); i++ {
		if e := h.events[i]; e.kind == "outlier" && !h.distrusted[i] && now-e.at < 10*time.Minute {
			nodes[e.node] = true
		}
	}
	return nodes
}

// ended counts the pods bound after an event that have ended since the last outlier.
func (h *naiveTrust) ended(since int) (count int) {
	for _, e := range h.events[since+1:] {
		switch {
		case e.kind == "outlier":
			count = 0
		case e.kind == "end" && e.then > h.events[since].at:
			count++
		}
	}
	return count
}

// TestTrustIsThatOfANaiveTwin applies random events to a Trust and to a twin that derives each answer
// from the whole history.
func TestTrustIsThatOfANaiveTwin(t *testing.T) {
	turned := map[string]int{}
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var trust placement.Trust
		var twin naiveTrust
		now, before := time.Duration(0), false
		for range 60 {
			now += time.Duration(rng.IntN(3)) * time.Minute
			e := trustEvent{kind: "end", node: rng.IntN(5), at: now, then: now - time.Duration(rng.IntN(4))*time.Minute/2}
			switch {
			case rng.IntN(25) == 0:
				e.kind = "renewal"
			case !before && rng.IntN(4) > 0, rng.IntN(20) == 0:
				e.kind = "outlier"
			}
			answer, want := tell(&trust, e), twin.add(e)
			if got := trust.IsDistrusted(); got != want {
				t.Fatalf("seed %d, distrusted: %t, want %t, after %v", seed, got, want, twin.events)
			}
			if turns := want != before && e.kind != "renewal"; answer != turns {
				t.Fatalf("seed %d: the answer is %t, the state turned: %t, after %v", seed, answer, turns, twin.events)
			}
			if want != before {
				turned[e.kind]++
			}
			before = want
		}
	}
	for _, kind := range []string{"outlier", "end", "renewal"} {
		if turned[kind] < 100 {
			t.Errorf("only %d turns by %s", turned[kind], kind)
		}
	}
}
