package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// candidates are what is compared, in the order of sample.channels.
var candidates = [...]string{"runnable", "pressure", "demand", "delay"}

// report is everything measured. Its JSON names are for scripts.
type report struct {
	Machine machine `json:"machine"`
	Rows    []row   `json:"rows"`
}

type machine struct {
	CPUs   int    `json:"cpus"`
	Kernel string `json:"kernel"`
}

func describe() machine {
	cpus, _ := onlineCPUs() // the trials fail on the same error
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return machine{CPUs: cpus, Kernel: strings.TrimSpace(string(kernel))}
}

// row is what one trial gave; means are over time.
type row struct {
	Load  string `json:"load"`
	Class string `json:"class"`
	Pods  int    `json:"pods"`
	// Tasks is the mean number of tasks that ran or waited, Used that of CPUs that
	// the pods used.
	Tasks       float64 `json:"tasks"`
	Used        float64 `json:"used"`
	Utilisation float64 `json:"utilisation"`
	// Wanted is what the channel should be.
	Wanted     float64            `json:"wanted"`
	Candidates map[string]channel `json:"candidates"`
}

// channel is a candidate's mean and the 10th and 90th percentile of its samples.
type channel struct {
	Mean float64 `json:"mean"`
	P10  float64 `json:"p10"`
	P90  float64 `json:"p90"`
}

func summarise(t trial, samples []sample) row {
	r := row{Load: t.load, Class: t.class, Pods: t.pods, Candidates: map[string]channel{}}
	total := 0.
	var means [len(candidates)]float64
	for _, s := range samples {
		total += s.seconds
		r.Tasks += s.seconds * (s.running + s.waited)
		r.Used += s.seconds * s.used
		r.Utilisation += s.seconds * s.utilisation
		for i, y := range s.channels {
			means[i] += s.seconds * y
		}
	}
	r.Tasks, r.Used, r.Utilisation = r.Tasks/total, r.Used/total, r.Utilisation/total
	cpus, _ := onlineCPUs()
	r.Wanted = min(1, r.Tasks/(2*float64(cpus)))
	for i, name := range candidates {
		values := make([]float64, len(samples))
		for j, s := range samples {
			values[j] = s.channels[i]
		}
		slices.Sort(values)
		r.Candidates[name] = channel{means[i] / total, values[len(values)/10], values[len(values)*9/10]}
	}
	return r
}

// bar is how far a channel's mean may be from what it should be.
const bar = .05

func (r report) write(w io.Writer, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	fmt.Fprintf(w, "%d CPUs, Linux %s; channel = (utilisation + waiting)/2: mean, 10th–90th percentile\n\n", r.Machine.CPUs, r.Machine.Kernel)
	fmt.Fprintf(w, "%-8s %-10s %4s %6s %6s %5s %6s", "load", "class", "pods", "tasks", "used", "util", "wanted")
	for _, name := range candidates {
		fmt.Fprintf(w, "  %-15s", name)
	}
	fmt.Fprintln(w)
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%-8s %-10s %4d %6.2f %6.2f %5.2f %6.3f", row.Load, row.Class, row.Pods, row.Tasks, row.Used, row.Utilisation, row.Wanted)
		for _, name := range candidates {
			c := row.Candidates[name]
			fmt.Fprintf(w, "  %.3f %.2f–%.2f", c.Mean, c.P10, c.P90)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\nfurthest from what is wanted (bar %.2f), and whether it never falls as pods are added:\n", bar)
	for _, name := range candidates {
		worst, monotone := r.judge(name)
		fmt.Fprintf(w, "  %-10s %.3f  %v\n", name, worst, monotone)
	}
	return nil
}

// judge returns a candidate's largest error, and whether its mean grows with the
// pods of each load and class, to within what noise makes of it.
func (r report) judge(name string) (worst float64, monotone bool) {
	const noise = .01
	monotone = true
	for i, row := range r.Rows {
		c := row.Candidates[name]
		worst = max(worst, math.Abs(c.Mean-row.Wanted))
		if i == 0 {
			continue
		}
		last := r.Rows[i-1]
		if last.Load == row.Load && last.Class == row.Class && last.Pods < row.Pods && c.Mean < last.Candidates[name].Mean-noise {
			monotone = false
		}
	}
	return worst, monotone
}
