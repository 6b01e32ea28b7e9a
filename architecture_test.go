package spazio_test

import (
	"cmp"
	"flag"
	"fmt"
	"html"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/architecture.svg")

const modulePath = "github.com/spazio-scheduler/spazio"

// free are modules that are no rooms: they import whatever they need, and nothing imports them.
var free = []string{"cmd", "examples", "examples/scheduler", "examples/schedulertest"}

// rooms returns of each module of the workspace those whose packages its own import, tests aside,
// as go list says. Of the root module each directory is a room.
func rooms(t *testing.T) map[string][]string {
	t.Helper()
	list := func(args ...string) []string {
		out, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
		if err != nil {
			t.Fatalf("go list %v: %v", args, err)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	imports := map[string][]string{}
	for _, module := range list("-m") {
		if module != modulePath {
			imports[strings.TrimPrefix(module, modulePath+"/")] = nil
		}
	}
	packages := list("-f", `{{.Module.Path}} {{.ImportPath}} {{join .Imports " "}}`, "work")
	for _, line := range packages {
		paths := strings.Fields(line)
		if dir, below := strings.CutPrefix(paths[1], modulePath+"/"); below && paths[0] == modulePath {
			dir, _, _ = strings.Cut(dir, "/")
			imports[dir] = nil
		}
	}
	for _, line := range packages {
		paths := strings.Fields(line)[1:]
		from := room(imports, paths[0])
		for _, path := range paths[1:] {
			if to := room(imports, path); from != "" && to != "" && to != from && !slices.Contains(imports[from], to) {
				imports[from] = append(imports[from], to)
			}
		}
	}
	for name := range imports {
		slices.Sort(imports[name])
	}
	return imports
}

// room is the module that a package is of, "" for others' packages.
func room(modules map[string][]string, path string) string {
	path, ours := strings.CutPrefix(path, modulePath+"/")
	if !ours {
		return ""
	}
	for ; path != "."; path = filepath.Dir(path) {
		if _, ok := modules[path]; ok {
			return path
		}
	}
	return ""
}

// needed leaves out of the imports those that come with another of them anyway.
func needed(imports map[string][]string) map[string][]string {
	var reaches func(from, to string) bool
	reaches = func(from, to string) bool {
		return slices.ContainsFunc(imports[from], func(next string) bool { return next == to || reaches(next, to) })
	}
	out := map[string][]string{}
	for from, all := range imports {
		for _, to := range all {
			if !slices.ContainsFunc(all, func(other string) bool { return other != to && reaches(other, to) }) {
				out[from] = append(out[from], to)
			}
		}
	}
	return out
}

// A floor is a row of rooms; each imports from lower ones alone.
type floor []string

// floors puts each room above all that it imports, beside those near to what it imports.
func floors(imports map[string][]string) (all []floor) {
	var height func(string) int
	height = func(name string) int {
		h := 0
		for _, to := range imports[name] {
			h = max(h, height(to)+1)
		}
		return h
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if slices.Contains(free, name) {
			continue
		}
		h := height(name)
		for len(all) <= h {
			all = append(all, nil)
		}
		all[h] = append(all[h], name)
	}
	return all
}

// A box is where a room is drawn.
type box struct{ x, y, width float64 }

const (
	figureWidth, roomHeight, floorHeight = 1160., 26., 62.
	roomsTop                             = 560. // below the way of a sample
)

// place gives each room its box: every floor's rooms stand in the order of the middle of what they
// import, and fill the width.
func place(all []floor, imports map[string][]string) map[string]box {
	boxes := map[string]box{}
	bottom := roomsTop + 70 + floorHeight*float64(len(all)-1)
	for h, names := range all {
		names = slices.Clone(names)
		middle := func(name string) float64 {
			if len(imports[name]) == 0 {
				return float64(slices.Index(ground, name)) // -1 for a new one: it goes first
			}
			sum := 0.
			for _, to := range imports[name] {
				sum += boxes[to].x + boxes[to].width/2
			}
			return sum / float64(len(imports[name]))
		}
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(middle(a), middle(b)) })
		total := 0.
		for _, name := range names {
			total += roomWidth(name)
		}
		gap := min((figureWidth-40-total)/float64(max(len(names)-1, 1)), 60)
		x := (figureWidth - total - gap*float64(len(names)-1)) / 2
		for _, name := range names {
			boxes[name] = box{x, bottom - floorHeight*float64(h), roomWidth(name)}
			x += roomWidth(name) + gap
		}
	}
	return boxes
}

// ground is the order of those rooms that import none, by who imports them.
var ground = []string{"svd", "kalman", "filter", "capacity", "reserve", "placement", "energy", "telemetry", "profile", "testbed", "podforward", "embedded", "web"}

func roomWidth(name string) float64 { return 7.2*float64(len(name)) + 14 }

// drawing is docs/architecture.svg: the way of a sample, which is written by hand, above the rooms,
// which are drawn from what go list says.
func drawing(t *testing.T, imports map[string][]string) string {
	t.Helper()
	way, err := os.ReadFile("docs/architecture-way.svg")
	if err != nil {
		t.Fatal(err)
	}
	arrows := needed(imports)
	all := floors(imports)
	boxes := place(all, arrows)
	height := roomsTop + 70 + floorHeight*float64(len(all)-1) + roomHeight + 20
	var s strings.Builder
	text := strings.Replace(string(way), "HEIGHT", fmt.Sprintf("%.0f", height), 2)
	s.WriteString(strings.TrimSuffix(strings.TrimSpace(text), "</svg>"))
	fmt.Fprintf(&s, "<text class=\"title\" x=\"20\" y=\"%.0f\">Modules: each imports from those below, along the lines, and what these import</text>\n", roomsTop)
	fmt.Fprintf(&s, "<rect class=\"any\" x=\"20\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>\n<text class=\"room\" x=\"%.0f\" y=\"%.0f\">%s: import whatever they need</text>\n",
		roomsTop+16, figureWidth-40, roomHeight, figureWidth/2, roomsTop+33, html.EscapeString(strings.Join(free, ", ")))
	for _, from := range slices.Sorted(maps.Keys(arrows)) {
		if slices.Contains(free, from) {
			continue
		}
		for _, to := range arrows[from] {
			a, b := boxes[from], boxes[to]
			x1, y1, x2, y2 := a.x+a.width/2, a.y+roomHeight, b.x+b.width/2, b.y
			bend := (y2 - y1) / 2
			fmt.Fprintf(&s, "<path class=\"import\" id=\"%s imports %s\" d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\"/>\n", from, to, x1, y1, x1, y1+bend, x2, y2-bend, x2, y2)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(boxes)) {
		b := boxes[name]
		fmt.Fprintf(&s, "<rect class=\"box\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>\n<text class=\"room\" x=\"%.0f\" y=\"%.0f\">%s</text>\n",
			b.x, b.y, b.width, roomHeight, b.x+b.width/2, b.y+17, name)
	}
	s.WriteString("</svg>\n")
	return s.String()
}

// TestArchitecture: the diagram has the modules of the workspace with their imports, and refers to no
// other file or site.
func TestArchitecture(t *testing.T) {
	svg := drawing(t, rooms(t))
	if *update {
		if err := os.WriteFile("docs/architecture.svg", []byte(svg), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if svg != contents(t, "docs/architecture.svg") {
		t.Error("docs/architecture.svg is out of date: go test . -update")
	}
	if m := regexp.MustCompile(`(?i)(href|src|url\(|@import)[^>]*`).FindString(strings.ReplaceAll(svg, "url(#", "")); m != "" {
		t.Errorf("docs/architecture.svg refers to another file: %s", m)
	}
	if !strings.Contains(svg, "prefers-color-scheme: dark") {
		t.Error("docs/architecture.svg has no dark form")
	}
}

// What the drawing leaves out of imports comes with another, and rooms stand above what they import.
func TestFloors(t *testing.T) {
	imports := map[string][]string{"a": nil, "b": {"a"}, "c": {"a", "b"}, "d": nil, "e": {"c", "d"}, "cmd": {"e"}}
	if got := needed(imports)["c"]; !slices.Equal(got, []string{"b"}) {
		t.Errorf("c needs %v", got)
	}
	got := floors(imports)
	want := []floor{{"a", "d"}, {"b"}, {"c"}, {"e"}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("floors %v, want %v", got, want)
	}
	boxes := place(got, needed(imports))
	for from, all := range imports {
		for _, to := range all {
			if from != "cmd" && boxes[from].y+roomHeight > boxes[to].y {
				t.Errorf("%s is not above %s", from, to)
			}
		}
	}
}

var (
	portCell  = regexp.MustCompile(`(?m)^\| (\d+) \| ([a-z-]+) \| (loopback|service|metrics) \|`)
	imageLine = regexp.MustCompile(`(?m)"(spazio-[a-z]+)"|containerPort: (\d+)`)
	loopback  = regexp.MustCompile("`(?:http://)?127\\.0\\.0\\.1:(\\d+)`")
)

// The page's ports are those that containers of the manifests have and those that programs take on
// loopback by default, each at its program, and no others.
func TestPorts(t *testing.T) {
	want := map[string]string{}
	manifests, err := filepath.Glob("cmd/deploy/chart/templates/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range manifests {
		program := ""
		for _, m := range imageLine.FindAllStringSubmatch(contents(t, file), -1) {
			if program = cmp.Or(m[1], program); m[2] != "" {
				want[m[2]] = strings.TrimSuffix(program, "-kube")
			}
		}
	}
	pages, err := filepath.Glob("docs/configure/spazio-*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range pages {
		for _, m := range loopback.FindAllStringSubmatch(contents(t, file), -1) {
			want[m[1]] = strings.TrimSuffix(filepath.Base(file), ".md")
		}
	}
	got := map[string]string{}
	for _, m := range portCell.FindAllStringSubmatch(contents(t, "docs/architecture.md"), -1) {
		got[m[1]] = m[2]
	}
	if len(want) < 10 {
		t.Errorf("only ports %v found: how manifests and pages are read is out of date", want)
	}
	if !maps.Equal(got, want) {
		t.Errorf("ports of docs/architecture.md: %v, of manifests and flags: %v", got, want)
	}
}

func contents(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
