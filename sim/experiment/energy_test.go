package experiment_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/experiment"
)

// In the experiments on energy a scheduler's name determines what it places by, whatever else is
// set.
func TestEnergySchedulers(t *testing.T) {
	c := cases(t, "e3", experiment.Params{Set: []string{"ranking.tie-tolerance=0.7"}}, experiment.Sweep{})[0]
	ours := func(weight float64, o energy.Objective) sim.Spazio {
		s := sim.Spazio{}.WithEnergy(weight, o)
		s.Ranking.TieTolerance = .7
		return s
	}
	sleeping := ours(.5, energy.Marginal)
	sleeping.IdleNodesPowerDown = true
	want := map[string]sim.Scheduler{
		experiment.Spazio: ours(.5, energy.Marginal), "energy-0": ours(0, energy.Marginal),
		"energy-0.25": ours(.25, energy.Marginal), "energy-1": ours(1, energy.Marginal), "energy-sleep": sleeping,
		"exec-0.25": ours(.25, energy.Remaining), "exec-0.5": ours(.5, energy.Remaining), "exec-1": ours(1, energy.Remaining),
		"most-allocated": sim.MostAllocated{}, "peaks": sim.Peaks{}, experiment.Default: sim.Default{},
	}
	got := map[string]sim.Scheduler{}
	for _, name := range experiment.EnergyField() {
		s, err := experiment.SchedulerOf(name, c.Params)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = s
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(profile.Config{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// In other experiments Spazio ignores energy.
	b1 := cases(t, "b1", experiment.Params{}, experiment.Sweep{})[0]
	if s, err := experiment.SchedulerOf(experiment.Spazio, b1.Params); err != nil || s.(sim.Spazio).Ranking.Energy != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// ranEnergy runs a small case and returns the metrics of the seed by scheduler.
func ranEnergy(t *testing.T, name string, schedulers ...string) map[string]map[string]float64 {
	t.Helper()
	c := cases(t, name, experiment.Params{Nodes: 2, Duration: 150, Pods: 40}, experiment.Sweep{Load: []float64{.4}, Work: []float64{5}})[:1]
	rows, err := experiment.Run(t.Context(), c, experiment.Options{Schedulers: schedulers, Seeds: []uint64{3}, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]float64{}
	for _, r := range rows {
		if all[r.Scheduler] == nil {
			all[r.Scheduler] = map[string]float64{}
		}
		all[r.Scheduler][r.Metric] = r.Value
	}
	return all
}

// Each experiment's nodes have its power: without load, and for a core-second.
func TestEnergyOfNodes(t *testing.T) {
	for name, want := range map[string]struct{ idle, low, high float64 }{
		// Two nodes in watts; of a core between 20 and 52.5 W, or 20 in the mean, or more at
		// low loads.
		"energy-unlike-nodes": {130, 20.5, 52}, "energy-requests": {130, 20.5, 52}, "energy-alike-nodes": {80, 20, 20}, "energy-concave": {80, 21, 40}, "energy-batch": {130, 20.5, 52},
	} {
		got := ranEnergy(t, name, experiment.Default)[experiment.Default]
		idle := 1000 * (got["energy"] - got["energy_dynamic"]) / want.idle
		if idle < got["makespan"]-1e-6 || idle > got["makespan"]+20 { // and until the first pod came
			t.Errorf("%s: idle for %v s, %v s from the first pod's creation", name, idle, got["makespan"])
		}
		// The core-seconds of the whole run, of the nodes' 8 cores.
		busy := got["utilisation"] * 8 * (idle + 5)
		if perCore := 1000 * got["energy_dynamic"] / busy; perCore < .98*want.low || perCore > 1.02*want.high {
			t.Errorf("%s: %v J a core-second, want %v to %v", name, perCore, want.low, want.high)
		}
	}
}

// PEAKS knows pods' demands only in energy-requests, and there prefers cheap nodes.
func TestDeclaredPodsSaveEnergyUnderPeaks(t *testing.T) {
	hidden, declared := ranEnergy(t, "e1", "peaks", experiment.Default), ranEnergy(t, "e2", "peaks", experiment.Default)
	ratio := func(rows map[string]map[string]float64) float64 {
		return rows["peaks"]["energy_dynamic"] / rows[experiment.Default]["energy_dynamic"]
	}
	if h, d := ratio(hidden), ratio(declared); d > .95 || h < .9 || d > h-.05 {
		t.Errorf("%v of the default's dynamic energy where pods declare nothing, %v where they do", h, d)
	}
}

// The targets are those of the experiments' own loads, and Spazio with another weight is not judged
// as a loss.
func TestJudgeEnergy(t *testing.T) {
	all := []experiment.Case{}
	for _, name := range []string{"e1", "e3", "e4"} {
		all = append(all, cases(t, name, experiment.Params{}, experiment.Sweep{})...)
	}
	var rows []experiment.Row
	for _, c := range all {
		for seed := range uint64(2) {
			for scheduler, of := range map[string]float64{experiment.Spazio: .95, experiment.Default: 1, "energy-1": .5, "exec-0.5": .5, "peaks": .7} {
				for _, metric := range []string{"energy", "slowdown_p99"} {
					rows = append(rows, experiment.Row{Experiment: c.Label, Scheduler: scheduler, Seed: seed, Metric: metric, Value: of * float64(10+seed)})
				}
			}
		}
	}
	var got []string
	for _, v := range experiment.Judge(all, rows, experiment.Spazio) {
		if math.Abs(v.Measured.Mean-.95) > 1e-9 {
			t.Errorf("%+v", v)
		}
		name, _, _ := strings.Cut(v.Experiment, "/work")
		_, load, _ := strings.Cut(v.Experiment, "load=")
		load, fleet, _ := strings.Cut(load, "/fleet=")
		got = append(got, fmt.Sprintf("%s at %s on %s: %s: %v", name, load, fleet, v.Claim, v.Holds))
	}
	var want []string
	for _, of := range []struct {
		at     string
		claims []string
	}{
		{"energy-unlike-nodes at 0.3", []string{"energy/default ≤ 0.88: false", "slowdown_p99/default ≤ 1.05: true"}},
		{"energy-unlike-nodes at 0.5", []string{"energy/default ≤ 0.9: false", "slowdown_p99/default ≤ 1.05: true"}},
		{"energy-unlike-nodes at 0.8", []string{"energy/default ≤ 0.99: true", "slowdown_p99/default ≤ 1.05: true"}},
		{"energy-alike-nodes at 0.5", []string{"energy/default ≤ 1.01: true", "energy/default ≥ 0.99: false"}},
		{"energy-concave at 0.5", []string{"energy/default ≤ 0.97: true"}},
	} {
		for _, fleet := range []string{"19x4", "20x16", "5x64", "16x4+8x16+2x64"} {
			for _, claim := range of.claims {
				want = append(want, fmt.Sprintf("%s on %s: %s", of.at, fleet, claim))
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	losses := experiment.Losses(all, rows, experiment.Spazio)
	for _, l := range losses {
		if l.Other != "peaks" {
			t.Errorf("%+v", l)
		}
	}
	if len(losses) != 2*len(all) {
		t.Errorf("%d losses", len(losses))
	}
}
