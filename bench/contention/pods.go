package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// The cpu.shares of the classes and of pods in them: those of a kubelet for pods
// without requests, and with one of 100 millicores each.
const (
	leastShares    = 2
	weightedShares = 1024
	podShares      = 102
)

// pods are the running pods of a trial.
type pods struct {
	tree     *tree
	groups   []string // of the pods
	children []*exec.Cmd
	stdin    []io.Closer
}

// startPods runs so many pods in a tree of their own. The caller must stop them,
// after an error too.
func startPods(self string, t trial) (*pods, error) {
	p := &pods{}
	var err error
	if p.tree, err = newTree(comparedTree); err != nil {
		return p, err
	}
	for i := range t.pods {
		class, shares := t.class, podShares
		if class == "mixed" {
			class = classes[i%2]
		}
		if class == "besteffort" {
			shares = leastShares
		}
		if err := p.start(self, loadNamed(t.load), fmt.Sprintf("%s/pod%d", class, i), shares); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *pods) start(self string, l load, group string, shares int) error {
	container := group + "/container"
	if err := errors.Join(p.tree.add(group, shares), p.tree.add(container, shares)); err != nil {
		return err
	}
	if l.limit > 0 {
		if err := p.tree.limit(group, l.limit); err != nil {
			return err
		}
	}
	p.groups = append(p.groups, group)
	cmd := exec.Command(self, "load", l.name)
	cmd.Stderr, cmd.SysProcAttr = os.Stderr, childAttr()
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.children, p.stdin = append(p.children, cmd), append(p.stdin, in)
	if err := p.tree.join(container, cmd.Process.Pid); err != nil {
		return err
	}
	_, err = in.Write([]byte{'\n'})
	return err
}

// stop ends the pods and takes their groups away. All are killed before one is
// awaited: beside those of the weighted class a BestEffort pod gets no CPU to die
// with.
func (p *pods) stop() error {
	for _, c := range p.children {
		_ = c.Process.Kill() // it may have ended by itself, which the rates show
	}
	for i, c := range p.children {
		_ = c.Wait()
		_ = p.stdin[i].Close()
	}
	if p.tree == nil {
		return nil
	}
	return p.tree.remove()
}
