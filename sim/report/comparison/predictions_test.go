package comparison_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile/replay"
	"github.com/spazio-scheduler/spazio/sim/report/comparison"
)

// The file has every prediction with what came of it, the table summarises the file: both as loops
// over the samples find them. The second replica is sampled a minute after the first and takes .7,
// so that of both the larger is 1 at every tenth sample, else .7.
func TestPredictions(t *testing.T) {
	busy, calm := job(.5), job(.35)
	busy.Name, calm.Name = "busy", "calm"
	for i := range calm.Times {
		calm.Times[i] = calm.Times[i].Add(time.Minute)
		calm.Values[i] = .7
	}
	largest := job(.7)
	for i := range largest.Values {
		largest.Values[i] = min(largest.Values[i], 1)
	}
	samples := map[string]replay.Series{"busy": busy, "calm": calm, "largest of all": largest}
	all, err := comparison.Predict([]replay.Series{busy, calm}, replay.Options{WarmUp: 12 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"all.csv", "all.svg"} {
		if err := all.Save(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	rows := readRows(t, filepath.Join(dir, "all.csv"))
	above, held, used := map[string][]float64{}, map[string]float64{}, map[string]float64{}
	for _, row := range rows[1:] {
		s := samples[row[1]]
		at, err := time.Parse(time.RFC3339, row[2])
		if err != nil {
			t.Fatal(err)
		}
		predicted, usage, sum, n, most := number(t, row[4]), 0., 0., 0., 0.
		for i, when := range s.Times {
			if when.Equal(at) {
				usage = s.Values[i]
			}
			if when.After(at) && !when.After(at.Add(30*time.Minute)) {
				sum, n, most = sum+s.Values[i], n+1, max(most, s.Values[i])
			}
		}
		want := []string{"cpu", row[1], row[2], exactly(usage), row[4], exactly(sum / n), exactly(most), fmt.Sprint(most <= predicted)}
		got := slices.Clone(row)
		for _, i := range []int{3, 5, 6} {
			got[i] = exactly(number(t, row[i]))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
		above[row[1]] = append(above[row[1]], 1000*(predicted-sum/n))
		used[row[1]] += 1000 * sum / n
		if most <= predicted {
			held[row[1]]++
		}
	}
	var want [][]string
	for _, name := range []string{"busy", "calm", "largest of all"} {
		all := above[name]
		// Four days of 288 samples less a half, less the six whose window ends outside.
		if len(all) != 1152-144-6 {
			t.Errorf("%s has %d predictions", name, len(all))
		}
		last, mean := 0., 0.
		for _, row := range rows[1:] {
			if row[1] == name {
				last = 1000 * number(t, row[4])
			}
		}
		for _, a := range all {
			mean += a / float64(len(all))
		}
		slices.Sort(all) // of 1002 values, the 952nd, 982nd and 992nd are the least that such a share is at most
		want = append(want, []string{"cpu", name, fmt.Sprintf("%.4f", held[name]/1002), fmt.Sprintf("%.4f", 1002*mean/used[name]), tenth(mean), tenth(all[951]), tenth(all[981]), tenth(all[991]), tenth(last), tenth(2 * last), "millicores"})
	}
	if d := cmp.Diff(want, all.Table().Rows); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "all.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"cpu: usage of each series", "cpu: the largest usage and its prediction", "busy", "calm", "largest of all", "millicores"} {
		if !strings.Contains(string(svg), text) {
			t.Errorf("%q is not drawn", text)
		}
	}
}

// Lines end at a hole, however seldom a series is sampled: of a series in the first colour there are two more, of the usage beside others
// and of it alone, and in the second, the prediction's, one more.
func TestPredictionsHaveHoles(t *testing.T) {
	drawn := func(step, hole time.Duration) (first, second int) {
		s := job(.5)
		for i := range s.Times {
			if s.Times[i] = s.Times[0].Add(time.Duration(i) * step); i >= 600 {
				s.Times[i] = s.Times[i].Add(hole)
			}
		}
		all, err := comparison.Predict([]replay.Series{s}, replay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "all.svg")
		if err := all.Save(file); err != nil {
			t.Fatal(err)
		}
		svg, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(svg), "#0072B2"), strings.Count(string(svg), "#D55E00")
	}
	first, second := drawn(5*time.Minute, 0)
	for _, step := range []time.Duration{5 * time.Minute, time.Hour, 2 * time.Hour} {
		without, _ := drawn(step, 0)
		a, b := drawn(step, 24*time.Hour)
		isPredicted := step < time.Hour // else no window has a sample
		if first == 0 || second == 0 || without != first || a != first+2 || isPredicted && b != second+1 {
			t.Errorf("every %v: %d lines, with a hole %d, %d", step, without, a, b)
		}
	}
}

func readRows(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func tenth(v float64) string   { return fmt.Sprintf("%.1f", v) }
func exactly(v float64) string { return fmt.Sprintf("%.9f", v) }
