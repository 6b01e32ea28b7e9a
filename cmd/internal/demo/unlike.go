package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	profileview "github.com/spazio-scheduler/spazio/profile/profiler/view"
)

// unlikeResult is the second act of a demo: pods of four owners that have little in common run under Spazio,
// which knows nothing of them, under Spazio again, which has learnt their profiles, and under the
// default scheduler. It is a plain value.
type unlikeResult struct {
	Owners []podOwner  `json:"owners"`
	Runs   []unlikeRun `json:"runs"`
}

// unlikeRun is one run of these pods.
type unlikeRun struct {
	// The column sums up all pods.
	profileColumn
	// Known reports whether the profiles of all owners were there before the run.
	Known bool `json:"known"`
	// Owners sum up the pods of each owner, in the order of unlikeResult.Owners.
	Owners []batchSummary `json:"owners"`
	Pace   runPace        `json:"pace"`
}

// name is that of the run on the screen and in the table; no two runs of an act share one.
func (r unlikeRun) name() string {
	switch {
	case r.Known:
		return r.Profile + ", known"
	case r.Profile == spazioProfile:
		return r.Profile + ", new"
	}
	return r.Profile
}

// The second act has a tenth of the first one's pods for each owner, and each pod lives twice as long as
// one of the first act alone: starts take a pod about a second, and are not what the act is about.
const ownersPart, ownersLives = 10, 2

// owners are the corners of what pods take in the evaluation of unlike workloads: from a twentieth of a
// core to a whole one, and from hardly any memory to almost a fifth of a node's.
func (c demoConfig) owners() []podOwner {
	pods, seconds, memory := max(c.Pods/ownersPart, 1), ownersLives*c.CPUSeconds, float64(c.Cores)*(4<<30)
	return []podOwner{
		{Name: "render", Pods: pods, Cores: 1, Seconds: seconds, Memory: memory / 128},
		{Name: "index", Pods: pods, Cores: .5, Seconds: seconds, Memory: memory / 16},
		{Name: "cache", Pods: pods, Cores: .1, Seconds: seconds, Memory: memory * 3 / 16},
		{Name: "poll", Pods: pods, Cores: .05, Seconds: seconds, Memory: memory / 256},
	}
}

// unlikeRuns are the runs of the second act. Without Spazio there is none.
func (c demoConfig) unlikeRuns() (runs []unlikeRun) {
	if c.NoUnlike || !slices.Contains(c.Profiles, spazioProfile) {
		return nil
	}
	spazio := profileColumn{Profile: spazioProfile}
	runs = []unlikeRun{{profileColumn: spazio}, {profileColumn: spazio, Known: true}}
	if slices.Contains(c.Profiles, defaultProfile) {
		runs = append(runs, unlikeRun{profileColumn: profileColumn{Profile: defaultProfile}})
	}
	return runs
}

// runUnlike is the second act.
func (d *demo) runUnlike(ctx context.Context) error {
	runs := d.config.unlikeRuns()
	if len(runs) == 0 {
		return nil
	}
	u := &unlikeResult{Owners: d.config.owners()}
	tasks := unlikeTasks(d.config.Seed, u.Owners)
	d.screen.Printf("second act: %d pods of %d owners, which have little in common", len(tasks), len(u.Owners))
	d.cluster.runs.reset()
	for i, r := range runs {
		if r.Known {
			if err := d.cluster.waitProfiles(ctx, u.Owners); err != nil {
				return err
			}
		}
		if err := d.cluster.waitQuiet(ctx); err != nil {
			return err
		}
		run := newBatchRun(fmt.Sprint("unlike-", i+1), r.Profile, tasks)
		r.Pace.Profile = r.name()
		records, err := d.follow(ctx, run, &r.Pace)
		if err != nil {
			return err
		}
		r.sum(u.Owners, records)
		u.Runs = append(u.Runs, r)
		d.cluster.runs.inconclusive.Store(u.inconclusive() != "")
	}
	d.result.Unlike = u
	return nil
}

// sum fills in what became of the pods.
func (r *unlikeRun) sum(owners []podOwner, records []podRecord) {
	r.batchSummary = summarise(records)
	for _, o := range owners {
		r.Owners = append(r.Owners, summarise(slices.DeleteFunc(slices.Clone(records), func(p podRecord) bool { return p.Owner != o.Name })))
	}
}

// waitProfiles waits until something is known of each owner's pods.
func (c *cluster) waitProfiles(ctx context.Context, owners []podOwner) error {
	profiles, err := profileview.NewClient(c.plane.RESTConfig())
	if err != nil {
		return err
	}
	deadline := time.Now().Add(signalTimeout)
	for _, o := range owners {
		for {
			p, err := profiles.Get(ctx, namespace, "Job/"+o.Name)
			if err == nil && p.Status.Demand != nil {
				break
			}
			if time.Now().After(deadline) {
				return errors.Join(fmt.Errorf("no profile of the pods of %s within %v", o.Name, signalTimeout), err)
			}
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// inconclusive returns why the figures allow no verdict, or nothing.
func (u unlikeResult) inconclusive() string {
	for _, r := range u.Runs {
		if why := r.Pace.inconclusive(r.profileColumn); why != "" {
			return why
		}
	}
	return ""
}

// table shows the runs beside each other, and what they mean.
func (u unlikeResult) table() string {
	header := []string{"pods of unlike owners"}
	for _, r := range u.Runs {
		header = append(header, r.name())
	}
	t := numbers(header...)
	line := func(label string, value func(unlikeRun) string) {
		row := []string{label}
		for _, r := range u.Runs {
			row = append(row, value(r))
		}
		t.Add(row...)
	}
	line("pods completed", func(r unlikeRun) string { return fmt.Sprint(r.Pods) })
	line("times a pod was killed for memory", func(r unlikeRun) string { return fmt.Sprint(r.Kills) })
	line("most pods on a node", func(r unlikeRun) string { return fmt.Sprint(r.MostPods) })
	line("makespan, s", func(r unlikeRun) string { return number(r.Makespan) })
	line("sojourn mean, s", func(r unlikeRun) string { return number(r.Sojourn.Mean) })
	for i, o := range u.Owners {
		label := fmt.Sprintf("  %s (%g cores, %.0f MiB)", o.Name, o.Cores, o.Memory/(1<<20))
		label = strings.Replace(label, "(1 cores", "(1 core", 1)
		line(label, func(r unlikeRun) string { return number(r.Owners[i].Sojourn.Mean) })
	}
	return rendered(t) + "\n" + u.words()
}

// words are what the figures mean.
func (u unlikeResult) words() string {
	if why := u.inconclusive(); why != "" {
		return noVerdict(why)
	}
	known := slices.IndexFunc(u.Runs, func(r unlikeRun) bool { return r.Known })
	if known < 0 || u.Runs[known].Pods == 0 {
		return ""
	}
	words := ""
	for _, other := range u.Runs {
		switch {
		case other.Known || other.Pods == 0:
		case other.Profile == spazioProfile:
			words += "Once Spazio had learnt what the pods of each owner take, " + u.Runs[known].against(other)
		default:
			words += "Against the default scheduler, " + u.Runs[known].against(other)
		}
	}
	return words
}

// against compares the run with another in a sentence's end.
func (r unlikeRun) against(other unlikeRun) string {
	return fmt.Sprintf("a pod was done %s s after its submission\n"+
		"instead of %s s (%s), the batch as a whole took %s s instead of %s s (%s),\n"+
		"and %s killed for memory instead of %d.\n",
		seconds(r.Sojourn.Mean), seconds(other.Sojourn.Mean), change(r.Sojourn.Mean, other.Sojourn.Mean),
		seconds(r.Makespan), seconds(other.Makespan), change(r.Makespan, other.Makespan), killed(r.Kills), other.Kills)
}

func killed(times int) string {
	if times == 1 {
		return "1 pod was"
	}
	return fmt.Sprint(times, " pods were")
}

// change says in per cent by how much a time is shorter or longer than another.
func change(now, before float64) string {
	percent := math.Round(100 * (now/before - 1))
	switch {
	case math.IsNaN(percent) || math.IsInf(percent, 0):
		return none
	case percent < 0:
		return fmt.Sprintf("%.0f %% shorter", -percent)
	case percent > 0:
		return fmt.Sprintf("%.0f %% longer", percent)
	}
	return "as long"
}
