package lab

import (
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/sim/report/text"
)

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
