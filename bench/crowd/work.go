package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// A load is the work of a task: bytes are what it walks through, 0 for none.
type load struct {
	name  string
	bytes int
}

var loads = []load{{name: "spin"}, {name: "cache", bytes: 1 << 20}, {name: "memory", bytes: 16 << 20}}

func loadNames() []string {
	names := make([]string, len(loads))
	for i, l := range loads {
		names[i] = l.name
	}
	return names
}

func loadNamed(name string) load {
	return loads[slices.IndexFunc(loads, func(l load) bool { return l.name == name })]
}

// prepare returns a function that takes one step of the work, a fraction of a
// millisecond.
func (l load) prepare() func() {
	if l.bytes == 0 {
		x := uint64(1)
		return func() {
			for range 1 << 16 {
				x = x*6364136223846793005 + 1442695040888963407
			}
			runtime.KeepAlive(x) // or the compiler drops the work
		}
	}
	next := cycle(l.bytes)
	at := uint32(0)
	return func() {
		for range 1 << 12 {
			at = next[at]
		}
		runtime.KeepAlive(at)
	}
}

// cycle returns a ring through all cache lines of an array of so many bytes, in
// random order: next[i] is what comes after i.
func cycle(bytes int) []uint32 {
	const line = 64 / 4 // numbers a cache line
	order := rand.New(rand.NewPCG(1, 2)).Perm(bytes / 64)
	next := make([]uint32, bytes/4)
	for i, at := range order {
		next[at*line] = uint32(order[(i+1)%len(order)] * line)
	}
	return next
}

// done is what a task says at its end.
type done struct {
	// Began is when its work began, by the machine's clock.
	Began time.Time `json:"began"`
	Steps int       `json:"steps"`
	// CPU is the time of the work, in seconds; Switches counts how often the task
	// was taken off its CPU in it.
	CPU      float64 `json:"cpu"`
	Switches int64   `json:"switches"`
}

// perform takes steps of the load until enough says so.
func perform(l load, enough func(steps int) (bool, error)) (done, error) {
	runtime.GOMAXPROCS(1)
	step := l.prepare()
	d := done{Began: time.Now()}
	before, err := spent()
	if err != nil {
		return d, err
	}
	for {
		stop, err := enough(d.Steps)
		if err != nil {
			return d, err
		}
		if stop {
			break
		}
		step()
		d.Steps++
	}
	after, err := spent()
	d.CPU, d.Switches = (after.cpu - before.cpu).Seconds(), after.switches-before.switches
	return d, err
}

// usage is what this process has taken.
type usage struct {
	cpu      time.Duration
	switches int64
}

// taskCommand is what a task runs.
func taskCommand() *cobra.Command {
	return &cobra.Command{
		Use: "task LOAD STEPS|DURATION", Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || !slices.Contains(loadNames(), args[0]) {
				return fmt.Errorf("no task %q", args)
			}
			_, err := until(args[1])
			return err
		},
		RunE: func(c *cobra.Command, args []string) error {
			enough, err := until(args[1])
			if err != nil {
				return err
			}
			d, err := perform(loadNamed(args[0]), enough)
			if err != nil {
				return err
			}
			return json.NewEncoder(c.OutOrStdout()).Encode(d)
		},
	}
}

// until ends a task after so many steps, or after its steps have taken so much CPU
// time.
func until(text string) (func(steps int) (bool, error), error) {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return func(steps int) (bool, error) { return steps >= n, nil }, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return nil, fmt.Errorf("%q is neither a number of steps nor a time", text)
	}
	var start usage
	return func(steps int) (bool, error) {
		now, err := spent()
		if steps == 0 {
			start = now
		}
		return now.cpu-start.cpu >= d, err
	}, nil
}

// errSilent is a task that ended without a word.
var errSilent = errors.New("the task said nothing")

func readDone(r io.Reader) (done, error) {
	var d done
	err := json.NewDecoder(r).Decode(&d)
	if errors.Is(err, io.EOF) {
		err = errSilent
	}
	return d, err
}
