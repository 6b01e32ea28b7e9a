package lab

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// replaySummary is what a replay found.
type replaySummary struct {
	Node string `json:"node"`
	// Starts is how often the recorded agent was started, Files how many hold it.
	Starts int `json:"starts"`
	Files  int `json:"files"`
	// From and To are its first and its last moment.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Samples were taken, Dropped ones could not be. Churn counts starts and stops of
	// containers and notices of binds, Pods is the most that there were at once, Fleets
	// counts the models that came from an aggregator.
	Samples int `json:"samples"`
	Dropped int `json:"dropped"`
	Churn   int `json:"churnEvents"`
	Pods    int `json:"mostPods"`
	Fleets  int `json:"fleetUpdates"`
	// Gaps is how often records are missing that the agent could not write, Lost how many.
	Gaps int    `json:"gaps"`
	Lost uint64 `json:"recordsLost"`
	// Torn are the files that end within a record, as a crash leaves them.
	Torn []string `json:"torn"`
	// Options are the assignments replayed with.
	Options  []string      `json:"options"`
	Recorded replayReports `json:"recorded"`
	Replayed replayReports `json:"replayed"`
	// Different counts the reports that differ, First says where and how the
	// first of them does.
	Different int    `json:"different"`
	First     string `json:"firstDifference"`
}

// replayReports are the reports of one side in short.
type replayReports struct {
	Count int `json:"reports"`
	// Avail is what nodes said they had room for, in pods, over the reports.
	Avail struct {
		Mean  float64 `json:"mean"`
		Least float64 `json:"least"`
		Most  float64 `json:"most"`
	} `json:"avail"`
	sum float64
}

func (r *replayReports) add(report *agent.Report) {
	if report == nil {
		return
	}
	a := &r.Avail
	if r.Count == 0 {
		a.Least, a.Most = report.Avail, report.Avail
	}
	a.Least, a.Most = min(a.Least, report.Avail), max(a.Most, report.Avail)
	r.Count++
	r.sum += report.Avail
	a.Mean = r.sum / float64(r.Count)
}

// record counts a record.
func (s *replaySummary) record(rec recording.Record) {
	if !rec.At.IsZero() {
		if s.From.IsZero() {
			s.From = rec.At
		}
		s.To = rec.At
	}
	switch rec.Kind {
	case recording.KindSample:
		s.Samples++
	case recording.KindDropped:
		s.Dropped++
	case recording.KindChurn, recording.KindBound:
		s.Churn++
	case recording.KindFleet:
		s.Fleets++
	case recording.KindPods:
		s.Pods = max(s.Pods, len(rec.Pods))
	case recording.KindSnapshot:
		s.Pods = max(s.Pods, len(rec.State.Pods))
	case recording.KindGap:
		s.Gaps++
		s.Lost += rec.Lost
	}
}

// pair counts a pair of reports.
func (s *replaySummary) pair(p recording.Pair) {
	s.Recorded.add(p.Recorded)
	s.Replayed.add(p.Replayed)
	if p.Identical() {
		return
	}
	switch {
	case p.Recorded == nil:
		s.differ(p.Replayed.SampledAt, "a report that was not recorded")
	case p.Replayed == nil:
		s.differ(p.Recorded.SampledAt, "a recorded report that the replay did not make")
	default:
		text, _ := recording.Difference(*p.Recorded, *p.Replayed)
		s.differ(p.Recorded.SampledAt, text)
	}
}

func (s *replaySummary) differ(at time.Time, text string) {
	if s.Different++; s.Different == 1 {
		s.First = at.Format(time.RFC3339Nano) + ": " + text
	}
}

// verdict is the line that a user looks for.
func (s *replaySummary) verdict() string {
	switch {
	case len(s.Options) > 0 && s.Different == 0:
		return "no report would have been another"
	case len(s.Options) > 0:
		return fmt.Sprintf("%s would have been different; the first, %s", text.Count(s.Different, "report"), s.First)
	case s.Different == 0:
		return "identical, bit for bit"
	}
	return fmt.Sprintf("DIFFERENT: %s; the first, %s", text.Count(s.Different, "report"), s.First)
}

// writeText writes the summary for a person, a fact in a line or in some that a terminal holds, the verdict last.
func (s *replaySummary) writeText(out io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		b.WriteString(text.Hang(fmt.Sprintf("%-10s", name), text.Plain(fmt.Sprintf(format, args...)), text.Terminal) + "\n")
	}
	line("node", "%s, %d start(s) of its agent in %d file(s)", s.Node, s.Starts, s.Files)
	line("span", "%s from %s", s.To.Sub(s.From).Round(time.Millisecond), s.From.Format(time.RFC3339Nano))
	line("samples", "%d, and %d dropped", s.Samples, s.Dropped)
	line("pods", "at most %d; %d churn event(s)", s.Pods, s.Churn)
	line("fleet", "%d update(s)", s.Fleets)
	line("gaps", "%d, with %d record(s) lost", s.Gaps, s.Lost)
	for _, torn := range s.Torn {
		line("torn", "%s", torn)
	}
	if len(s.Options) > 0 {
		line("options", "%s", strings.Join(s.Options, " "))
	}
	for _, side := range []struct {
		name string
		r    replayReports
	}{{"recorded", s.Recorded}, {"replayed", s.Replayed}} {
		a := side.r.Avail
		line(side.name, "%d report(s), avail %.2f on average, %.2f to %.2f", side.r.Count, a.Mean, a.Least, a.Most)
	}
	line("verdict", "%s", s.verdict())
	_, err := io.WriteString(out, b.String())
	return err
}
