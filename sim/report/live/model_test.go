package live

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/sim/report/live/livetest"
	"github.com/spazio-scheduler/spazio/sim/report/text"
)

// at is when data came.
var at = time.Date(2026, 11, 23, 7, 43, 28, 0, time.UTC)

// fleet is a frame of nodes, each with its room.
func fleet(rooms ...string) Frame {
	t := text.Table{Header: []string{"NODE", "FREE", "VERDICT"}, Right: []bool{false, true}}
	for i, room := range rooms {
		t.Add(fmt.Sprintf("n%d", i), room, "admitted")
	}
	return Frame{Head: []string{"the fleet"}, Sheets: []Sheet{{Name: "nodes", Table: t}}}
}

// screen returns a model's text, with held rows and bold lines marked as livetest does.
func screen(m *model) string {
	var b strings.Builder
	for _, line := range m.lines() {
		b.WriteString(map[lineStyle]string{styleNormal: "", styleBold: "*", styleReversed: ">"}[line.style] + strings.TrimRight(line.text, " ") + "\n")
	}
	return b.String()
}

// press presses keys, letters as they are.
func press(m *model, keys ...any) (last action) {
	for _, k := range keys {
		switch k := k.(type) {
		case string:
			for _, r := range k {
				last = m.press(key(r))
			}
		case key:
			last = m.press(k)
		}
	}
	return last
}

const help = "*↑↓ row   Enter detail   ←→ column to sort by, r reverse   / filter   Esc let go   q quit\n"

func TestScreens(t *testing.T) {
	nine := []string{"5.0", "12.0", "-", "0.5", "any", "7.0", "1.0", "2.0", "3.0"}
	for name, test := range map[string]struct {
		keys []any
		want string
	}{
		"as it came": {nil, `
the fleet
07:43:28  from 1 of 9 rows
*NODE  FREE  VERDICT
n0     5.0  admitted
n1    12.0  admitted
n2       -  admitted
n3     0.5  admitted
` + help},
		"the first that is seen is held first": {[]any{keyDown}, `
the fleet
07:43:28  from 1 of 9 rows
*NODE  FREE  VERDICT
>n0     5.0  admitted
n1    12.0  admitted
n2       -  admitted
n3     0.5  admitted
` + help},
		"the window follows the row": {[]any{keyDown, keyPageDown, "j"}, `
the fleet
07:43:28  from 3 of 9 rows
*NODE  FREE  VERDICT
n2       -  admitted
n3     0.5  admitted
n4     any  admitted
>n5     7.0  admitted
` + help},
		"the end": {[]any{keyEnd}, `
the fleet
07:43:28  from 6 of 9 rows
*NODE  FREE  VERDICT
n5     7.0  admitted
n6     1.0  admitted
n7     2.0  admitted
>n8     3.0  admitted
` + help},
		"largest first, the unknown last": {[]any{keyRight, keyRight}, `
the fleet
07:43:28  from 1 of 9 rows
*NODE  FREE▼ VERDICT
n4     any  admitted
n1    12.0  admitted
n5     7.0  admitted
n0     5.0  admitted
` + help},
		"smallest first": {[]any{keyRight, ">r", keyEnd}, `
the fleet
07:43:28  from 6 of 9 rows
*NODE  FREE▲ VERDICT
n5     7.0  admitted
n1    12.0  admitted
n4     any  admitted
>n2       -  admitted
` + help},
		"a row on the move keeps its line": {[]any{keyDown, keyDown, keyRight, keyRight}, `
the fleet
07:43:28  from 1 of 9 rows
*NODE  FREE▼ VERDICT
n4     any  admitted
>n1    12.0  admitted
n5     7.0  admitted
n0     5.0  admitted
` + help},
		"a filter": {[]any{"/2"}, `
the fleet
07:43:28  from 1 of 3 rows
*NODE  FREE  VERDICT
n1    12.0  admitted
n2       -  admitted
n7     2.0  admitted

*rows with: 2_   Enter keeps it, Esc forgets it
`},
		"kept, q and all": {[]any{"/N", keyBackspace, "q", keyBackspace, "N7", keyEnter}, `
the fleet
07:43:28  from 1 of 1 row  with N7
*NODE  FREE  VERDICT
n7     2.0  admitted



` + help},
		"forgotten": {[]any{"/n7", keyEnter, keyEscape}, `
the fleet
07:43:28  from 1 of 9 rows
*NODE  FREE  VERDICT
n0     5.0  admitted
n1    12.0  admitted
n2       -  admitted
n3     0.5  admitted
` + help},
		"nothing passes": {[]any{"/xyz", keyEnter, keyDown, keyEnter, keyEnd}, `
the fleet
07:43:28  from 0 of 0 rows  with xyz
*NODE  FREE  VERDICT




` + help},
		"let go": {[]any{keyEnd, keyEscape}, `
the fleet
07:43:28  from 1 of 9 rows
*NODE  FREE  VERDICT
n0     5.0  admitted
n1    12.0  admitted
n2       -  admitted
n3     0.5  admitted
` + help},
		"opened": {[]any{keyDown, keyDown, keyEnter}, `
the fleet
07:43:28  n1
asking …




*↑↓ PgUp PgDn move   Esc back   q quit
`},
	} {
		m := new(model)
		m.resize(100, 8)
		m.show(fleet(nine...), at)
		press(m, test.keys...)
		if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), screen(m)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestKeepsThePlace: the place stays while rows come, go and change places.
func TestKeepsThePlace(t *testing.T) {
	m := new(model)
	m.resize(40, 7)
	m.show(fleet("1.0", "2.0", "3.0", "4.0", "5.0"), at)
	press(m, keyRight, keyRight, keyDown, keyDown) // n4 n3 [n2?]
	shows := func(want string) {
		t.Helper()
		var rows []string
		for _, line := range strings.Split(screen(m), "\n") {
			if f := strings.Fields(line); len(f) == 3 && f[2] == "admitted" {
				rows = append(rows, f[0])
			}
		}
		if got := strings.Join(rows, " "); got != want {
			t.Errorf("shows %s, want %s", got, want)
		}
	}
	shows("n4 >n3 n2")
	m.show(fleet("1.0", "2.0", "3.0", "0.5", "5.0"), at) // it falls to the end
	shows("n1 n0 >n3")
	m.show(fleet("1.0", "2.0", "3.0", "9.0", "5.0"), at) // it rises to the top
	shows(">n3 n4 n2")
	m.show(fleet("1.0", "2.0", "3.0", "2.5", "5.0"), at)
	shows(">n3 n1 n0")
	m.show(fleet("1.0", "2.0", "3.0"), at) // it is gone: what comes to its place is held
	shows("n2 n1 >n0")
	m.resize(40, 5)
	shows(">n0")
	m.resize(40, 20)
	shows("n2 n1 >n0")
	press(m, keyEscape)
	m.show(fleet("9.0", "2.0", "3.0"), at) // none is held: the best stay in sight
	shows("n0 n2 n1")
}

// TestAway: the model reports that there is no answer, keeps the former rows, and continues.
func TestAway(t *testing.T) {
	m := new(model)
	m.resize(100, 7)
	line := func() string { return strings.Split(screen(m), "\n")[0] }
	if got := line(); got != "asking …" {
		t.Errorf("before the first answer: %s", got)
	}
	m.setAway(errors.New("refused"), at)
	m.setAway(errors.New("refused\x1b[2J"), at.Add(2*time.Second))
	if got := line(); got != "*no answer since 07:43:28: refused\ufffd[2J" {
		t.Errorf("without any answer: %s", got)
	}
	m.show(fleet("1.0", "2.0"), at.Add(time.Minute))
	press(m, keyDown, keyDown)
	m.setAway(errors.New("starting"), at.Add(62*time.Second))
	want := `
the fleet
*as of 07:44:28; no answer since 07:44:30: starting
*NODE  FREE  VERDICT
n0     1.0  admitted
>n1     2.0  admitted

` + help
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), screen(m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.show(fleet("1.0", "3.0"), at.Add(2*time.Minute))
	want = `
the fleet
07:45:28  from 1 of 2 rows
*NODE  FREE  VERDICT
n0     1.0  admitted
>n1     3.0  admitted

` + help
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), screen(m)); diff != "" {
		t.Errorf("after it is back (-want +got):\n%s", diff)
	}
}

func TestDetail(t *testing.T) {
	m := new(model)
	m.resize(30, 6)
	m.show(fleet("1.0", "2.0"), at)
	if a := press(m, keyEnter); a != actionLook {
		t.Errorf("action %v", a)
	}
	m.setDetail(0, "n1", "of another row")
	m.setDetail(0, "n0", "one\ntwo \x1b]0;x\a\na line that is longer than the screen\nfour\n")
	want := `
the fleet
07:43:28  n0
one
two �]0;x�
a line that is longer than the
*↑↓ PgUp PgDn move   Esc back
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), screen(m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	press(m, keyEnd)
	m.show(fleet("1.0", "2.0"), at.Add(time.Second)) // the place is kept
	want = `
the fleet
07:43:29  n0
a line that is longer than the
screen
four
*↑↓ PgUp PgDn move   Esc back
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), screen(m)); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
	m.setDetail(0, "n0", "less") // and the place is within the text as it is now
	if got := screen(m); !strings.Contains(got, "n0\nless\n") {
		t.Errorf("after less is told:\n%s", got)
	}
	sheet, row, ok := m.opened()
	if sheet != 0 || row != "n0" || !ok {
		t.Errorf("open is %d %s %v", sheet, row, ok)
	}
	press(m, keyEscape)
	if _, _, ok := m.opened(); ok || !strings.Contains(screen(m), ">n0") {
		t.Errorf("after Esc:\n%s", screen(m))
	}
	for k, want := range map[any]action{"q": actionQuit, keyInterrupt: actionQuit, keySuspend: actionStop, keyRepaint: actionRedraw, keyDown: actionNone} {
		if got := press(m, k); got != want {
			t.Errorf("%v: action %v, want %v", k, got, want)
		}
	}
}

// TestSheets: each sheet has its own place.
func TestSheets(t *testing.T) {
	f := fleet("1.0", "2.0")
	f.Sheets = append(f.Sheets, Sheet{Name: "workloads", Table: text.Table{Header: []string{"WORKLOAD"}, Rows: [][]string{{"a"}, {"b"}}}})
	m := new(model)
	m.resize(120, 8)
	m.show(f, at)
	press(m, keyDown, keyDown, keyTab, keyRight, "r", keyDown)
	want := `
the fleet
07:43:28  nodes  [workloads]  from 1 of 2 rows
*WORKLOAD▼
>b
a


*↑↓ row   Enter detail   ←→ column to sort by, r reverse   / filter   Tab table   Esc let go   q quit
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), screen(m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	press(m, keyTab)
	if got := screen(m); !strings.Contains(got, ">n1") || !strings.Contains(got, "[nodes]") {
		t.Errorf("back on the first:\n%s", got)
	}
	press(m, keyTab)
	m.show(fleet("1.0"), at) // the second is gone
	if got := screen(m); !strings.Contains(got, ">n0") {
		t.Errorf("the sheet that is left:\n%s", got)
	}
}

// After any keys, frames and sizes, a screen is as high as the terminal and no line wider, and a
// display that gets only the changes shows it.
func TestChangesMakeTheScreen(t *testing.T) {
	keys := []key{keyUp, keyDown, keyLeft, keyRight, keyPageUp, keyPageDown, keyHome, keyEnd, keyEnter, keyEscape, keyBackspace, keyTab, keyRepaint, '/', 'r', 'n', '節', '1', ' '}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		m, p := new(model), new(painter)
		width, height := 80, 24
		d := livetest.NewDisplay(width, height)
		d.Wraps = false // as Terminal sets it
		m.resize(width, height)
		for range 300 {
			switch r.IntN(12) {
			case 0:
				width, height = 1+r.IntN(130), 1+r.IntN(40)
				m.resize(width, height)
				p.forget()
				d.Resize(width, height)
			case 1, 2:
				m.show(hostile(r), at.Add(time.Duration(r.IntN(1e6))*time.Millisecond))
			case 3:
				m.setAway(errors.New("no \x1b[31manswer 節"), at)
			case 4:
				if sheet, row, ok := m.opened(); ok {
					m.setDetail(sheet, row, strings.Repeat("節 word\t\n", r.IntN(60)))
				}
			default:
				if k := keys[r.IntN(len(keys))]; m.press(k) == actionRedraw {
					p.forget()
				}
			}
			lines := m.lines()
			if len(lines) != height {
				t.Fatalf("seed %d: %d lines of %d", seed, len(lines), height)
			}
			for _, line := range lines {
				if text.Width(line.text) > width {
					t.Fatalf("seed %d: wider than %d: %q", seed, width, line.text)
				}
			}
			if _, err := d.Write([]byte(p.paint(lines))); err != nil || len(d.Unknown) > 0 {
				t.Fatalf("seed %d: %v, the display does not know %q", seed, err, d.Unknown)
			}
			if diff := cmp.Diff(screen(m), d.Text()); diff != "" {
				t.Fatalf("seed %d (-model +display):\n%s", seed, diff)
			}
			if again := p.paint(m.lines()); again != "" {
				t.Fatalf("seed %d: nothing has changed and %q is written", seed, again)
			}
		}
	}
}

// hostile is a frame with names that contain control sequences.
func hostile(r *rand.Rand) Frame {
	names := []string{"節点-一", "\x1b[2J\x1b[H", "<img onerror>", strings.Repeat("long", 70), "e\u0301", "🚀🚀", "a\nb", "\u202eevil", "", "-", "node-1"}
	t := text.Table{Header: []string{"NODE", "FREE", "節"}, Right: []bool{false, true}}
	for i := range r.IntN(50) {
		t.Add(names[r.IntN(len(names))]+fmt.Sprint(i), fmt.Sprintf("%.1f", 1e6*r.Float64()), names[r.IntN(len(names))])
	}
	f := Frame{Head: []string{"head \x1b[7m", "two", "three", "four"}[:r.IntN(5)], Sheets: []Sheet{{Name: "nodes", Table: t}}}
	if r.IntN(3) == 0 {
		f.Sheets = append(f.Sheets, Sheet{Name: "workloads", Table: text.Table{Header: []string{"WORKLOAD"}, Rows: [][]string{{"x"}, {}, nil}}})
	}
	return f
}

// A terminal without size shows nothing.
func TestNoSize(t *testing.T) {
	m := new(model)
	m.show(fleet("1.0"), at)
	press(m, keyDown, keyEnter, keyPageDown, keyEscape, "/x")
	if lines := m.lines(); len(lines) != 0 {
		t.Errorf("%d lines", len(lines))
	}
}

// If one of 5,000 nodes has changed, one line is written.
func TestWritesWhatHasChanged(t *testing.T) {
	rooms := make([]string, 5000)
	for i := range rooms {
		rooms[i] = "4.0"
	}
	m, p := new(model), new(painter)
	m.resize(120, 50)
	m.show(fleet(rooms...), at)
	if first := p.paint(m.lines()); strings.Count(first, "\n") != 0 || len(first) > 120*50 {
		t.Errorf("the first screen takes %d bytes", len(first))
	}
	rooms[7], rooms[4000] = "5.0", "5.0"
	m.show(fleet(rooms...), at)
	if got, want := p.paint(m.lines()), "\x1b[11;1H\x1b[Kn7      5.0  admitted"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
