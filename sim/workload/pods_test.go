package workload

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/baseline"
	"github.com/spazio-scheduler/spazio/sim/node"
)

func TestReadPods(t *testing.T) {
	got, err := ReadPods(strings.NewReader("owner, arrival,work,memory,cores,threads\nweb,1.5,10,1e9,2,4\n,0,3,,,\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []sim.Pod{{Workload: "web", Created: 1.5, Work: 10, Memory: 1e9, Cores: 2, Threads: 4}, {Work: 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	phased, err := ReadPods(strings.NewReader("arrival,phases\n2,3x1x1e8; 30x.8x5e8x2e8x5\n"))
	stages := []sim.Pod{{Created: 2, Phases: []node.Stage{{Seconds: 3, Cores: 1, Memory: 1e8}, {Seconds: 30, Cores: .8, Memory: 5e8, Garbage: 2e8, Period: 5}}}}
	if diff := cmp.Diff(stages, phased); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	first, second := StartUp(1, got), StartUp(2, got)
	if first[0].Startup <= 0 || first[0].Startup == second[0].Startup || got[0].Startup != 0 {
		t.Errorf("start-ups %g and %g of two seeds, %g of the pods given", first[0].Startup, second[0].Startup, got[0].Startup)
	}
	for name, text := range map[string]string{
		"nothing": "", "no work": "arrival\n1\n", "no arrival": "work\n1\n", "another column": "arrival,work,size\n1,2,3\n",
		"twice": "arrival,work,work\n1,2,3\n", "a short row": "arrival,work\n1\n", "no number": "arrival,work\n1,x\n",
		"negative": "arrival,work\n-1,2\n", "no arrival given": "arrival,work\n,2\n", "half a thread": "arrival,work,threads\n1,2,.5\n",
		"too many threads": "arrival,work,threads\n1,2,1e9\n", "infinite": "arrival,work\n1,Inf\n",
	} {
		if _, err := ReadPods(strings.NewReader(text)); !errors.Is(err, ErrPods) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestReadPodsThatDeclareRequests(t *testing.T) {
	got, err := ReadPods(strings.NewReader("arrival,work,request_cores,request_memory\n0,1,.5,1e9\n0,1,,\n"))
	want := []sim.Pod{{Work: 1, Request: baseline.Resources{CPU: .5, Memory: 1e9}}, {Work: 1}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// An error has the line.
func TestErrorsOfFilesNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"arrival,work\n1,2\n\n3,x\n":           "line 4: work",
		"arrival,work\n1,2\n3\n":               "on line 3",
		"arrival,work\n1,2\n\"3\n\",4\n5,-1\n": "line 5: work",
	} {
		if _, err := ReadPods(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadUtilisations(fstest.MapFS{"a.csv": {Data: []byte("timestamp,value\n0,1\n\n5,x\n")}}); err == nil || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("utilisation: %v", err)
	}
	for name, c := range map[string][2]string{
		"a bad minute":        {"HashOwner,HashApp,HashFunction,Trigger,1\na,b,c,http,5\na,b,d,http,x\n", "line 3"},
		"an unknown column":   {"HashOwner,HashApp,HashFunction,Trigger,minute1\na,b,c,http,5\n", "minute1"},
		"the same name again": {"HashOwner,HashApp,HashFunction,Trigger,1\na,b,c,http,5\na,b,c,http,5\n", "line 3"},
	} {
		dir := functions()
		dir["invocations.csv"].Data = []byte(c[0])
		if _, err := ReadFunctions(dir); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v, want %q", name, err, c[1])
		}
	}
}

// Any input gives a workload that a run accepts or refuses by a field.
func FuzzReadPods(f *testing.F) {
	f.Add("arrival,work,cores,memory,threads,owner\n1,2,.5,1e9,1,a\n0,3,,,,\n")
	f.Add("work,arrival\n0,0\n")
	f.Fuzz(func(t *testing.T, text string) {
		pods, err := ReadPods(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, ErrPods) {
				t.Fatalf("error %v", err)
			}
			return
		}
		var name *field.Error
		if _, _, err := sim.LowerBound(sim.Config{}, pods); err != nil && !errors.As(err, &name) {
			t.Fatalf("error %v", err)
		}
	})
}
