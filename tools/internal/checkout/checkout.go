// Package checkout makes a clone of a tree, and an environment of the go command, by which the
// same commit is compiled to the same bytes, on every machine.
package checkout

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// Checkout is a clone. In a worktree, whose .git is a file, the toolchain stamps no program with
// its version; in a clone it does.
type Checkout struct {
	Dir      string
	Revision string    // the commit's hash
	Created  time.Time // when it was committed
	Changes  string    // what the tree has beyond the commit, as git prints it: programs are stamped as dirty
	Environ  []string  // for the go command: the clone's workspace, its toolchain, and no setting that changes what is compiled
}

// New clones the tree that is at root, with what is not committed yet, to dir, which must not
// exist.
func New(ctx context.Context, root, dir string) (*Checkout, error) {
	c := &Checkout{Dir: dir}
	said, err := Output(ctx, root, nil, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, fmt.Errorf("no commit to build: %w", err)
	}
	hash, seconds, _ := strings.Cut(strings.TrimSpace(said), " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the commit's time: %w", err)
	}
	c.Revision, c.Created = hash, time.Unix(unix, 0).UTC()
	if c.Changes, err = Output(ctx, root, nil, "git", "status", "--porcelain"); err != nil {
		return nil, err
	}
	if _, err := Output(ctx, root, nil, "git", "clone", "--quiet", "--shared", "--no-checkout", root, dir); err != nil {
		return nil, err
	}
	if err := c.fill(ctx, root); err != nil {
		return nil, err
	}
	c.Environ, err = Environ(ctx, root, filepath.Join(dir, "go.work"))
	return c, err
}

// fill writes the files of the clone.
func (c *Checkout) fill(ctx context.Context, root string) error {
	tree := c.Revision
	if c.Changes != "" {
		// Git makes a tree of all files by an index of our own: the user's stays as it is.
		index := []string{"GIT_INDEX_FILE=" + filepath.Join(c.Dir, ".git", "changed")}
		for _, args := range [][]string{{"read-tree", "HEAD"}, {"add", "--all"}, {"write-tree"}} {
			said, err := Output(ctx, root, index, "git", args...)
			if err != nil {
				return err
			}
			tree = strings.TrimSpace(said)
		}
	}
	sums, err := Output(ctx, root, nil, "git", "ls-files", "go.work.sum", "*/go.work.sum")
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"checkout", "--quiet", "--detach", c.Revision},
		{"read-tree", "-u", "--reset", tree},
		// Neither the sums that the toolchain adds nor files that are laid beside the
		// programs make these dirty.
		{"config", "status.showUntrackedFiles", "no"},
		append([]string{"update-index", "--assume-unchanged", "--"}, strings.Fields(sums)...),
	} {
		if _, err := Output(ctx, c.Dir, nil, "git", args...); err != nil {
			return err
		}
	}
	return nil
}

// kept are the settings of where modules come from and where they are kept, which are a user's own.
// All others change what is compiled, and are not followed.
var kept = []string{
	"GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOINSECURE", "GOVCS", "GOAUTH", "GOMODCACHE", "GOCACHE", "GOPATH",
}

// Environ returns the settings of the go command for a workspace, with which nothing that is set
// changes what is compiled.
func Environ(ctx context.Context, root, workspace string) ([]string, error) {
	text, err := os.ReadFile(workspace)
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork(workspace, text, nil)
	if err != nil {
		return nil, err
	}
	if work.Toolchain == nil {
		return nil, fmt.Errorf("%s pins no toolchain", workspace)
	}
	said, err := Output(ctx, root, []string{"GOWORK=" + workspace}, "go", append([]string{"env"}, kept...)...)
	if err != nil {
		return nil, err
	}
	settings := []string{
		"GOENV=off", "GOWORK=" + workspace, "GOTOOLCHAIN=" + work.Toolchain.Name, "GOFLAGS=", "GOOS=", "GOARCH=",
		"GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0", "GOEXPERIMENT=", "GODEBUG=", "GOFIPS140=", "GO111MODULE=", "GOROOT=",
	}
	for i, value := range strings.SplitN(said, "\n", len(kept)+1)[:len(kept)] {
		settings = append(settings, kept[i]+"="+value)
	}
	return settings, nil
}

// Output returns what a program prints, run in the directory with additions to the environment;
// its error has what it complained of.
func Output(ctx context.Context, dir string, environ []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), environ...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return string(out), nil
}
