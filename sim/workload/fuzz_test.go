package workload

import (
	"errors"
	"testing"
	"testing/fstest"
)

// Any bytes are refused as ErrTrace or give a valid series.
func FuzzReadUtilisation(f *testing.F) {
	f.Add([]byte(ec2))
	f.Add([]byte(bitbrains))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := ReadUtilisations(fstest.MapFS{"a.csv": {Data: data}})
		if err != nil {
			if !errors.Is(err, ErrTrace) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if len(all) != 1 || !(all[0].step > 0) || len(all[0].share) < 2 {
			t.Fatalf("%+v", all)
		}
		for _, share := range all[0].share {
			if !(share >= 0 && share <= 1) {
				t.Fatalf("share %v", share)
			}
		}
	})
}

// Any tables are refused as ErrTrace or give functions that can be replayed.
func FuzzReadFunctions(f *testing.F) {
	seed := functions()
	f.Add(seed["invocations.csv"].Data, seed["durations.csv"].Data, seed["memory.csv"].Data)
	f.Fuzz(func(t *testing.T, invocations, durations, memory []byte) {
		dir := fstest.MapFS{"invocations.csv": {Data: invocations}, "durations.csv": {Data: durations}, "memory.csv": {Data: memory}}
		functions, err := ReadFunctions(dir)
		if err != nil {
			if !errors.Is(err, ErrTrace) {
				t.Fatalf("error %v", err)
			}
			return
		}
		pods, err := Invocations(1, functions, .1, 1, 60)
		if err != nil {
			return
		}
		for _, p := range pods {
			if !(p.Work > 0 && p.Created >= 0 && p.Created < 60 && p.Memory >= 0) {
				t.Fatalf("%+v", p)
			}
		}
	})
}
