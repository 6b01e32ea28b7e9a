package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// tree is where this one's root is from here.
const tree = "../.."

// parent leaves the command spazio and the images of another commit, with the tag
// "parent", for who wants to see an upgrade.
func parent(dir, revision string) (err error) {
	commit, err := git(tree, "rev-parse", "--verify", "--quiet", revision+"^{commit}")
	if err != nil {
		return fmt.Errorf("commit %s: %w (is the clone too shallow? -parent= does without)", revision, err)
	}
	scratch, err := os.MkdirTemp("", "node-parent-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	clone, from := filepath.Join(scratch, "clone"), tree
	if from, err = filepath.Abs(from); err != nil {
		return err
	}
	if _, err := git(scratch, "clone", "--quiet", "--no-checkout", from, clone); err != nil {
		return err
	}
	if _, err := git(clone, "checkout", "--quiet", "--detach", commit); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := command("../images", "off", []string{"run", ".", "-root", clone, "-to", "tar:" + filepath.Join(dir, "spazio.tar"),
		"-tag", "parent", "-platforms", "linux/" + runtime.GOARCH}); err != nil {
		return err
	}
	return command(filepath.Join(clone, "cmd"), "", build(dir, "./spazio"))
}

// git returns what git prints.
func git(dir string, arguments ...string) (string, error) {
	c := exec.Command("git", arguments...)
	c.Dir, c.Stderr = dir, os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
