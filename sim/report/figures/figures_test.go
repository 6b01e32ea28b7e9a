package figures

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
)

// chosen holds all figures; short runs make every eighth.
func chosen() (some []Figure) {
	all := All()
	if !testing.Short() {
		return all
	}
	for i := 0; i < len(all); i += 8 {
		some = append(some, all[i])
	}
	return some
}

// saved makes the chosen figures and saves them.
func saved(t *testing.T, dir string) Album {
	t.Helper()
	album, err := Make(t.Context(), chosen(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := album.Save(dir); err != nil {
		t.Fatal(err)
	}
	return album
}

// contents reads a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Every figure has its files and its caption, and a second run, which short ones omit, gives the
// same bytes.
func TestAllFigures(t *testing.T) {
	dir := t.TempDir()
	album := saved(t, dir)
	wholeness(t, album)
	files := contents(t, dir)
	if !testing.Short() {
		sameAgain(t, album, files)
	}
	for _, f := range chosen() {
		base := "figure-" + f.ID
		for suffix, want := range map[string]string{".svg": "<svg", ".png": "\x89PNG", ".csv": "panel,series,x,y"} {
			if !strings.Contains(files[base+suffix], want) {
				t.Errorf("%s%s: no %q", base, suffix, want)
			}
		}
		if strings.Contains(files[base+".csv"], "NaN") {
			t.Errorf("%s.csv has no number where there should be one", base)
		}
		for _, want := range []string{"Figure " + f.ID + ": " + f.title, f.claim, base + ".svg"} {
			if !strings.Contains(files["README.md"], want) {
				t.Errorf("README.md: no %q", want)
			}
		}
	}
	if n := strings.Count(files["index.html"], "<svg"); n != len(chosen()) {
		t.Errorf("%d pictures in index.html, %d figures", n, len(chosen()))
	}
	if strings.Contains(files["README.md"], "NaN") {
		t.Error("a caption has no number where there should be one")
	}
}

// sameAgain makes all figures once more.
func sameAgain(t *testing.T, album Album, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	if diff := cmp.Diff(album.Values(), saved(t, dir).Values()); diff != "" {
		t.Errorf("the rows differ:\n%s", diff)
	}
	again := contents(t, dir)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(again))); diff != "" {
		t.Fatalf("the files differ:\n%s", diff)
	}
	for name, data := range files {
		if data != again[name] {
			t.Errorf("%s differs from run to run", name)
		}
	}
}

// The properties of all figures must hold for new ones, too.
func wholeness(t *testing.T, album Album) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range album {
		if f.ID == "" || f.title == "" || f.claim == "" || f.make == nil || seen[f.ID] {
			t.Errorf("figure %q lacks something or is there twice", f.ID)
		}
		seen[f.ID] = true
		if len(f.panels) == 0 || f.measured == "" || len(f.values) == 0 {
			t.Errorf("%s shows nothing", f.ID)
		}
		if v := f.verdict; v != "holds" && v != "holds in part" && v != "does not hold" {
			t.Errorf("%s: verdict %q", f.ID, v)
		}
		if !strings.HasPrefix(f.source, "recording: ") && !strings.HasPrefix(f.source, "simulator: ") {
			t.Errorf("%s: source %q", f.ID, f.source)
		}
	}
}

func TestByID(t *testing.T) {
	chosen, err := ByID("4.7", "2.3")
	if err != nil || len(chosen) != 2 || chosen[0].ID != "2.3" {
		t.Errorf("%d figures, error %v", len(chosen), err)
	}
	var name *field.Error
	if _, err := ByID("4.7", "9.9"); !errors.As(err, &name) || name.Value != "9.9" {
		t.Errorf("error %v", err)
	}
}

func ExampleMake() {
	chosen, err := ByID("4.5")
	if err != nil {
		fmt.Println(err)
		return
	}
	album, err := Make(context.Background(), chosen, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(album[0].ID, album[0].verdict)
	// Output: 4.5 holds
}
