package classic_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/classic"
)

// boutique returns jobs that are each predicted 1.15 cores and a bucket, and that were reviewed a
// minute apart.
func boutique(t testing.TB, names ...string) (*classic.ResourceModel, float64) {
	t.Helper()
	m := classic.NewCPUModel()
	for i, name := range names {
		if err := m.InsertJob(start.Add(time.Duration(i)*time.Minute), job(name), []classic.Sample{{At: start, Value: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	cores, _ := m.GetJobPrediction(start, job(names[0]))
	return m, cores
}

// factors returns the jobs' predictions divided by their former ones.
func factors(m *classic.ResourceModel, before float64, names ...string) map[string]float64 {
	all := map[string]float64{}
	for _, name := range names {
		cores, _ := m.GetJobPrediction(start, job(name))
		all[name] = math.Round(cores/before*1e6) / 1e6
	}
	return all
}

func TestContinuousIsTheThesiss(t *testing.T) {
	m, before := boutique(t, "web", "cart", "ad", "other")
	c := classic.NewContinuous(m, func(of classic.Job) []classic.Job {
		if of == job("other") {
			return []classic.Job{of}
		}
		return []classic.Job{job("web"), job("cart"), job("ad"), job("unknown")}
	})
	at := start.Add(time.Hour)
	// Means are 3, 1 and 2, of all 2: the band is 1.6 to 2.4.
	metric := map[classic.Job][]float64{job("web"): {2, 4}, job("cart"): {1}, job("ad"): {2, 2}, job("other"): {100}}
	if got := c.Update(at, metric); len(got) != 4 || got[0] != job("web") {
		t.Errorf("looked at %v", got)
	}
	want := map[string]float64{"web": 1.2, "cart": .9, "ad": 1, "other": 1}
	if diff := cmp.Diff(want, factors(m, before, "web", "cart", "ad", "other")); diff != "" {
		t.Error(diff)
	}
	if _, ok := m.GetJobUpdateTime(job("unknown")); ok {
		t.Error("a job that is not in the model was inserted")
	}
	// The job that waits longest is reviewed alone, where the mean is its own.
	if got := c.Update(at.Add(time.Minute), metric); len(got) != 1 || got[0] != job("other") {
		t.Errorf("looked at %v", got)
	}
	if diff := cmp.Diff(want, factors(m, before, "web", "cart", "ad", "other")); diff != "" {
		t.Error(diff)
	}
	// A job without a value is unchanged, and left out of the mean.
	c.Update(at.Add(2*time.Minute), map[classic.Job][]float64{job("web"): {2}, job("ad"): {2}})
	if diff := cmp.Diff(want, factors(m, before, "web", "cart", "ad", "other")); diff != "" {
		t.Error(diff)
	}
	if at, _ := m.GetJobUpdateTime(job("cart")); !at.Equal(start.Add(time.Hour + 2*time.Minute)) {
		t.Errorf("cart was looked at %v", at)
	}
	if got := classic.NewContinuous(classic.NewCPUModel(), nil).Update(at, nil); got != nil {
		t.Errorf("of an empty model %v", got)
	}
}

// The edges of the band, and its defects: see the package's comment.
func TestContinuousBand(t *testing.T) {
	for _, test := range []struct {
		name       string
		web, other float64
		want       map[string]float64
	}{
		{"just within", 1.2, .8, map[string]float64{"web": 1, "other": 1}},
		{"just beyond", 1.21, .79, map[string]float64{"web": 1.2, "other": .9}},
		{"all suffer alike", .9, .9, map[string]float64{"web": 1, "other": 1}},
		{"nobody does", 0, 0, map[string]float64{"web": 1, "other": 1}},
		{"one hardly does", 1e-9, 0, map[string]float64{"web": 1.2, "other": .9}},
	} {
		m, before := boutique(t, "web", "other")
		c := classic.NewContinuous(m, func(classic.Job) []classic.Job { return []classic.Job{job("web"), job("other")} })
		c.Update(start, map[classic.Job][]float64{job("web"): {test.web}, job("other"): {test.other}})
		if diff := cmp.Diff(test.want, factors(m, before, "web", "other")); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// A job that its application does not name does not wait for ever.
func TestContinuousGoesOn(t *testing.T) {
	m, _ := boutique(t, "a", "b")
	c := classic.NewContinuous(m, func(classic.Job) []classic.Job { return nil })
	for i := range 4 {
		c.Update(start.Add(time.Duration(i+10)*time.Minute), nil)
	}
	for _, name := range []string{"a", "b"} {
		if at, _ := m.GetJobUpdateTime(job(name)); at.Before(start.Add(12 * time.Minute)) {
			t.Errorf("%s was looked at %v", name, at)
		}
	}
}

// A correction survives new samples, and starts anew with the job.
func TestCorrectionsStay(t *testing.T) {
	m, before := boutique(t, "web", "other")
	c := classic.NewContinuous(m, func(classic.Job) []classic.Job { return []classic.Job{job("web"), job("other")} })
	c.Update(start, map[classic.Job][]float64{job("web"): {3}, job("other"): {1}})
	err := errors.Join(m.UpdateJob(start, job("web"), classic.Sample{At: start, Value: 1}), m.InsertJob(start, job("other"), []classic.Sample{{At: start, Value: 1}}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]float64{"web": 1.2, "other": 1}, factors(m, before, "web", "other")); diff != "" {
		t.Error(diff)
	}
}

// For any metric, predictions stay numbers.
func FuzzContinuous(f *testing.F) {
	f.Add(1., 2.)
	f.Add(math.NaN(), math.Inf(1))
	f.Add(-1., 0.)
	f.Fuzz(func(t *testing.T, a, b float64) {
		m, before := boutique(t, "web", "other")
		c := classic.NewContinuous(m, func(classic.Job) []classic.Job { return []classic.Job{job("web"), job("other")} })
		c.Update(start, map[classic.Job][]float64{job("web"): {a, a}, job("other"): {b}})
		for name, factor := range factors(m, before, "web", "other") {
			if factor != 1 && factor != 1.2 && factor != .9 {
				t.Errorf("%s × %v", name, factor)
			}
		}
	})
}

func ExampleContinuous() {
	m := classic.NewCPUModel()
	for _, name := range []string{"cart", "web"} {
		if err := m.InsertJob(start, job(name), []classic.Sample{{At: start, Value: .5}}); err != nil {
			fmt.Println(err)
			return
		}
	}
	c := classic.NewContinuous(m, func(classic.Job) []classic.Job { return []classic.Job{job("cart"), job("web")} })
	throttled := map[profile.Workload][]float64{job("cart"): {.02}, job("web"): {.2}}
	c.Update(start.Add(10*time.Minute), throttled)
	for _, name := range []string{"cart", "web"} {
		cores, _ := m.GetJobPrediction(start, job(name))
		fmt.Printf("%s %.2f cores\n", name, cores)
	}
	// Output:
	// cart 0.53 cores
	// web 0.71 cores
}
