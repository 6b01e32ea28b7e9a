package main

import (
	"testing"

	authnv1 "k8s.io/api/authentication/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

func TestRequests(t *testing.T) {
	var r requests
	note := func(n int, user, verb, resource, sub string) {
		for range n {
			r.note(&auditv1.Event{User: authnv1.UserInfo{Username: user}, Verb: verb, ObjectRef: &auditv1.ObjectReference{Resource: resource, Subresource: sub}})
		}
	}
	note(4, "a", "update", "batchjobs", "status")
	before := r.now()
	note(2, "a", "update", "batchjobs", "status")
	note(3, "a", "create", "jobs", "")
	note(1, "a", "watch", "jobs", "")
	note(5, "b", "create", "jobs", "")
	r.note(&auditv1.Event{User: authnv1.UserInfo{Username: "a"}, Verb: "get"})
	since := r.now().since(before)
	if n := since.by("a"); n != 6 {
		t.Errorf("a made %d requests since, want 2 + 3 + 1", n)
	}
	if n := since.ended("jobs"); n != 1 {
		t.Errorf("%d watches of jobs have ended since, want 1", n)
	}
	const want = "6 requests: 3 create jobs, 2 update batchjobs/status, 1 get "
	if got := since.text("a"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := before.by("a"); n != 4 {
		t.Errorf("what was before has become %d, want 4", n)
	}
}
