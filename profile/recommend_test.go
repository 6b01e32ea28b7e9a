package profile_test

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile"
)

// recommend returns the preset's recommendation for the only container.
func recommend(t *testing.T, p *profile.Profile, at time.Time, by profile.Preset, within profile.Bounds) profile.Recommendation {
	t.Helper()
	all, err := p.Recommend(at, by, within)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	return all[0]
}

// rule returns a preset with one rule for both resources.
func rule(r profile.Rule) profile.Preset { return profile.Preset{CPU: r, Memory: r} }

// An OOM kill raises the target above the peak by a fifth or by 100 MiB, is bounded, is no sample,
// and is forgotten.
func TestRecommendAfterKills(t *testing.T) {
	for name, c := range map[string]struct{ peak, want float64 }{
		"small": {2e8, 2e8 + 100<<20},
		"large": {4e9, 1.2 * 4e9},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProfile(t, profile.Config{})
			at := start
			for i := range 200 {
				w := window("a", .1, c.peak)
				w.Ended = false
				w.OOMKills = uint32(i) / 199
				observe(t, p, at, w)
				at = at.Add(time.Minute)
			}
			peaks := rule(profile.Rule{})
			got := recommend(t, p, at, peaks, profile.Bounds{})
			if math.Abs(got.Target.Memory-c.want) > 1 || math.Abs(got.Uncapped.Memory-c.want) > 1 {
				t.Errorf("%v bytes, want %v", got.Target.Memory, c.want)
			}
			if p.OOMKills() != 1 {
				t.Errorf("%d kills", p.OOMKills())
			}
			most := c.peak * 1.05
			got = recommend(t, p, at, peaks, profile.Bounds{Max: profile.Amounts{Memory: most}})
			if got.Target.Memory != most || got.UpperBound.Memory > most || math.Abs(got.Uncapped.Memory-c.want) > 1 {
				t.Errorf("%+v, want no more than %v", got, most)
			}
			// A hundred calls give the same result, and the median is unchanged.
			for range 100 {
				recommend(t, p, at, peaks, profile.Bounds{})
			}
			if again := recommend(t, p, at, peaks, profile.Bounds{}).Target; math.Abs(again.Memory-c.want) > 1 {
				t.Errorf("fed back: %v bytes", again.Memory)
			}
			// There was no kill for 18 days, and a lower peak since.
			at = at.Add(20 * 24 * time.Hour)
			w := window("b", .1, 1e8)
			observe(t, p, at, w)
			if got := recommend(t, p, at, peaks, profile.Bounds{}).Target.Memory; got != 1e8 {
				t.Errorf("20 days later %v bytes, want the peak", got)
			}
		})
	}
}

// A refused sample leaves a history unchanged, and takes no memory.
func TestHistoryRefuses(t *testing.T) {
	for _, sample := range []struct {
		at            time.Time
		value, weight float64
	}{{start, math.NaN(), 1}, {start, -1, 1}, {start, math.Inf(1), 1}, {start, 1, 0}, {start, 1, math.NaN()}, {time.Time{}, 1, 1}} {
		h, err := profile.NewHistory(profile.HistoryConfig{})
		if err != nil {
			t.Fatal(err)
		}
		before, err := profile.NewHistory(profile.HistoryConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Add(sample.at, sample.value, sample.weight); err == nil {
			t.Errorf("%+v was taken", sample)
		}
		if !reflect.DeepEqual(h, before) {
			t.Errorf("%+v changed an empty history: %+v", sample, h)
		}
	}
}

// A slot counts by itself once it has seen two days; until then it is the day.
func TestRuleSlots(t *testing.T) {
	h, err := profile.NewHistory(profile.HistoryConfig{})
	if err != nil {
		t.Fatal(err)
	}
	midnight := start.Truncate(24 * time.Hour)
	slots := profile.Rule{Slots: true}
	for day := range 2 {
		for hour := range 24 {
			cores := 4.
			if hour < 6 {
				cores = 1
			}
			if err := h.Add(midnight.Add(time.Duration(24*day+hour)*time.Hour), cores, 1); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := h.Target(midnight.Add(48*time.Hour), slots), []float64{4, 1}[day]; got != want {
			t.Errorf("after day %d the night takes %v, want %v", day, got, want)
		}
	}
	if got := h.Target(midnight.Add(48*time.Hour), profile.Rule{}); got != 4 {
		t.Errorf("without slots %v, want 4", got)
	}
	upper := profile.CPU.Upper(profile.CPU.Bucket(1))
	if got := h.Target(midnight.Add(48*time.Hour), profile.Rule{Slots: true, Mean: true, Margin: .5}); math.Abs(got-1.5*upper) > 1e-9 {
		t.Errorf("the night's mean and half: %v, want %v", got, 1.5*upper)
	}
}

// Samples before 1970 are refused; its first hours belong to the evening before if the zone is
// west.
func TestSlotsAroundTheFirstDay(t *testing.T) {
	west := time.FixedZone("west", -5*3600)
	for _, c := range []profile.HistoryConfig{{Slots: 24}, {Slots: 24, Zone: west}} {
		h, err := profile.NewHistory(c)
		if err != nil {
			t.Fatal(err)
		}
		slots := profile.Rule{Slots: true}
		for _, seconds := range []int64{-1, -50_000, -200_000} {
			refused(t, "at", h.Add(time.Unix(seconds, 0), 1, 1))
			if got := h.Target(time.Unix(seconds, 0), slots); got != 0 {
				t.Errorf("%ds: %v of nothing", seconds, got)
			}
		}
		if err := h.Add(time.Unix(0, 0), 2, 1); err != nil {
			t.Error(err)
		}
		if got := h.Target(time.Unix(60, 0), slots); got != 2 {
			t.Errorf("a minute after the first sample %v, want 2", got)
		}
	}
	p := newProfile(t, profile.Config{Slots: 24, Zone: west})
	for _, hour := range []int{0, 1, 5} {
		w := profile.Window{Pod: "pod", Node: "node", Usage: profile.Usage{Span: time.Minute, CPU: 60, Memory: 1e8, Pressure: true}}
		observe(t, p, time.Unix(int64(hour)*3600, 0), w)
	}
	if d := p.Demand(time.Unix(0, 0), 2*time.Hour); d.CPU.Amount == 0 {
		t.Errorf("nothing is known of the first evening: %+v", d)
	}
}

// It is the last hour's peak, not an older one.
func TestRuleRecent(t *testing.T) {
	h, err := profile.NewHistory(profile.HistoryConfig{})
	if err != nil {
		t.Fatal(err)
	}
	at := start
	for i := range 100 {
		at = at.Add(5 * time.Minute)
		cores := 1.
		if i == 77 { // 110 minutes before the last
			cores = 8
		}
		if err := h.Add(at, cores, 1); err != nil {
			t.Fatal(err)
		}
	}
	for recent, want := range map[time.Duration]float64{time.Hour: 1.1, 2 * time.Hour: 8, 3 * time.Hour: 8, 0: 1.1} {
		got := h.Target(at, profile.Rule{Percentile: .5, Recent: recent})
		if got < want*.9 || got > want*1.06 {
			t.Errorf("of %v: %v, want %v", recent, got, want)
		}
	}
}

func TestRulesRefused(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for field, rules := range map[string][]profile.Rule{
		"Rule.Percentile":  {{Percentile: -.1}, {Percentile: 1.1}, {Percentile: nan}},
		"Rule.Pods":        {{Pods: -.1}, {Pods: 1.1}, {Pods: nan}},
		"Rule.Recent":      {{Recent: -1}, {Recent: 3*time.Hour + 1}},
		"Rule.HalfLife":    {{HalfLife: -1}},
		"Rule.Margin":      {{Margin: -1}, {Margin: 101}, {Margin: nan}},
		"Rule.LeastMargin": {{LeastMargin: -1}, {LeastMargin: 1<<50 + 1}, {LeastMargin: nan}},
		"Rule.Least":       {{Least: -1}, {Least: inf}, {Least: nan}},
	} {
		for _, r := range rules {
			refused(t, field, r.Validate())
			refused(t, field, profile.Preset{CPU: r}.Validate())
			refused(t, field, profile.Preset{Memory: r}.Validate())
		}
	}
	for _, r := range []profile.Rule{{Percentile: 1, Pods: 1, Recent: 3 * time.Hour, Margin: 100, LeastMargin: 1 << 50, Least: 1 << 50}, {}} {
		if err := r.Validate(); err != nil {
			t.Error(err)
		}
	}
	for field, b := range map[string]profile.Bounds{
		"Bounds.Min.CPU": {Min: profile.Amounts{CPU: nan}}, "Bounds.Min.Memory": {Min: profile.Amounts{Memory: inf}},
		"Bounds.Max.CPU": {Max: profile.Amounts{CPU: -1}}, "Bounds.Max.Memory": {Max: profile.Amounts{Memory: nan}},
	} {
		refused(t, field, b.Validate())
	}
	if err := (profile.Bounds{Min: profile.Amounts{CPU: 1}, Max: profile.Amounts{CPU: 1, Memory: inf}}).Validate(); err != nil {
		t.Error(err)
	}
	if _, err := profile.NewHistory(profile.HistoryConfig{HalfLife: time.Millisecond, Slots: 24}); err != nil {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	r := profile.Recommendation{Target: profile.Amounts{CPU: .5, Memory: 3e8}}
	if got, want := r.Limits(), (profile.Amounts{CPU: 1, Memory: 6e8}); got != want {
		t.Errorf("%+v, want twice the target, %+v", got, want)
	}
}

// A percentile of pods' peaks counts pods, including live ones, and not minutes.
func TestRecommendPercentileOfPods(t *testing.T) {
	p := newProfile(t, profile.Config{})
	at := start
	step := func(pod string, bytes float64, minutes int, ended bool) {
		for i := range minutes {
			at = at.Add(time.Minute)
			w := window(pod, .1, bytes)
			w.Ended = ended && i == minutes-1
			observe(t, p, at, w)
		}
	}
	// Nine pods of a minute take 400 MB each, a tenth of an hour takes 100 MB.
	for i := range 9 {
		step(fmt.Sprint(i), 4e8, 1, true)
	}
	step("long", 1e8, 600, false)
	samples := rule(profile.Rule{Percentile: .9})
	if got := recommend(t, p, at, samples, profile.Bounds{}).Target.Memory; got > 1.2e8 {
		t.Errorf("P90 of minutes: %v bytes", got)
	}
	pods := rule(profile.Rule{Percentile: .9})
	pods.Memory.Pods = .5
	if got := recommend(t, p, at, pods, profile.Bounds{}).Target.Memory; got < 4e8 || got > 4.3e8 {
		t.Errorf("the median pod: %v bytes, want 400 MB", got)
	}
	pods.Memory.Pods = .05
	if got := recommend(t, p, at, pods, profile.Bounds{}).Target.Memory; got > 1.2e8 {
		t.Errorf("P5 of pods, the live one: %v bytes, want its 100 MB", got)
	}
	// A pod whose memory was not measured does not count.
	for i := range 30 {
		observe(t, p, at, window(fmt.Sprint("blind", i), .1, 0))
	}
	pods.Memory.Pods = .5
	if got := recommend(t, p, at, pods, profile.Bounds{}).Target.Memory; got < 4e8 {
		t.Errorf("the median pod, beside some not measured: %v bytes", got)
	}
	pods.Memory.Pods = .05
	// A pod that went without a last window stays one of ten.
	p.Gone("long")
	if got := recommend(t, p, at, pods, profile.Bounds{}).Target.Memory; got > 1.2e8 {
		t.Errorf("P5 of pods, all gone: %v bytes, want 100 MB", got)
	}
}

// Small demands have a margin in cores and bytes, which a pod's containers share.
func TestRecommendLeast(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for _, container := range []string{"", "a", "b"} {
		w := window("pod", .001, 1e6)
		w.Container = container
		observe(t, p, start, w)
	}
	all, err := p.Recommend(start, rule(profile.Rule{Margin: .5, LeastMargin: 2e6, Least: 0}), profile.Bounds{})
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, r := range all {
		if r.Target.Memory != 2e6 {
			t.Errorf("%s: %v bytes, want 1 MB and half of 2 MB", r.Container, r.Target.Memory)
		}
	}
	all, err = p.Recommend(start, profile.VPA(), profile.Bounds{})
	if err != nil || all[0].Target.Memory != 125<<20 || all[0].Target.CPU != .0125 {
		t.Errorf("%+v, %v: want half of a pod's 25 millicores and 250 MiB", all, err)
	}
	empty := newProfile(t, profile.Config{})
	w := window("pod", 0, 0)
	observe(t, empty, start, w)
	if got := recommend(t, empty, start, profile.VPA(), profile.Bounds{}).Target.Memory; got != 250<<20 && got != 0 {
		t.Errorf("a pod of nothing: %v bytes", got)
	}
}

// The demand within a window counts for the time that it lasted, and so does the memory if there
// was no new peak.
func TestRecommendFromWithinWindows(t *testing.T) {
	p := newProfile(t, profile.Config{})
	at := start
	bucket := func(cores float64) uint32 { return uint32(profile.CPU.Bucket(cores)) }
	for range 20 {
		at = at.Add(time.Minute)
		observe(t, p, at, profile.Window{
			Pod: "a", Node: "n",
			Usage: profile.Usage{
				Age: time.Hour, Span: time.Minute, CPU: 18,
				Demand: []profile.DemandTime{{Bucket: bucket(.1), Millis: 54000}, {Bucket: bucket(2), Millis: 6000}},
				Memory: 1e8, MemoryPeak: 9e8, Pressure: true,
			},
		})
	}
	cpu := func(percentile float64) float64 {
		return recommend(t, p, at, rule(profile.Rule{Percentile: percentile}), profile.Bounds{}).Target.CPU
	}
	if low, high := cpu(.89), cpu(.91); low > .12 || high < 2 || high > 2.15 {
		t.Errorf("P89 %v, P91 %v: a tenth of the time takes 2 cores", low, high)
	}
	memory := rule(profile.Rule{Percentile: .9})
	if got := recommend(t, p, at, memory, profile.Bounds{}).Target.Memory; got > 1.2e8 {
		t.Errorf("P90 of memory %v: the peak was once", got)
	}
	if got := recommend(t, p, at, rule(profile.Rule{}), profile.Bounds{}).Target.Memory; got != 9e8 {
		t.Errorf("the peak: %v bytes", got)
	}
	if got := p.Demand(at, 0).Memory.Amount; got != 9e8 {
		t.Errorf("a ledger counts the peak: %v bytes", got)
	}
}

// P90 of the days' peaks, each half as heavy as the next day's, sorted by hand.
func TestRecommendDaily(t *testing.T) {
	h, err := profile.NewHistory(profile.HistoryConfig{Scale: profile.Memory})
	if err != nil {
		t.Fatal(err)
	}
	midnight := start.Truncate(24 * time.Hour)
	// The fifth day has no sample.
	days := []float64{7e8, 2e8, 9e8, 3e8, -1, 5e8, 4e8}
	for day, peak := range days {
		for hour := range 24 {
			if peak < 0 {
				continue
			}
			value := peak / 3
			if hour == 5 {
				value = peak
			}
			if err := h.Add(midnight.Add(time.Duration(24*day+hour)*time.Hour), value, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	type weighed struct{ value, weight float64 }
	var all []weighed
	total := 0.
	for day, peak := range days {
		if peak >= 0 {
			w := math.Pow(.5, float64(len(days)-1-day))
			all, total = append(all, weighed{peak, w}), total+w
		}
	}
	slices.SortFunc(all, func(a, b weighed) int { return int(a.value - b.value) })
	at := midnight.Add(7*24*time.Hour - time.Minute)
	for _, p := range []float64{.01, .1, .5, .6, .9, .95, .99, 1} {
		below, want := 0., 0.
		for _, w := range all {
			if below += w.weight; below >= p*total {
				want = w.value
				break
			}
		}
		if got := h.Target(at, profile.Rule{Percentile: p, Daily: true}); got != want {
			t.Errorf("P%v of days: %v, want %v", 100*p, got, want)
		}
	}
	if got := (func() float64 {
		h, _ := profile.NewHistory(profile.HistoryConfig{})
		return h.Target(at, profile.Rule{Percentile: .9, Daily: true})
	})(); got != 0 {
		t.Errorf("no day: %v", got)
	}
}

func TestThrottled(t *testing.T) {
	p := newProfile(t, profile.Config{})
	if p.Throttled() != 0 {
		t.Error("throttled without periods")
	}
	with := func(at time.Time, periods, throttled uint32) {
		w := window("a", 1, 1e8)
		w.Ended, w.Periods, w.ThrottledPeriods = false, periods, throttled
		observe(t, p, at, w)
	}
	with(start, 600, 300)
	with(start, 600, 0)
	if got := p.Throttled(); math.Abs(got-.25) > 1e-12 {
		t.Errorf("%v of the periods, want a quarter", got)
	}
	// A day later the first weigh half; an hour makes little difference.
	with(start.Add(24*time.Hour), 600, 600)
	if got, want := p.Throttled(), (150+600.)/(600+600); math.Abs(got-want) > 1e-12 {
		t.Errorf("%v of the periods, want %v", got, want)
	}
	with(start, 1200, 0)
	if got, want := p.Throttled(), (150+600.)/(600+600+600); math.Abs(got-want) > 1e-12 {
		t.Errorf("late: %v of the periods, want %v", got, want)
	}
	refused(t, "Window.ThrottledPeriods", p.Observe(start, profile.Window{Pod: "a", Usage: profile.Usage{
		Span: time.Minute, Periods: 1, ThrottledPeriods: 2, Pressure: true,
	}}))
}

// Similar workloads are the prior of a new one, however many pods one of them had.
func TestPrior(t *testing.T) {
	c := profile.Config{}
	if d := c.Prior(nil, nil); d != (profile.Demand{}) {
		t.Errorf("of nobody: %+v", d)
	}
	one := func(pods, mean float64) profile.Evidence { return profile.Evidence{Pods: pods, Mean: mean, At: start} }
	d := c.Prior([]profile.Evidence{one(1, 1), one(2, 1), {}, one(3, 1), one(1000, 5)}, []profile.Evidence{one(1, 1e8)})
	if want := (6 + 8*5.) / 14; math.Abs(d.CPU.Amount-want) > 1e-9 || math.Abs(d.CPU.Confidence-14./15) > 1e-9 {
		t.Errorf("%+v, want %v of 14 pods: the last counts as four times the median", d.CPU, want)
	}
	demandNear(t, "one alike", profile.Demand{Memory: d.Memory}, profile.Demand{Memory: profile.Share{Amount: 1e8, Confidence: .5}})
	// It ages with the pods: a week halves it.
	old := one(1, 1)
	old.At = start.Add(-week)
	if d := c.Prior([]profile.Evidence{old, one(1, 4)}, nil); math.Abs(d.CPU.Amount-3) > 1e-9 {
		t.Errorf("%+v, want 3 cores of half a pod and one", d.CPU)
	}
}

func TestConfigFor(t *testing.T) {
	c := profile.Config{}.WithHalfLives(time.Hour, 0, 0).For(profile.Seed())
	if cpu, memory := c.HalfLives(); cpu != time.Hour || memory != 48*time.Hour {
		t.Errorf("%v and %v, want what was given, and the preset's", cpu, memory)
	}
	// A profile's default is the evaluated one: from the same samples it makes the same
	// recommendation as a history with its half-lives.
	p := newProfile(t, profile.Config{})
	spazio := profile.Spazio()
	cpu, err := profile.NewHistory(profile.HistoryConfig{HalfLife: spazio.CPU.HalfLife})
	if err != nil {
		t.Fatal(err)
	}
	memory, err := profile.NewHistory(profile.HistoryConfig{Scale: profile.Memory, HalfLife: spazio.Memory.HalfLife})
	if err != nil {
		t.Fatal(err)
	}
	spazio.Memory.Pods = 0 // a history knows none
	at := start
	for i := range 5000 {
		at = at.Add(10 * time.Minute)
		w := window("a", 1+float64(i)/1000, 1e9-1e5*float64(i))
		w.Ended = false
		observe(t, p, at, w)
		if err := cpu.Add(at, 1+float64(i)/1000, 1); err != nil {
			t.Fatal(err)
		}
		if err := memory.Add(at, 1e9-1e5*float64(i), 1); err != nil {
			t.Fatal(err)
		}
	}
	got := recommend(t, p, at, spazio, profile.Bounds{}).Target
	if want := (profile.Amounts{CPU: cpu.Target(at, spazio.CPU), Memory: memory.Target(at, spazio.Memory)}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// The mean of a histogram is that of the ends of its samples' buckets.
func TestHistogramMean(t *testing.T) {
	h := newHistogram(t, 24*time.Hour)
	if h.Mean() != 0 {
		t.Error("a mean of nothing")
	}
	upper := func(v float64) float64 { return profile.CPU.Upper(profile.CPU.Bucket(v)) }
	addAll(t, h, []sample{{start, .5, 1}, {start.Add(24 * time.Hour), 3, 1}, {start, 40, .5}})
	near(t, "mean", h.Mean(), (.5*upper(.5)+upper(3)+.25*upper(40))/1.75)
}

func TestWindowRefuses(t *testing.T) {
	p := newProfile(t, profile.Config{})
	long := string(make([]byte, 300))
	for field, change := range map[string]func(*profile.Window){
		"Window.Container":        func(w *profile.Window) { w.Container = long },
		"Window.Revision":         func(w *profile.Window) { w.Revision = long },
		"Window.Age":              func(w *profile.Window) { w.Age = 100 * 365 * 24 * time.Hour },
		"Window.Memory":           func(w *profile.Window) { w.Memory = -1 },
		"Window.Demand[0].Bucket": func(w *profile.Window) { w.Demand = []profile.DemandTime{{176, 1}} },
		"Window.Demand[1].Bucket": func(w *profile.Window) { w.Demand = []profile.DemandTime{{5, 1}, {5, 1}} },
		"Window.Demand[1].Millis": func(w *profile.Window) { w.Demand = []profile.DemandTime{{5, 30000}, {6, 30002}} },
	} {
		w := window("a", 1, 1)
		change(&w)
		refused(t, field, p.Observe(start, w))
	}
	w := window("a", 1, 1)
	w.Demand = []profile.DemandTime{{5, 30000}, {175, 30001}}
	w.CPU, w.Container, w.Revision = 4096*60, long[:253], long[:253]
	observe(t, p, start, w)
	// A workload's pods name at most 64 containers.
	p = newProfile(t, profile.Config{})
	for i := range 64 {
		w := window("a", 1, 1)
		w.Container = fmt.Sprint(i)
		observe(t, p, start, w)
	}
	w.Container = "one more"
	refused(t, "Window.Container", p.Observe(start, w))
}

// A recommendation is for the containers of present pods, each by its name: a single one is its
// pod, however long ago it had others.
func TestRecommendForTheContainersOfNow(t *testing.T) {
	p := newProfile(t, profile.Config{})
	at := start
	minutes := func(n int, all map[string]float64) {
		for range n {
			for container, memory := range all {
				w := window("a", memory/1e9, memory)
				w.Container, w.Ended = container, false
				observe(t, p, at, w)
			}
			at = at.Add(time.Minute)
		}
	}
	largest := rule(profile.Rule{})
	recommended := func(names ...string) map[string]float64 {
		t.Helper()
		all, err := p.Recommend(at, largest, profile.Bounds{}, names...)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, r := range all {
			got[r.Container] = math.Round(r.Target.Memory/1e6) * 1e6
		}
		return got
	}
	if got := recommended("main"); len(got) != 0 {
		t.Errorf("before anything was measured: %v", got)
	}
	minutes(10, map[string]float64{"": 3e8})
	want := func(got, want map[string]float64) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	want(recommended("main"), map[string]float64{"main": 3e8})
	minutes(10, map[string]float64{"": 5e8, "main": 4e8, "proxy": 1e8, "init": 2e8})
	want(recommended("main", "proxy"), map[string]float64{"main": 4e8, "proxy": 1e8})
	// With an init container beside it, the pod has taken more than it ever did.
	want(recommended("main"), map[string]float64{"main": 4e8})
	want(recommended("main", "new"), map[string]float64{"main": 4e8})
	// The proxy goes, and only the pod is measured.
	minutes(120, map[string]float64{"": 9e8})
	want(recommended("main"), map[string]float64{"main": 9e8})
	_, err := p.Recommend(at, profile.Preset{}, profile.Bounds{Min: profile.Amounts{CPU: -1}}, "main")
	refused(t, "Bounds.Min.CPU", err)
}

// A pod's peak is its own, and each container's its own.
func TestPeakOfALivePod(t *testing.T) {
	p := newProfile(t, profile.Config{})
	for pod, all := range map[string]map[string]float64{"a": {"": 5e8, "main": 4e8, "proxy": 1e8}, "b": {"": 9e8, "main": 8e8, "proxy": 1e8}} {
		for container, memory := range all {
			w := window(pod, .1, memory)
			w.Container, w.Ended = container, false
			observe(t, p, start, w)
			w.MemoryPeak = memory / 2
			observe(t, p, start.Add(time.Minute), w)
		}
	}
	both := []string{"main", "proxy"}
	for _, test := range []struct {
		pod, container string
		containers     []string
		want           float64
	}{
		{"a", "main", both, 4e8}, {"a", "proxy", both, 1e8}, {"b", "main", both, 8e8}, {"a", "main", both[:1], 4e8},
		{"c", "main", both, 0}, {"a", "other", both, 0}, {"a", "other", []string{"other"}, 5e8},
	} {
		if got := p.Peak(test.pod, test.container, test.containers); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
	p.Gone("a")
	if got := p.Peak("a", "main", both); got != 0 {
		t.Errorf("of a pod that has gone: %v", got)
	}
}

// A recommendation combines several slots of the day, and leaves them unchanged.
func TestRecommendingChangesNothing(t *testing.T) {
	p := newProfile(t, profile.Config{})
	at := start
	for i := range 8 {
		at = at.Add(5 * time.Hour)
		w := profile.Window{Pod: "pod", Node: "node", Usage: profile.Usage{
			Age: at.Sub(start), Span: time.Minute, CPU: float64(1 + i), Memory: 1e8 * float64(1+i), Pressure: true,
		}}
		if err := p.Observe(at, w); err != nil {
			t.Fatal(err)
		}
	}
	before := p.State()
	for _, by := range profile.Presets() {
		var all [2][]profile.Recommendation
		for i := range all {
			var err error
			if all[i], err = p.Recommend(at, by, profile.Bounds{}); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(all[0], all[1]); d != "" {
			t.Errorf("%s: asked again: %s", by.Name, d)
		}
	}
	if !bytes.Equal(before, p.State()) {
		t.Error("the profile is another after what it was asked")
	}
}
