package external

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/testbed/slot"
)

// endedToken returns a token that was valid until its pod was deleted.
func endedToken(r *rig) string {
	r.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "holder", Namespace: r.namespace},
		Spec:       corev1.PodSpec{ServiceAccountName: driver, SchedulerName: "nobody", Containers: []corev1.Container{{Name: "c", Image: "i.example"}}},
	}
	if err := r.objects.Create(r.Context(), pod); err != nil {
		r.Fatal(err)
	}
	token := r.token(driver, "", func(s *authenticationv1.TokenRequestSpec) {
		s.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	})
	if err := r.objects.Delete(r.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		r.Fatal(err)
	}
	cluster.Eventually(r.T, "the API server refuses the token", func() (bool, any) {
		review, err := r.plain.AuthenticationV1().TokenReviews().Create(r.Context(), &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{"spazio-external"}},
		}, metav1.CreateOptions{})
		return err == nil && !review.Status.Authenticated, err
	})
	return token
}

// Both forms of the interface refuse what they should, with the right status, and write nothing.
func TestExternalRefusals(t *testing.T) {
	r := newRig(t)
	r.job(r.namespace, "job")
	replica := r.serve()
	other := r.newNamespace()
	good := r.token(driver, "")
	valid := queue("refused", "bed", "job")
	path, here := in(r.namespace, "schedulings"), in(r.namespace, "jobs", "job", "external")
	seedBody := map[string]any{"name": "refused", "testbed": "bed", "queueBased": []any{map[string]any{"name": "job"}}}
	for _, test := range []struct {
		name, token, method, path string
		body                      any
		header                    []string
		status                    int
		wantText                  string
	}{
		{"no token", "", "POST", path, valid, nil, 401, "bearer token"},
		{"no token to the thesis's paths", "", "POST", "/external/schedulings", seedBody, nil, 401, ""},
		{"a token for the API server", r.token(driver, "https://kubernetes.default.svc"), "POST", path, valid, nil, 401, "audience spazio-external"},
		{"a token of the scheduler's audience", r.token(driver, "spazio-scheduler"), "POST", path, valid, nil, 401, "audience spazio-external"},
		{"a forged token", good[:len(good)-8] + "AAAAAAAA", "POST", path, valid, nil, 401, "not valid"},
		{"a token whose pod is gone", endedToken(r), "POST", path, valid, nil, 401, "not valid"},
		{"a viewer who writes", r.token(viewer, ""), "POST", path, valid, nil, 403, "may not create schedulings in namespace " + r.namespace},
		{"a viewer who writes by the thesis's paths", r.token(viewer, ""), "POST", "/external/schedulings", seedBody, nil, 403, ""},
		{"a viewer who writes data", r.token(viewer, ""), "PUT", here, map[string]any{"a": 1}, nil, 403, "may not update jobs/external in namespace " + r.namespace},
		{"nobody who reads", r.token(nobody, ""), "GET", path, nil, nil, 403, "may not list schedulings in namespace " + r.namespace},
		{"elsewhere", good, "POST", in(other, "schedulings"), valid, nil, 403, "may not create schedulings in namespace " + other},
		{"all namespaces", good, "GET", "/external/v1/jobs", nil, nil, 403, "may not list jobs in all namespaces"},
		{"a page from elsewhere", good, "POST", path, valid, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403, "elsewhere"},
		{"a body of more than 1 MiB", good, "POST", path, `{"name": "` + strings.Repeat("x", 1<<20) + `"}`, nil, 413, ""},
		{"data of more than 64 KiB", good, "PUT", here, map[string]any{"a": strings.Repeat("x", 64<<10)}, nil, 413, ""},
		{"no JSON", good, "POST", path, "{", nil, 400, ""},
		{"no scheduling", good, "POST", path, wire.Scheduling{Meta: wire.Meta{Name: "refused"}}, nil, 422, "queue"},
		{"a scheduling that is not there", good, "GET", in(r.namespace, "schedulings", "none"), nil, nil, 404, "There is no scheduling"},
		{"data of a job that is not there", good, "PUT", in(r.namespace, "jobs", "none", "external"), map[string]any{}, nil, 404, "There is no job"},
	} {
		c := r.as(replica.base, test.token)
		status, answer, header := c.ask(test.method, test.path, test.body, test.header...)
		if status != test.status || !strings.Contains(string(answer), test.wantText) {
			t.Errorf("%s: %d, want %d with %q: %s", test.name, status, test.status, test.wantText, answer)
		}
		var p wire.Problem
		if err := json.Unmarshal(answer, &p); strings.HasPrefix(test.path, "/external/v1") && (err != nil || p.Status != status || header.Get("Content-Type") != wire.ProblemType) {
			t.Errorf("%s: not a problem document: %s: %s", test.name, header.Get("Content-Type"), answer)
		}
	}
	if writes := audited.of(r.namespace); len(slices.DeleteFunc(writes, func(w string) bool { return !strings.Contains(w, "schedulings") && !strings.HasPrefix(w, "update") })) > 0 {
		t.Errorf("written: %q", writes)
	}
	var job v1alpha1.BatchJob
	if err := r.objects.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "job"}, &job); err != nil || job.Spec.ExternalScheduler != nil {
		t.Errorf("got job data %v, %v", job.Spec.ExternalScheduler, err)
	}
}

// A scheduling is created once, readable there at once, replaced only at the version that was read, and
// deleted.
func TestExternalSchedulings(t *testing.T) {
	r := newRig(t)
	c := r.as(r.serve().base, r.token(driver, ""))
	path, one := in(r.namespace, "schedulings"), in(r.namespace, "schedulings", "s")
	body := queue("s", "bed", "a", r.namespace+"/b", "a")
	body.Priority, body.Exclusive, body.OnFailure = 7, true, "Stop"
	made := do[wire.Scheduling](c, 201, "POST", path, body)
	want := wire.SchedulingSpec{
		Testbed: r.namespace + "/bed", Queue: []string{r.namespace + "/a", r.namespace + "/b", r.namespace + "/a"},
		Priority: 7, Exclusive: true, Confirm: "None", OnFailure: "Stop",
	}
	if diff := cmp.Diff(want, made.SchedulingSpec); diff != "" || made.UID == "" || made.Author != "system:serviceaccount:"+r.namespace+":driver" {
		t.Errorf("made %+v: %s", made, diff)
	}
	if read := do[wire.Scheduling](c, 200, "GET", one, nil); read.UID != made.UID {
		t.Errorf("got %+v at once", read)
	}
	// Stored as kubectl shows it: names without the namespace that is its own anyway.
	var stored v1alpha1.Scheduling
	if err := r.objects.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "s"}, &stored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]v1alpha1.JobReference{{Name: "a"}, {Name: "b"}, {Name: "a"}}, stored.Spec.QueueBased); diff != "" || stored.Spec.Testbed != (v1alpha1.TestbedReference{Name: "bed"}) {
		t.Error(diff, stored.Spec.Testbed)
	}
	if again := do[wire.Scheduling](c, 200, "POST", path, body); again.UID != made.UID {
		t.Errorf("the same again: got %+v", again)
	}
	body.Priority = 8
	do[wire.Problem](c, 409, "POST", path, body)
	// The controller has written its status meanwhile, so the version is outdated.
	cluster.Eventually(t, "the controller has looked at it", func() (bool, any) {
		read := do[wire.Scheduling](c, 200, "GET", one, nil)
		return read.State == "Acquiring" && read.ResourceVersion != made.ResourceVersion, read
	})
	do[wire.Problem](c, 412, "PUT", one, body, "If-Match", `"`+made.ResourceVersion+`"`)
	read := do[wire.Scheduling](c, 200, "GET", one, nil)
	replaced := do[wire.Scheduling](c, 200, "PUT", one, body, "If-Match", `"`+read.ResourceVersion+`"`)
	if replaced.Priority != 8 || replaced.Author != made.Author {
		t.Errorf("replaced %+v", replaced)
	}
	// Errors that only the API server detects name the fields of the request.
	other := body
	other.Testbed = "another"
	p := do[wire.Problem](c, 422, "PUT", one, other)
	if len(p.Causes) != 1 || p.Causes[0].Field != "testbed" || !strings.Contains(p.Causes[0].Message, "must not change") {
		t.Errorf("another testbed: got %+v", p)
	}
	slots := wire.Scheduling{SchedulingSpec: wire.SchedulingSpec{Testbed: "bed", Slots: &wire.SlotBased{Jobs: []wire.SlotJob{{Job: "a", Slots: []slot.Ref{{Index: 1}}}}}}}
	p = do[wire.Problem](c, 422, "PUT", one, slots)
	if len(p.Causes) != 1 || strings.Contains(fmt.Sprint(p), "Based") || !strings.Contains(p.Causes[0].Message, "a queue stays a queue") {
		t.Errorf("slots instead of a queue: got %+v", p)
	}
	do[wire.Problem](c, 412, "DELETE", one, nil, "If-Match", `"`+made.ResourceVersion+`"`)
	do[json.RawMessage](c, 204, "DELETE", one, nil)
	cluster.Eventually(t, "it is gone", func() (bool, any) {
		status, answer, _ := c.ask("GET", one, nil)
		return status == 404, string(answer)
	})
}

// Outside programs own the data that they store in a job, and of many concurrent writes none is lost.
func TestExternalData(t *testing.T) {
	r := newRig(t)
	r.job(r.namespace, "job")
	c := r.as(r.serve().base, r.token(driver, ""))
	path := in(r.namespace, "jobs", "job", "external")
	cluster.Eventually(t, "the job is read", func() (bool, any) {
		status, answer, _ := c.ask("GET", in(r.namespace, "jobs", "job"), nil)
		return status == 200, string(answer)
	})
	job := do[wire.Job](c, 200, "PUT", path, map[string]any{"matrix": map[string]any{"a": 1.5}, "n": 9007199254740993})
	if job.Kind != "Job" || !strings.Contains(string(job.External), `"a":1.5`) {
		t.Errorf("put: %+v", job)
	}
	do[wire.Problem](c, 412, "PUT", path, map[string]any{}, "If-Match", `"1"`)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			status, answer, _ := c.ask("PATCH", path, map[string]any{"writers": map[string]any{fmt.Sprint(i): i}}, "Content-Type", "application/merge-patch+json")
			if status != 200 {
				t.Errorf("writer %d: %d: %s", i, status, answer)
			}
		})
	}
	writers.Wait()
	job = do[wire.Job](c, 200, "GET", in(r.namespace, "jobs", "job"), nil)
	var data struct {
		Matrix  map[string]float64
		Writers map[string]int
	}
	if err := json.Unmarshal(job.External, &data); err != nil || len(data.Writers) != 8 || data.Matrix["a"] != 1.5 {
		t.Errorf("after all writes: got %s, %v", job.External, err)
	}
	if do[wire.Job](c, 200, "PATCH", path, map[string]any{"writers": nil}, "Content-Type", "application/merge-patch+json"); t.Failed() {
		return
	}
	// The interface may not write the rest of the job.
	var stored v1alpha1.BatchJob
	if err := r.objects.Get(context.Background(), client.ObjectKey{Namespace: r.namespace, Name: "job"}, &stored); err != nil || stored.Spec.JobSpec == nil {
		t.Error(stored.Spec, err)
	}
}
