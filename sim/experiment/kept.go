package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// errOtherBuild refuses runs that another build has kept.
var errOtherBuild = errors.New("experiment: kept by another build")

// kept are the rows of runs that have ended, in a file that grows by a line with each:
// a long comparison can be broken off and gone on with, or made in parts. It is safe
// for concurrent use.
type kept struct {
	mu   sync.Mutex
	to   io.Writer
	rows map[string][]Row
	err  error
}

// keptLine is a line of the file; the first names the build alone.
type keptLine struct {
	Build string `json:"build,omitempty"`
	Run   string `json:"run,omitempty"`
	Rows  []Row  `json:"rows,omitempty"`
}

// Keep reads what a build has kept and goes on at its end. A line that a run was cut
// off in is left out. The error is errOtherBuild, or that of the file.
func Keep(file io.ReadWriter, build string) (*kept, error) {
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	k := &kept{to: file, rows: map[string][]Row{}}
	header, err := json.Marshal(keptLine{Build: build})
	if err != nil {
		return nil, err
	}
	named := false // the build, by the first whole line; its own may have been cut off before
	for line := range bytes.Lines(text) {
		var l keptLine
		switch {
		case json.Unmarshal(line, &l) != nil && (named || bytes.HasPrefix(header, bytes.TrimSuffix(line, []byte("\n")))):
		case !named && l.Build != build:
			return nil, fmt.Errorf("%w: %q, this is %q", errOtherBuild, l.Build, build)
		case len(l.Rows) > 0:
			k.rows[l.Run] = l.Rows
		default:
			named = true
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		_, k.err = file.Write([]byte("\n"))
	}
	if !named {
		k.write(keptLine{Build: build})
	}
	return k, k.err
}

// Err is the first error of writing.
func (k *kept) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

func (k *kept) of(t task) []Row {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rows[t.name()]
}

func (k *kept) add(t task, rows []Row) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if name := t.name(); name != "" {
		k.rows[name] = rows
		k.write(keptLine{Run: name, Rows: rows})
	}
}

func (k *kept) write(l keptLine) {
	line, err := json.Marshal(l)
	if err == nil {
		_, err = k.to.Write(append(line, '\n'))
	}
	k.err = errors.Join(k.err, err)
}

// name is of one run alone, among those of a build. It depends on the contents of its trace and on
// pods that were given, for other files may come under the same names. It is empty where the trace
// cannot be read.
func (t task) name() string {
	p := t.kase.Params
	trace, err := p.recordings.digest()
	if err != nil {
		return ""
	}
	p.recordings = nil // of Trace
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v %x %+v", p, trace, t.kase.Experiment.given))
	return fmt.Sprintf("%s %s %d %x", t.kase.Label, t.scheduler, t.seed, sum[:8])
}

// digest is of the names and the contents of all files, if there are any, those of linked folders too.
func digest(dir fs.FS) (sum [sha256.Size]byte, err error) {
	if dir == nil {
		return sum, nil
	}
	all := sha256.New()
	var walk func(root string) error
	walk = func(root string) error {
		return fs.WalkDir(dir, root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := fs.Stat(dir, path)
			switch {
			case err != nil:
				return err
			case info.IsDir() && root != ".":
				return fmt.Errorf("%s: a link in a linked folder, which may have no end", path)
			case info.IsDir():
				return walk(path) // WalkDir follows no link but its root
			}
			content, err := fs.ReadFile(dir, path)
			fmt.Fprintf(all, "%q %d %s", path, len(content), content)
			return err
		})
	}
	err = walk(".")
	return [sha256.Size]byte(all.Sum(nil)), err
}
