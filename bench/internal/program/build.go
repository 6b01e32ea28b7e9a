package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Build compiles a program of cmd, as spazio-agent, into dir and returns its path.
// What the compiler says goes to progress. It needs the workspace that holds the
// working directory.
func Build(ctx context.Context, name, dir string, progress io.Writer) (string, error) {
	path := filepath.Join(dir, name)
	fmt.Fprintf(progress, "building %s\n", name)
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, "github.com/spazio-scheduler/spazio/cmd/"+name)
	// GOWORK=off of a caller that looks at one module is not meant for cmd, which
	// needs its siblings.
	cmd.Env = append(os.Environ(), "GOWORK=")
	cmd.Stdout, cmd.Stderr = progress, progress
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, nil
}

// Sleep returns after d, or before that with the reason why ctx has ended.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
