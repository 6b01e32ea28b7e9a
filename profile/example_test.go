package profile_test

import (
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
)

func ExampleHistogram() {
	h, err := profile.NewHistogram(profile.CPU, 24*time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	for minute := range 100 {
		cores := .2
		if minute%20 == 0 {
			cores = 1.5
		}
		if err := h.Add(at.Add(time.Duration(minute)*time.Minute), cores, 1); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("P50 %.2f, P98 %.2f cores\n", h.Quantile(.5), h.Quantile(.98))
	fmt.Println(h.Add(at, -1, 1))
	// Output:
	// P50 0.22, P98 1.51 cores
	// profile: value = -1: invalid configuration or input: must be finite and not negative
}

func ExamplePeaks() {
	// The series has two days in spans of an hour.
	p, err := profile.NewPeaks(time.Hour, 48)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	for hour, bytes := range []float64{1e8, 7e8, 2e8} {
		if err := p.Add(at.Add(time.Duration(hour)*time.Hour), bytes); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(p.Max(at.Add(2*time.Hour)), p.Max(at.Add(49*time.Hour)), p.Max(at.Add(51*time.Hour)))
	// Output: 7e+08 2e+08 0
}

// Three pods in a row with other demands than those before restart the evidence.
func ExampleProfile_Evidence() {
	p, err := profile.New(profile.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	for i, cores := range []float64{.5, .5, .5, 2, 2, 2} {
		err := p.Observe(at, profile.Window{
			Pod: fmt.Sprint("pod-", i), Node: "node",
			Usage: profile.Usage{Age: time.Minute, Span: time.Minute, CPU: 60 * cores, Pressure: true, Ended: true},
		})
		if err != nil {
			fmt.Println(err)
		}
		cpu, _ := p.Evidence()
		fmt.Printf("%v: %v pods of %v, %d restarts\n", cores, cpu.Pods, cpu.Mean, p.Restarts())
	}
	// Output:
	// 0.5: 1 pods of 0.5, 0 restarts
	// 0.5: 2 pods of 0.5, 0 restarts
	// 0.5: 3 pods of 0.5, 0 restarts
	// 2: 3 pods of 0.5, 0 restarts
	// 2: 3 pods of 0.5, 0 restarts
	// 2: 3 pods of 2, 1 restarts
}

func ExampleBlend() {
	own := profile.Evidence{Pods: 3, Mean: .8, Var: .01}
	share := profile.Blend(own, profile.Share{}, 1)
	fmt.Printf("%.2f ± %.2f cores, confidence %.2f\n", share.Amount, share.SD, share.Confidence)
	published := profile.Demand{CPU: share}.Published()
	fmt.Printf("%.3f\n", published.CPU.Amount)
	// Output:
	// 0.80 ± 0.10 cores, confidence 0.75
	// 0.841
}

func ExampleIdentify() {
	workload, revision, _ := profile.Identify(profile.Meta{
		Namespace:  "shop",
		Name:       "cart-7d9c5b8f6d-x2x4z",
		Labels:     map[string]string{"pod-template-hash": "7d9c5b8f6d"},
		Controller: profile.Owner{Kind: "ReplicaSet", Name: "cart-7d9c5b8f6d"},
	})
	fmt.Println(workload, revision)
	// Output: shop/Deployment/cart 7d9c5b8f6d
}
