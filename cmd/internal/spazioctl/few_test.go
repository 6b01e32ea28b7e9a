package spazioctl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/check"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
)

// Of many similar lines a few are printed, with the number of the others.
func TestManyLinesAreCounted(t *testing.T) {
	var problems []deploy.Problem
	var details []string
	for i := range 83 {
		problems = append(problems, deploy.Problem{About: "rights", Text: fmt.Sprint("create kind-", i)})
		details = append(details, fmt.Sprintf("node-%d: no agent", i))
	}
	problems = append(problems, deploy.Problem{About: "images", Text: "no registry is given"})
	for name, printed := range map[string]string{
		"install": spazioctl.Obstacles(problems),
		"check":   spazioctl.Checked(check.Report{Results: []check.Result{{Name: "nodes", Status: check.Failed, Text: "x", Details: details}}}),
	} {
		if lines := strings.Count(printed, "\n"); lines > 12 || !strings.Contains(printed, "and 75 more: --output json lists all") {
			t.Errorf("%s prints %d lines:\n%s", name, lines, printed)
		}
	}
	if printed := spazioctl.Obstacles(problems); !strings.Contains(printed, "images: no registry") || !strings.Contains(printed, "administrator") {
		t.Errorf("a kind or the advice is missing:\n%s", printed)
	}
}
