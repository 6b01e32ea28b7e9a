package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

func TestExitCodes(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	fails := func(err error) func(*cobra.Command, []string) error {
		return func(*cobra.Command, []string) error { return err }
	}
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		args   []string
		run    func(*cobra.Command, []string) error
		code   int
		stderr string
	}{
		{"success", t.Context(), nil, fails(nil), command.ExitOK, ""},
		{"help", t.Context(), []string{"--help"}, fails(errors.New("ran")), command.ExitOK, ""},
		{"failure", t.Context(), nil, fails(errors.New("disk full")), command.ExitFailure, "tool: disk full\n"},
		{"failure of many lines", t.Context(), nil, fails(errors.Join(errors.New("a"), errors.New("b"))), command.ExitFailure, "tool: a; b\n"},
		{"failure in another's words", t.Context(), nil, fails(errors.New("a\tnode said \x1b[2J\u009b2J\u202e\xff 節点e\u0301 …")), command.ExitFailure, "tool: a node said \ufffd[2J\ufffd2J\ufffd\ufffd 節点e\u0301 …\n"},
		{"unknown flag", t.Context(), []string{"--no-such"}, fails(nil), command.ExitUsage, "tool: unknown flag: --no-such\n"},
		{"bad value", t.Context(), []string{"--insecure=perhaps"}, fails(nil), command.ExitUsage, "tool: invalid argument \"perhaps\" for \"--insecure\" flag: invalid syntax\n"},
		{"argument", t.Context(), []string{"word"}, fails(nil), command.ExitUsage, "tool: unknown command \"word\" for \"tool\"\n"},
		{"marked", t.Context(), nil, fails(command.Usage(errors.New("bad option"))), command.ExitUsage, "tool: bad option\n"},
		{"interrupted", cancelled, nil, fails(fmt.Errorf("ask a server: %w", context.Canceled)), command.ExitFailure, "tool: interrupted\n"},
		{"interrupted, failure", cancelled, nil, fails(errors.New("disk full")), command.ExitFailure, "tool: disk full\n"},
		{"interrupted when done", cancelled, nil, fails(nil), command.ExitOK, ""},
		{"cancelled by itself", t.Context(), nil, fails(context.Canceled), command.ExitFailure, "tool: context canceled\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &cobra.Command{Use: "tool", RunE: tt.run}
			c.Flags().Bool("insecure", false, "")
			var stdout, stderr bytes.Buffer
			if code := command.Execute(tt.ctx, c, tt.args, &stdout, &stderr); code != tt.code || stderr.String() != tt.stderr {
				t.Errorf("exit code %d, stderr %q, want %d, %q", code, &stderr, tt.code, tt.stderr)
			}
		})
	}
}

// TestServesUntilStopped: stopping a serving command is no failure, and an error is; a serving command
// does not affect the others.
func TestServesUntilStopped(t *testing.T) {
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	canceled := func(c *cobra.Command, _ []string) error { return c.Context().Err() }
	tree := func() *cobra.Command {
		root := command.Serves(&cobra.Command{Use: "tool", RunE: canceled})
		root.AddCommand(command.Serves(&cobra.Command{Use: "serve", RunE: canceled}),
			command.Serves(&cobra.Command{Use: "fail", RunE: func(*cobra.Command, []string) error { return errors.New("port in use") }}),
			&cobra.Command{Use: "work", RunE: canceled})
		return root
	}
	for name, want := range map[string]struct {
		code   int
		stderr string
	}{
		"": {command.ExitOK, ""}, "serve": {command.ExitOK, ""},
		"fail": {command.ExitFailure, "tool: port in use\n"}, "work": {command.ExitFailure, "tool: interrupted\n"},
	} {
		var stderr bytes.Buffer
		if code := command.Execute(stopped, tree(), strings.Fields(name), io.Discard, &stderr); code != want.code || stderr.String() != want.stderr {
			t.Errorf("%q: exit code %d, stderr %q, want %d, %q", name, code, &stderr, want.code, want.stderr)
		}
	}
}

func TestUnknownSubcommandIsUsage(t *testing.T) {
	root := &cobra.Command{Use: "tool"}
	root.AddCommand(&cobra.Command{Use: "demo", RunE: func(*cobra.Command, []string) error { return nil }})
	for _, args := range [][]string{{"demon"}, {"demo", "extra"}, {"demo", "--flag"}} {
		var stderr bytes.Buffer
		if code := command.Execute(t.Context(), root, args, io.Discard, &stderr); code != command.ExitUsage || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: exit code %d, stderr %q", args, code, &stderr)
		}
	}
}

func TestFlags(t *testing.T) {
	var log command.Log
	c := &cobra.Command{Use: "tool", RunE: func(c *cobra.Command, _ []string) error {
		logger, err := log.Logger(c.ErrOrStderr())
		if err == nil {
			logger.Debug("hello", "at", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, "to", (*url.URL)(nil), "took", 1500*time.Millisecond,
				"reason", reason(1), "since", time.Unix(0, 0).UTC(), "level", slog.LevelWarn, "error", bothError{}, "n", 7)
		}
		return err
	}}
	command.LogFlags(c.Flags(), &log)
	var stderr bytes.Buffer
	args := []string{"--log-level=debug"}
	want := `"msg":"hello","at":"127.0.0.1:80","to":"<nil>","took":"1.5s","reason":"reason 1","since":"1970-01-01T00:00:00Z","level":"WARN","error":"an error","n":7}`
	if code := command.Execute(t.Context(), c, args, io.Discard, &stderr); code != command.ExitOK || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit code %d, stderr %q, want %s", code, &stderr, want)
	}
	if code := command.Execute(t.Context(), c, []string{"--log-level=loud"}, io.Discard, io.Discard); code != command.ExitUsage {
		t.Errorf("--log-level=loud: exit code %d", code)
	}
}

// reason is a number that has a name.
type reason uint8

func (r reason) String() string { return fmt.Sprintf("reason %d", uint8(r)) }

// bothError is an error with a String of its own.
type bothError struct{}

func (bothError) Error() string  { return "an error" }
func (bothError) String() string { return "a string" }

func TestBytes(t *testing.T) {
	for text, want := range map[string]struct {
		n      command.Bytes
		string string
	}{
		"0": {0, "0"}, "17": {17, "17B"}, "5B": {5, "5B"}, "1024": {1024, "1KiB"},
		"20MiB": {20 << 20, "20MiB"}, "1536KiB": {1536 << 10, "1536KiB"}, "3GiB": {3 << 30, "3GiB"},
	} {
		var b command.Bytes
		if err := b.Set(text); err != nil || b != want.n || b.String() != want.string {
			t.Errorf("Set(%q): %d = %q, %v", text, b, b.String(), err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5MiB", "20M", "9223372036854775807KiB", "1 MiB"} {
		b := command.Bytes(7)
		if err := b.Set(text); err == nil || b != 7 {
			t.Errorf("Set(%q): %d, %v", text, b, err)
		}
	}
}

// Messages for users contain flags and values, and no package names.
func TestOneLine(t *testing.T) {
	for message, want := range map[string]string{
		"--nodes: demo: Nodes = -1: invalid configuration: want 1 to 5000":                       "--nodes -1: want 1 to 5000",
		"--energy-model: source: Idle = 120: must be in [0, Max]":                                "--energy-model: Idle = 120: must be in [0, Max]",
		"ask x: 404 Not Found: plugin: no pod a/b":                                               "ask x: 404 Not Found: no pod a/b",
		"deploy: view: Components = nope: invalid configuration or input: no":                    "Components = nope: no",
		"unknown command \"tp\"\n\nDid you mean this?\n\ttop\n":                                  "unknown command \"tp\"; did you mean top?",
		"invalid argument \"x\" for \"--pods\": strconv.ParseInt: parsing \"x\": invalid syntax": "invalid argument \"x\" for \"--pods\": not a whole number",
		"the scheduler: ask 127.0.0.1:1: refused; node worker-1: away":                           "the scheduler: ask 127.0.0.1:1: refused; node worker-1: away",
	} {
		if got := command.OneLine(errors.New(message)); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}

// Prefixes with the names of the workspace's packages are removed.
func TestOneLineNamesNoPackage(t *testing.T) {
	clause := regexp.MustCompile(`(?m)^package (\w+)`)
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := string(clause.FindSubmatch(source)[1])
		if !regexp.MustCompile(`(?:errors\.New|fmt\.Errorf|fmt\.Sprintf)\("` + name + `: `).Match(source) {
			return nil
		}
		if got := command.OneLine(errors.New(name + ": it failed")); got != "it failed" {
			t.Errorf("error of %s: got %q", path, got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A group of commands refuses an unknown one.
func TestUnknownCommandOfAGroupIsUsage(t *testing.T) {
	root, group := &cobra.Command{Use: "tool"}, &cobra.Command{Use: "group"}
	run := func(*cobra.Command, []string) error { return nil }
	group.AddCommand(&cobra.Command{Use: "show NAME", RunE: run, Args: cobra.ExactArgs(1)})
	root.AddCommand(group)
	for args, want := range map[string]string{
		"group shw x": "tool: unknown command \"shw\" for \"tool group\"; did you mean show?\n",
		"group show":  "tool: accepts 1 arg(s), received 0: tool group show NAME [flags]\n",
	} {
		var stderr bytes.Buffer
		if code := command.Execute(t.Context(), root, strings.Fields(args), io.Discard, &stderr); code != command.ExitUsage || stderr.String() != want {
			t.Errorf("%q: got exit code %d, stderr %q, want %q", args, code, &stderr, want)
		}
	}
}
