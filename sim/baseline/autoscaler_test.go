package baseline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim/baseline"
)

// The expected values are those of the controller of autoscaling/v2 by its documentation: 10 % of
// tolerance, pods that are not ready idle on the way up and left out on the way down, twice the
// replicas or four more at a time, and down only if nothing asked for more within five minutes.
func TestAutoscaler(t *testing.T) {
	type step struct {
		at      float64
		current int
		usage   []float64
	}
	for name, test := range map[string]struct {
		steps []step
		want  []int
	}{
		"within the tolerance":          {[]step{{0, 2, []float64{.6, .7}}, {15, 2, []float64{.55, .55}}}, []int{2, 2}},
		"more":                          {[]step{{0, 2, []float64{1.2, 1.2}}, {15, 2, []float64{.7, .7}}}, []int{4, 3}},
		"twice or four more":            {[]step{{0, 1, []float64{10}}, {15, 6, []float64{9, 9, 9, 9, 9, 9}}}, []int{5, 12}},
		"some not ready, idle":          {[]step{{0, 4, []float64{.9, .9}}}, []int{4}},
		"some not ready, still more":    {[]step{{0, 4, []float64{1.8, 1.8}}}, []int{6}},
		"some not ready, fewer":         {[]step{{0, 6, []float64{.1, .1}}, {300, 6, []float64{.1, .1}}}, []int{6, 2}},
		"none ready":                    {[]step{{0, 3, nil}}, []int{3}},
		"no more than allowed":          {[]step{{0, 12, []float64{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}}}, []int{12}},
		"no fewer than allowed":         {[]step{{0, 2, []float64{0, 0}}, {300, 2, []float64{0, 0}}}, []int{2, 2}},
		"fewer when five minutes agree": {[]step{{0, 4, []float64{.6, .6, .6, .6}}, {15, 4, []float64{.3, .3, .3, .3}}, {299, 4, []float64{.3, .3, .3, .3}}, {301, 4, []float64{.3, .3, .3, .3}}}, []int{4, 4, 4, 2}},
	} {
		h := baseline.HorizontalPodAutoscaler{Min: 2, Max: 12, Target: .6}
		var got []int
		for _, s := range test.steps {
			got = append(got, h.Replicas(s.at, s.current, s.usage))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
