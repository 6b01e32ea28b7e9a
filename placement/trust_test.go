package placement_test

import (
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/placement"
)

// Three nodes within ten minutes make a profile distrusted, until something newer is observed.
func TestTrust(t *testing.T) {
	type outlier struct {
		node   int
		minute time.Duration
	}
	for _, test := range []struct {
		name       string
		outliers   []outlier
		distrusted bool
	}{
		{"none", nil, false},
		{"three nodes", []outlier{{1, 0}, {2, 3}, {3, 9}}, true},
		{"two nodes", []outlier{{1, 0}, {2, 3}, {1, 9}, {2, 9}}, false},
		{"the first is too old", []outlier{{1, 0}, {2, 3}, {3, 10}}, false},
		{"the first is renewed", []outlier{{1, 0}, {2, 3}, {1, 4}, {3, 10}}, true},
		{"those before do not count again", []outlier{{1, 0}, {2, 0}, {3, 0}, {4, 1}, {5, 1}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var trust placement.Trust
			distrusted, now := false, time.Duration(0)
			for _, o := range test.outliers {
				now = o.minute * time.Minute
				distrusted = trust.AddOutlier(o.node, now)
			}
			if distrusted != test.distrusted {
				t.Fatalf("the last outlier makes the profile distrusted: %t, want %t", distrusted, test.distrusted)
			}
			if !test.distrusted {
				return
			}
			if !trust.IsDistrusted(now) || trust.IsDistrusted(now+1) {
				t.Errorf("distrusted as of then: %t, and what is newer: %t", trust.IsDistrusted(now), trust.IsDistrusted(now+1))
			}
		})
	}
	if new(placement.Trust).IsDistrusted(0) {
		t.Error("a profile without outliers is distrusted")
	}
}
