package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// schedulers are the minor versions of Kubernetes, of major 1 and in a row, whose scheduler
// there is an image of: the last is what the tree is written for, and the default.
var schedulers = []int{35, 36, 37}

// Schedulers are the minor versions of Kubernetes, such as 1.35, that there are images of
// the scheduler for, the oldest first. The last is the default of [Config.Kubernetes].
func Schedulers() []string {
	var names []string
	for _, minor := range schedulers {
		names = append(names, minorName(minor))
	}
	return names
}

func minorName(minor int) string { return fmt.Sprintf("1.%d", minor) }

// DefaultScheduler is the last of Schedulers.
func DefaultScheduler() string { return minorName(schedulers[len(schedulers)-1]) }

// Version is the API server's.
type Version struct {
	Major, Minor int
	// Text is what it calls itself.
	Text string
}

// ErrVersion is wrapped for an API server that Spazio, or the given scheduler, does not support.
var ErrVersion = errors.New("unsupported version of Kubernetes")

// Version asks for the API server's.
func (c *Cluster) Version(context.Context) (Version, error) {
	info, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return Version{}, fmt.Errorf("deploy: the API server's version: %w", err)
	}
	v := Version{Text: info.GitVersion}
	v.Major, _ = strconv.Atoi(info.Major)
	v.Minor, _ = strconv.Atoi(strings.TrimRight(info.Minor, "+"))
	return v, nil
}

// Known reports whether the server was built with its version: one that was not
// calls itself v0.0.0-master.
func (v Version) Known() bool { return v.Major > 0 }

// Scheduler is the newest of Schedulers that may serve the API server, which for one
// whose version is not known is the default. Errors wrap ErrVersion.
func (v Version) Scheduler() (string, error) {
	for _, minor := range slices.Backward(schedulers) {
		if v.takes(minor) {
			return minorName(minor), nil
		}
	}
	return "", fmt.Errorf("%w: schedulers are of %s, for API servers of %s to 1.%d, and this one is %s", ErrVersion,
		strings.Join(Schedulers(), ", "), minorName(schedulers[0]), schedulers[len(schedulers)-1]+1, v.Text)
}

// Takes returns an error that wraps ErrVersion if a scheduler of a minor version of Kubernetes, such
// as 1.35, may not serve the API server. The error names one that may.
func (v Version) Takes(scheduler string) error {
	text, ok := strings.CutPrefix(scheduler, "1.")
	minor, err := strconv.Atoi(text)
	if !ok || err != nil {
		return refuse("Kubernetes", scheduler, "a minor version, such as "+DefaultScheduler())
	}
	if v.takes(minor) {
		return nil
	}
	instead, err := v.Scheduler()
	if err != nil {
		return err
	}
	how := "newer"
	if v.Minor > minor {
		how = "more than a minor version older"
	}
	return fmt.Errorf("%w: a scheduler of %s is %s than the API server, which is %s: one of %s serves it", ErrVersion, scheduler, how, v.Text, instead)
}

// takes: a scheduler may be a minor version older than the API server, and is never newer.
func (v Version) takes(minor int) bool {
	return !v.Known() || v.Major == 1 && (v.Minor == minor || v.Minor == minor+1)
}
