package simnode_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

func TestNodeRefusesPods(t *testing.T) {
	n, err := simnode.NewNode(simnode.NodeConfig{Name: "n", Clock: simnode.NewClock(time.Now(), 1)})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Bind(simnode.Pod{UID: "a", Work: time.Hour}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		pod  simnode.Pod
		want error
	}{
		{"no UID", simnode.Pod{}, simnode.ErrBadPod},
		{"negative work", simnode.Pod{UID: "b", Work: -1}, simnode.ErrBadPod},
		{"NaN memory", simnode.Pod{UID: "b", Memory: math.NaN()}, simnode.ErrBadPod},
		{"negative startup", simnode.Pod{UID: "b", Startup: -1}, simnode.ErrBadPod},
		{"twice", simnode.Pod{UID: "a"}, simnode.ErrDuplicatePod},
	}
	for _, test := range tests {
		if err := n.Bind(test.pod); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.want)
		}
	}
	n.Kill("a")
	if err := n.Bind(simnode.Pod{UID: "a"}); err != nil {
		t.Errorf("after it was killed: got %v", err)
	}
	if _, err := simnode.NewNode(simnode.NodeConfig{Name: "n", Params: simnode.Params{Cores: -1}}); err == nil {
		t.Error("a node of −1 cores")
	}
}
