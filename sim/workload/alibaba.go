package workload

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/spazio-scheduler/spazio/sim"
)

// CheckTraces returns an ErrTrace if a directory lacks the folder of a trace that has public files.
func CheckTraces(dir fs.FS) error {
	for _, name := range []string{Alibaba2018, OpenB2023} {
		if info, err := fs.Stat(dir, name); err != nil || !info.IsDir() {
			return fmt.Errorf("%w: no folder %s", ErrTrace, name)
		}
	}
	return nil
}

// ReadTrace reads Alibaba2018 or OpenB2023 from a directory of the public files: of the first
// the quantiles as CSV of p and value (instance_cpu.csv, instance_mem.csv, instance_duration.csv,
// instance_num.csv, task_cpu.csv, task_mem.csv), of the second openb_pod_list_default.csv, of whose
// pods only what they use is drawn. A malformed file is ErrTrace.
func ReadTrace(name string, dir fs.FS) (Trace, error) {
	switch name {
	case Alibaba2018:
		var q [6][]quantile
		for i, name := range []string{
			"instance_cpu", "instance_mem", "task_cpu", "task_mem", "instance_duration", "instance_num",
		} {
			var err error
			if q[i], err = readFile(dir, name+".csv", readQuantiles); err != nil {
				return nil, err
			}
		}
		u := usage{cpu: q[0], memory: q[1], plannedCPU: q[2], plannedMemory: q[3], life: q[4], instances: q[5]}
		return drawn(u.pods), nil
	case OpenB2023:
		read, err := readFile(dir, "openb_pod_list_default.csv", readOpenB)
		if err != nil {
			return nil, err
		}
		return drawn(func(rng *rand.Rand) []sim.Pod {
			pods := slices.Clone(read)
			useOfPlan(rng, pods)
			return pods
		}), nil
	}
	return nil, refuse("trace", name, fmt.Sprintf("%s or %s", Alibaba2018, OpenB2023))
}

// readQuantiles takes values below 0, which come from the bins of a histogram, for 0.
func readQuantiles(r io.Reader) (all []quantile, err error) {
	err = ReadRows(r, func(row Row) error {
		p, err := row.Number("p")
		if err == nil && (p > 1 || len(all) > 0 && p <= all[len(all)-1].p) {
			err = fmt.Errorf("%v is not the next share", p)
		}
		if err != nil {
			return err
		}
		cell, err := row.cell("value")
		if err != nil {
			return err
		}
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("value %q", cell)
		}
		all = append(all, quantile{p, math.Max(v, 0)})
		return nil
	})
	if err == nil && len(all) < 2 {
		err = fmt.Errorf("%w: %d quantiles", ErrTrace, len(all))
	}
	return all, err
}

// readOpenB reads the pods that were scheduled; those of one request are one owner's.
func readOpenB(r io.Reader) (pods []sim.Pod, err error) {
	err = ReadRows(r, func(row Row) error {
		if cell, err := row.cell("scheduled_time"); err != nil || cell == "" {
			return err
		}
		var v [5]float64
		for i, column := range []string{"cpu_milli", "memory_mib", "creation_time", "deletion_time", "scheduled_time"} {
			var err error
			if v[i], err = row.Number(column); err != nil {
				return fmt.Errorf("%s: %w", column, err)
			}
		}
		pods = append(pods, planned(v[0], v[1], v[2], v[3]-v[4]))
		return nil
	})
	if err == nil && len(pods) < 2 {
		err = fmt.Errorf("%w: %d pods that were scheduled", ErrTrace, len(pods))
	}
	slices.SortStableFunc(pods, func(a, b sim.Pod) int { return cmp.Compare(a.Created, b.Created) })
	return pods, err
}
