package demo

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	e2e "github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
)

// A program outside the cluster tries each pair of four jobs, and pairs those that run well together.
func TestTestbed(t *testing.T) {
	process := e2e.StartProgram(t, "testbed", "--jobs=2", "--seconds=3s", "--output=json")
	if code := process.End(t); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, process.Said())
	}
	var r testbedResult
	if err := json.Unmarshal(process.Stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, process.Stdout.String())
	}
	for _, pair := range r.Plan {
		if strings.HasPrefix(pair[0], "busy") == strings.HasPrefix(pair[1], "busy") {
			t.Errorf("the plan %v pairs two of a kind: %v", r.Plan, r.Matrix)
		}
		// Each pair has its own node.
		if a, b := r.Runs[pair[0]], r.Runs[pair[1]]; !slices.Equal(nodesOf(a.Slots), nodesOf(b.Slots)) {
			t.Errorf("%v ran in %v and %v", pair, a.Slots, b.Slots)
		}
	}
	m := r.Makespan
	if len(r.Plan) != 2 || len(r.Runs) != 4 || m.Pairings != 3 || m.Plan < 2 || m.PlanTold < 2 || !(m.Best <= m.PlanModelled && m.PlanModelled <= m.Worst) {
		t.Errorf("result %+v", r)
	}
	process.CheckNothingLeft(t)
}

func nodesOf(slots []string) []string {
	var nodes []string
	for _, s := range slots {
		node, _, _ := strings.Cut(s, "/")
		nodes = append(nodes, node)
	}
	return nodes
}

func TestTestbedInterrupted(t *testing.T) {
	process := e2e.StartProgram(t, "testbed", "--seconds=3s")
	hint := process.WaitFor(t, "kubectl --kubeconfig")
	kubeconfig := strings.Fields(hint)[2]
	if !strings.HasSuffix(hint, " get testbeds,schedulings,batchjobs,pods,nodes") { // jobs are Kubernetes' own
		t.Errorf("got hint %s", hint)
	}
	line := process.WaitFor(t, "its pages")
	if names := listed(t, kubeconfig, "/apis/testbed.spazio-scheduler.github.io/v1alpha1/testbeds"); !slices.Equal(names, []string{"profiling", "target"}) {
		t.Errorf("got test beds %v with the printed kubeconfig", names)
	}
	process.WaitFor(t, " 1 of 15")
	link, err := url.Parse(line[strings.Index(line, "http"):])
	if err != nil {
		t.Fatal(err)
	}
	if page := logIn(t, link); !strings.Contains(page, "profiling") || strings.Contains(page, "Forbidden") {
		t.Errorf("behind %s is\n%s", link.Path, page)
	}
	process.Signal(t, os.Interrupt)
	if code := process.End(t); code == 0 || process.Stdout.Len() > 0 {
		t.Errorf("exit code %d, printed %s", code, process.Stdout.String())
	}
	process.CheckNothingLeft(t)
}

// logIn follows such a link as the login page does, and returns the next page.
func logIn(t *testing.T, link *url.URL) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	form, err := url.ParseQuery(link.Fragment)
	if err != nil {
		t.Fatal(err)
	}
	form.Set("next", link.Query().Get("next"))
	client := http.Client{Jar: jar}
	response, err := client.PostForm(link.Scheme+"://"+link.Host+link.Path, form)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", response.Status, err)
	}
	return string(page)
}

func TestTestbedRefused(t *testing.T) {
	for _, flag := range []string{"--jobs=0", "--jobs=11", "--seconds=1ms", "--plan=best", "--output=yaml"} {
		process := e2e.StartProgram(t, "testbed", flag)
		if code := process.End(t); code != 2 {
			t.Errorf("%s: exit code %d:\n%s", flag, code, process.Said())
		}
	}
}
