package demo

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// column summarizes a pod of one core-second that ran alone on its node.
func column(profile string, created, bound, running, done float64) profileColumn {
	return profileColumn{Profile: profile, batchSummary: summarise([]podRecord{{
		batchTask: batchTask{Work: time.Second}, Node: "a",
		Created: at(created), Bound: at(bound), Running: at(running), Done: at(done),
	}})}
}

func Example_table() {
	result := demoResult{
		Config:    demoConfig{Nodes: 19, Cores: 4},
		Simulated: []profileColumn{column(spazioProfile, 0, 2, 3, 4.5), column(defaultProfile, 0, 0, 1, 4)},
	}
	fmt.Print(result.table())
	// Output:
	// 19 simulated nodes × 4 cores  spazio  default-scheduler  ratio
	// pods completed                     1                  1
	// pods failed                        0                  0
	// most pods on a node                1                  1
	// throughput, pods/s              0.22               0.25   0.89
	// makespan, s                     4.50               4.00   1.12
	// run time mean, s                1.50               3.00   0.50
	// run time p50, s                 1.50               3.00   0.50
	// run time p95, s                 1.50               3.00   0.50
	// run time p99, s                 1.50               3.00   0.50
	// sojourn mean, s                 4.50               4.00   1.12
	// sojourn p50, s                  4.50               4.00   1.12
	// sojourn p95, s                  4.50               4.00   1.12
	// sojourn p99, s                  4.50               4.00   1.12
	// slowdown p99                    1.50               3.00   0.50
	// scheduling latency mean, s      2.00               0.00      -
	// scheduling latency p99, s       2.00               0.00      -
	//
	// Spazio starts a pod only where there is room: on average a pod ran for 1.5 s instead of 3.0 s (50 % shorter)
	// and was done 4.5 s after its submission instead of 4.0 s (13 % longer),
	// but the batch as a whole took 4.5 s instead of 4.0 s (13 % longer).
}

// The sentence does not present a loss as a gain.
func TestClosingSentence(t *testing.T) {
	other := column(defaultProfile, 0, 0, 1, 4)
	for _, test := range []struct {
		name   string
		spazio profileColumn
		want   string
	}{
		{"faster pods, longer batch", column(spazioProfile, 0, 2, 3, 4.5), "but the batch as a whole took 4.5 s instead of 4.0 s (13 % longer)."},
		{"faster pods, shorter batch", column(spazioProfile, 0, 0, 1, 2), "and the batch as a whole took 2.0 s instead of 4.0 s (50 % shorter)."},
		{"slower pods, longer batch", column(spazioProfile, 0, 0, 1, 8), "and the batch as a whole took 8.0 s instead of 4.0 s (100 % longer)."},
	} {
		table := demoResult{Simulated: []profileColumn{other, test.spazio}}.table()
		if !strings.HasSuffix(table, test.want+"\n") {
			t.Errorf("%s: want %q at the end of\n%s", test.name, test.want, table)
		}
	}
	alone := demoResult{Simulated: []profileColumn{other}}.table()
	if strings.Contains(alone, "ratio") || strings.Contains(alone, "instead of") {
		t.Errorf("a single profile is compared:\n%s", alone)
	}
}

// unlike returns the runs of two owners' pods: without profiles, with them, and the default
// scheduler's. Each record has an owner, the time from submission to the end and the number of kills.
func unlike() *unlikeResult {
	run := func(profile string, known bool, a, b float64, kills int) unlikeRun {
		records := []podRecord{
			{batchTask: batchTask{Owner: "a", Cores: 1, Work: time.Second}, Node: "n", Created: at(0), Running: at(a - 1), Done: at(a)},
			{batchTask: batchTask{Owner: "b", Cores: .5, Work: time.Second}, Node: "n", Created: at(0), Running: at(b - 2), Done: at(b), Kills: kills},
		}
		return unlikeRun{
			profileColumn: profileColumn{Profile: profile, batchSummary: summarise(records)}, Known: known,
			Owners: []batchSummary{summarise(records[:1]), summarise(records[1:])},
		}
	}
	return &unlikeResult{
		Owners: []podOwner{{Name: "a", Cores: 1, Memory: 1 << 27}, {Name: "b", Cores: .5, Memory: 1 << 30}},
		Runs:   []unlikeRun{run(spazioProfile, false, 10, 20, 1), run(spazioProfile, true, 8, 16, 0), run(defaultProfile, false, 7, 25, 3)},
	}
}

// The second part has a table of its own and two sentences.
func TestUnlikeTable(t *testing.T) {
	table := demoResult{Unlike: unlike()}.table()
	want := `
pods of unlike owners              spazio, new  spazio, known  default-scheduler
pods completed                               2              2                  2
times a pod was killed for memory            1              0                  3
most pods on a node                          0              0                  0
makespan, s                              20.00          16.00              25.00
sojourn mean, s                          15.00          12.00              16.00
  a (1 core, 128 MiB)                    10.00           8.00               7.00
  b (0.5 cores, 1024 MiB)                20.00          16.00              25.00

Once Spazio had learnt what the pods of each owner take, a pod was done 12.0 s after its submission
instead of 15.0 s (20 % shorter), the batch as a whole took 16.0 s instead of 20.0 s (20 % shorter),
and 0 pods were killed for memory instead of 1.
Against the default scheduler, a pod was done 12.0 s after its submission
instead of 16.0 s (25 % shorter), the batch as a whole took 16.0 s instead of 25.0 s (36 % shorter),
and 0 pods were killed for memory instead of 3.
`
	if diff := cmp.Diff(want, "\n"+table[strings.Index(table, "pods of unlike"):]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	slow := unlike()
	slow.Runs[1].Pace = runPace{Profile: "spazio, known", Lag: .25}
	table = demoResult{Unlike: slow}.table()
	if !strings.Contains(table, "No verdict: under spazio, known one timer in twenty") || strings.Contains(table, "Once Spazio") {
		t.Errorf("slow machine:\n%s", table)
	}
	alone := unlike()
	alone.Runs = alone.Runs[:2]
	if table = (demoResult{Unlike: alone}).table(); strings.Contains(table, "default scheduler") || !strings.Contains(table, "Once Spazio") {
		t.Errorf("without the default scheduler:\n%s", table)
	}
}

// Lines have at most 120 columns, whatever the figures.
func TestTableIsNarrow(t *testing.T) {
	const day = 86400
	columns := []profileColumn{
		column(spazioProfile, 0, day, 2*day, 1000*day), column(defaultProfile, 0, 1, 1.5, 999*day),
	}
	table := demoResult{Simulated: columns, Unlike: unlike(), Config: demoConfig{Nodes: 20000, Cores: 512}}.table()
	for line := range strings.Lines(table) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(table, "86313600.0 s") {
		t.Errorf("the figures are missing:\n%s", table)
	}
}

// Lines about completed pods are omitted if there are none.
func TestTableOfNothing(t *testing.T) {
	table := demoResult{Simulated: []profileColumn{{Profile: spazioProfile}, column(defaultProfile, 0, 0, 1, 4)}}.table()
	if !strings.Contains(table, "makespan, s") || strings.Contains(table, "ratio") || strings.Contains(table, "NaN") {
		t.Errorf("table of a profile without a completed pod:\n%s", table)
	}
}

// If the machine was too slow to compare the profiles there is no verdict; a sentence with the figure
// replaces it.
func TestNoVerdictOfASlowMachine(t *testing.T) {
	columns := []profileColumn{column(spazioProfile, 0, 2, 3, 60), column(defaultProfile, 0, 0, 1, 50)}
	good := runPace{Profile: spazioProfile, Late: .5, Lag: .004, LeastSojourn: 12.8}
	for name, test := range map[string]struct {
		pace runPace
		want string
	}{
		"on time":                 {runPace{Profile: defaultProfile, Late: 4, Lag: .02, LeastSojourn: 12.8}, ""},
		"pods come slowly":        {runPace{Profile: defaultProfile, Late: 12, Lag: .02}, "under default-scheduler the last pod could be scheduled 12.0 s later than planned"},
		"the process waits":       {runPace{Profile: defaultProfile, Lag: .25}, "was 0.25 s late"},
		"faster than is possible": {runPace{Profile: defaultProfile, LeastSojourn: 55}, "can't be faster than 55.0 s"},
	} {
		t.Run(name, func(t *testing.T) {
			table := strings.Join(strings.Fields(demoResult{Simulated: columns, Paces: []runPace{good, test.pace}}.table()), " ")
			refused := strings.Contains(table, "No verdict: ") && strings.Contains(table, test.want)
			if judged := strings.Contains(table, "Spazio starts a pod only where there is room") && strings.Contains(table, "ratio"); judged != (test.want == "") || refused != (test.want != "") {
				t.Errorf("want %q in\n%s", test.want, table)
			}
		})
	}
}
