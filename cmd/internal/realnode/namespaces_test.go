//go:build realnode && linux

package realnode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// outside builds programs and images, which needs the network, starts the tests in namespaces of their
// own, and checks what is left of them.
func outside() int {
	if os.Geteuid() != 0 {
		complain("start", errors.New("namespaces and cgroups want root"))
		return 1
	}
	unlock, err := alone()
	if err != nil {
		complain("start", err)
		return 1
	}
	defer unlock()
	before, err := landscape()
	if err == nil {
		err = removeRuns()
	}
	if err != nil {
		complain("what an earlier run left", err)
		return 1
	}
	work, err := os.MkdirTemp("", workPrefix)
	if err != nil {
		complain("make a directory", err)
		return 1
	}
	code := 1
	if err := build(work); err != nil {
		complain("build", err)
	} else if code, err = runFirst(work); err != nil {
		complain("run", err)
		code = 1
	}
	if code != 0 {
		complain("keep the logs", keepLogs(work))
	}
	err = removeRuns()
	after, err2 := landscape()
	if err = errors.Join(err, err2); err == nil && !slices.Equal(before, after) {
		err = fmt.Errorf("the machine has\n%s\nwhere it had\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	if err != nil {
		complain("what the run left", err)
		code = 1
	}
	return code
}

// alone holds a lock against a second run: there is a single cgroup kubepods.
func alone() (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(os.TempDir(), "spazio-realnode.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another run holds %s: %w", file.Name(), err), file.Close())
	}
	return func() { complain("unlock", file.Close()) }, nil
}

// keepLogs copies the logs of a failed run's programs.
func keepLogs(work string) error {
	dir := filepath.Join(os.TempDir(), "realnode-logs")
	logs, err := filepath.Glob(filepath.Join(work, "*.log"))
	if err = errors.Join(err, os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		return err
	}
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(log)), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	fmt.Printf("realnode: the logs are in %s\n", dir)
	return nil
}

// workPrefix is the prefix of the runs' temporary directories. It is short, since a socket lies deep in
// them.
const workPrefix = "spazio-realnode-"

// runFirst starts the PID namespace and waits for its end. It cannot outlive this process.
func runFirst(work string) (int, error) {
	// The kernel kills the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := again("init")
	c.Env = append(c.Env, workVariable+"="+work)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
	}
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil
	}
	return 0, err
}

// again returns this program with its arguments in another role.
func again(as string) *exec.Cmd {
	c := exec.Command(os.Args[0], os.Args[1:]...)
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, role+"=") }), role+"="+as)
	return c
}

// first is process 1: it prepares the mounts, starts the tests and reaps orphaned processes, above all
// containerd's shims, until the tests have ended. Its end ends all others.
func first() int {
	if err := mounts(os.Getenv(workVariable)); err != nil {
		complain("mounts", err)
		return 1
	}
	c := again("tests")
	tests, err := os.StartProcess("/proc/self/exe", c.Args, &os.ProcAttr{Env: c.Env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		complain("start the tests", err)
		return 1
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			complain("wait for the tests", err)
			return 1
		case pid == tests.Pid && status.Exited():
			return status.ExitStatus()
		case pid == tests.Pid:
			return 1
		}
	}
}

// mounts makes this mount namespace private, and redirects all that a node writes outside of its
// directories into the run's.
func mounts(work string) error {
	// Mounts made here reach pods, and never the machine.
	for _, flag := range []uintptr{syscall.MS_SLAVE, syscall.MS_SHARED} {
		if err := syscall.Mount("", "/", "", flag|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("propagation: %w", err)
		}
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	for _, dir := range []string{"/var/lib", "/var/log"} {
		own := filepath.Join(work, filepath.Base(dir))
		if err := os.Mkdir(own, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(own, dir, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// landscape is what a run must leave unchanged besides cgroups: mounts and links.
func landscape() ([]string, error) {
	var lines []string
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		lines = append(lines, "mount "+strings.Fields(line)[4])
	}
	links, err := os.ReadDir("/sys/class/net")
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		lines = append(lines, "link "+link.Name())
	}
	slices.Sort(lines)
	return lines, nil
}
