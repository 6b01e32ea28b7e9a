package lab

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/agent/recording"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// record writes the recording of a node whose pods come one by one, for that many seconds.
func record(dir string, seconds int) error {
	c := agent.Config{
		Node: "node-1", Incarnation: 1, Schema: "test/v1", Cores: 4,
		Channels: []agent.Channel{{Name: agent.CPU, Size: 4}, {Name: "memory", Size: 16e9}},
	}
	p, err := agent.New(c)
	if err != nil {
		return err
	}
	r, err := recording.Create(dir, c, recording.Options{State: p.State})
	if err != nil {
		return err
	}
	var pods []reserve.PodKey
	for i := range seconds * 10 {
		at := start.Add(time.Duration(i) * 100 * time.Millisecond)
		if i%70 == 69 {
			pods = append(pods, reserve.PodKey(i))
			r.Pods(at, agent.RunningPods(pods...))
			if report, due, err := p.Pods(at, agent.RunningPods(pods...)); err == nil && due {
				r.Report(report)
			}
		}
		y := []float64{.05 + .1*float64(len(pods)) + .01*math.Sin(float64(i)), .2 + .02*float64(len(pods))}
		r.Sample(at, y)
		report, due, err := p.Sample(at, y)
		if err != nil {
			return err
		}
		if due {
			r.Report(report)
		}
	}
	return r.Close()
}

func run(t *testing.T, dir string, set []string, csv io.Writer) (replaySummary, error) {
	t.Helper()
	if err := checkAssignments(set); err != nil {
		return replaySummary{}, err
	}
	r, err := recording.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return replayRecording(r, set, csv)
}

func TestReplayRun(t *testing.T) {
	dir := t.TempDir()
	if err := record(dir, 40); err != nil {
		t.Fatal(err)
	}
	same, err := run(t, dir, nil, nil)
	if err != nil || same.Different != 0 || same.Samples != 400 || same.Recorded != same.Replayed || same.Pods != 5 {
		t.Errorf("as recorded: %+v, %v", same, err)
	}
	var csv strings.Builder
	other, err := run(t, dir, []string{"avail.caution=-1"}, &csv)
	if err != nil || other.Different == 0 || other.Recorded != same.Recorded || !strings.HasPrefix(csv.String(), "at,seconds,pods,") {
		t.Errorf("with an option: %+v, %v", other, err)
	}
}

func TestReplayRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := record(dir, 5); err != nil {
		t.Fatal(err)
	}
	for _, assignment := range []string{"speed=1", "avail.caution", "avail.caution=much", "cores=8", "fleet-share=2"} {
		_, err := run(t, dir, []string{assignment}, nil)
		var name *field.Error
		if !errors.As(err, &name) || name.Field != "Set" || !errors.Is(err, report.ErrInvalid) {
			t.Errorf("%s: error %v", assignment, err)
		}
	}
}

// A summary of long names, differences and options stays in lines that a terminal holds.
func TestReplaySummaryFits(t *testing.T) {
	long := strings.Repeat("compute-europe-west4.", 12)
	var s replaySummary
	s.Node, s.Torn, s.Options = long, []string{"/var/lib/spazio/" + long + "/recording"}, []string{"channels=" + long, "lambda=.99"}
	s.Different, s.First = 1, "report 7 of "+long+" says 1.5 where it was 2.5"
	var b strings.Builder
	if err := s.writeText(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := text.Width(strings.TrimSuffix(line, "\n")); n > text.Terminal {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(b.String(), "\nverdict   1 report would have been different") {
		t.Errorf("it says\n%s", b.String())
	}
}
