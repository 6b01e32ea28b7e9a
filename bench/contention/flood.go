package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/node"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/telemetry"
)

// flood is the command of that name.
type flood struct {
	pods, floods int
	work         time.Duration
}

func floodCommand() *cobra.Command {
	var f flood
	c := &cobra.Command{
		Use:   "flood",
		Short: "Overload this machine beside an agent and see what it makes of it",
		Args:  program.Valid(func() error { return f.validate() }),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout())
		},
	}
	c.Flags().IntVar(&f.pods, "pods", 30, "pods of a flood and of the batch")
	c.Flags().IntVar(&f.floods, "floods", 3, "floods ahead of the batch")
	c.Flags().DurationVar(&f.work, "work", 2*time.Second, "CPU time of a pod")
	return c
}

func (f flood) validate() error {
	switch {
	case f.pods < 1 || f.pods > 1000:
		return fmt.Errorf("--pods: %d is not in 1 to 1000", f.pods)
	case f.floods < 0:
		return fmt.Errorf("--floods: %d is negative", f.floods)
	case f.work <= 0:
		return fmt.Errorf("--work: %v is not positive", f.work)
	}
	return nil
}

func (f flood) run(ctx context.Context, out io.Writer) (err error) {
	// The kernel ties the pods' lives to the thread that starts them.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	runtime.GOMAXPROCS(1) // as the agent's
	n := &floodedNode{flood: f}
	if n.self, err = os.Executable(); err != nil {
		return err
	}
	n.tree, err = newTree(kubeletTree)
	defer func() { err = errors.Join(err, n.tree.remove()) }()
	if err != nil {
		return err
	}
	reader, err := telemetry.NewReader(telemetry.Config{})
	if err != nil {
		return err
	}
	defer reader.Close()
	cores := reader.Sizes()[0]
	stop, err := n.startAgent(ctx, reader)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for i := range f.floods {
		if err := n.drown(ctx); err != nil {
			return err
		}
		fmt.Fprintf(out, "flood %d: %s\n", i+1, n.judge(cores))
	}
	before := n.judge(cores)
	most, took, err := n.batch(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "batch: %d at once, %.1f s; %s\n", most, took.Seconds(), n.judge(cores))
	if !before.right {
		return errors.New("the cost of a pod is neither right nor doubted")
	}
	if float64(most) > cores+3 {
		return fmt.Errorf("%d pods at once on %v cores", most, cores)
	}
	return nil
}

// judgement is what the agent takes a pod to cost.
type judgement struct {
	cost, truth float64
	doubted     bool
	right       bool
}

func (j judgement) String() string {
	doubt := "known"
	if j.doubted {
		doubt = "doubted"
	}
	return fmt.Sprintf("a pod costs %.3f of the CPU (%s), in truth %.3f", j.cost, doubt, j.truth)
}

// floodedNode is this machine with an agent and the scheduler of its pods.
type floodedNode struct {
	flood
	self    string
	tree    *tree
	started int
	ended   chan error

	agent *node.Agent

	mu     sync.Mutex
	ledger reserve.Ledger
	report agent.Report
	signal reserve.Signal
}

const floodedName = "node"

// startAgent runs an agent on this machine; stop ends it.
func (n *floodedNode) startAgent(ctx context.Context, reader *telemetry.Reader) (stop func() error, err error) {
	pods, err := telemetry.NewCgroupPods(telemetry.CgroupConfig{})
	if err != nil {
		return nil, err
	}
	n.agent, err = node.New(node.Config{Name: floodedName, Meter: reader, Pods: pods, OnReport: n.reported})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- n.agent.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

func (n *floodedNode) reported(r agent.Report) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.report = r
	n.ledger.Absorb(floodedName, r.Incarnation, r.Absorbed, time.Now())
	n.signal = r.Signal()
}

func (n *floodedNode) judge(cores float64) judgement {
	n.mu.Lock()
	defer n.mu.Unlock()
	j := judgement{cost: n.report.Channels[0].Cost, truth: 1 / (2 * cores), doubted: n.report.Flags.CostUnknown}
	j.right = j.doubted || math.Abs(j.cost/j.truth-1) <= .25
	return j
}

// start runs one more pod, whose end goes to n.ended.
func (n *floodedNode) start() (uid string, err error) {
	n.started++
	uid = fmt.Sprintf("%08x-0000-4000-8000-%012d", n.started, n.started) // a pod's key is its UID's beginning
	pod := "besteffort/pod" + uid
	container := fmt.Sprintf("%s/%064x", pod, n.started)
	cmd := exec.Command(n.self, "load", jobLoad, n.work.String())
	cmd.Stderr, cmd.SysProcAttr = os.Stderr, childAttr()
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	if err := errors.Join(n.tree.add(pod, leastShares), n.tree.add(container, leastShares), cmd.Start()); err != nil {
		return "", err
	}
	if err := n.tree.join(container, cmd.Process.Pid); err != nil {
		return "", errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	if _, err := in.Write([]byte{'\n'}); err != nil {
		return "", err
	}
	go func() {
		err := cmd.Wait()
		n.mu.Lock()
		defer n.mu.Unlock()
		n.ledger.Progress(reserve.KeyOf(uid), reserve.Ended)
		n.ledger.Delete(reserve.KeyOf(uid), time.Now())
		n.ended <- errors.Join(err, n.tree.drop(container), n.tree.drop(pod))
	}()
	return uid, nil
}

// drown runs all pods at once and waits until they are gone.
func (n *floodedNode) drown(ctx context.Context) error {
	n.ended = make(chan error, n.pods)
	for range n.pods {
		if _, err := n.start(); err != nil {
			return err
		}
	}
	for range n.pods {
		if err := n.wait(ctx); err != nil {
			return err
		}
	}
	return program.Sleep(ctx, 3*time.Second) // the agent sees an idle node
}

func (n *floodedNode) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-n.ended:
		return err
	}
}

// batch runs the pods as the agent has room for them.
func (n *floodedNode) batch(ctx context.Context) (most int, took time.Duration, err error) {
	began := time.Now()
	n.ended = make(chan error, n.pods)
	running := 0
	for waiting := n.pods; waiting > 0 || running > 0; {
		for waiting > 0 && n.admits() {
			uid, err := n.start()
			if err != nil {
				return most, 0, err
			}
			if err := n.bound(uid); err != nil {
				return most, 0, err
			}
			waiting--
			running++
			most = max(most, running)
		}
		// A report may come meanwhile, and pods may end.
		if err := program.Sleep(ctx, 10*time.Millisecond); err != nil {
			return most, 0, err
		}
		for ended := true; ended; {
			select {
			case err := <-n.ended:
				if err != nil {
					return most, 0, err
				}
				running--
			default:
				ended = false
			}
		}
	}
	return most, time.Since(began), nil
}

func (n *floodedNode) admits() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	account := n.ledger.Account(floodedName)
	return reserve.Fits(account.Cap(n.signal, time.Now()), account.Flight(), reserve.TypicalPod(), reserve.Rules{}.WithDefaults()) == reserve.Admitted
}

func (n *floodedNode) bound(uid string) error {
	key := reserve.KeyOf(uid)
	n.mu.Lock()
	err := n.ledger.Reserve(floodedName, key, reserve.TypicalPod(), time.Now())
	n.ledger.Confirm(key)
	n.mu.Unlock()
	n.agent.Bound(agent.Bind{Pod: key, InitsKnown: true})
	return err
}
