package profile_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/profile"
)

func TestIdentify(t *testing.T) {
	// 29,404,800 minutes after 1970.
	created := time.Date(2025, 11, 28, 0, 0, 0, 0, time.UTC)
	labels := map[string]string{"pod-template-hash": "7d9c5b8f6d", "controller-revision-hash": "web-6c9"}
	owned := func(kind, name string) profile.Meta {
		return profile.Meta{Namespace: "n", Name: "pod", Labels: labels, Created: created,
			Controller: profile.Owner{Kind: kind, Name: name}}
	}
	annotated := owned("ReplicaSet", "cart-7d9c5b8f6d")
	annotated.Annotations = map[string]string{profile.WorkloadAnnotation: "SparkApplication/etl"}
	bare := annotated
	bare.Annotations = map[string]string{profile.WorkloadAnnotation: "etl"}
	noKind, noName := annotated, annotated
	noKind.Annotations = map[string]string{profile.WorkloadAnnotation: "/etl"}
	noName.Annotations = map[string]string{profile.WorkloadAnnotation: "Job/"}
	for name, c := range map[string]struct {
		meta     profile.Meta
		kind     string
		want     string
		revision string
	}{
		"annotation":            {annotated, "SparkApplication", "etl", ""},
		"annotation, name only": {bare, "Workload", "etl", ""},
		"annotation, no kind":   {noKind, "Workload", "/etl", ""},
		"annotation, no name":   {noName, "Workload", "Job/", ""},
		"deployment":            {owned("ReplicaSet", "cart-7d9c5b8f6d"), "Deployment", "cart", "7d9c5b8f6d"},
		"replica set alone":     {owned("ReplicaSet", "cart"), "ReplicaSet", "cart", ""},
		"another hash":          {owned("ReplicaSet", "cart-5d9c5b8f6d"), "ReplicaSet", "cart-5d9c5b8f6d", ""},
		"cron job":              {owned("Job", "backup-29404800"), "CronJob", "backup", ""},
		"cron job, late":        {owned("Job", "backup-29395000"), "CronJob", "backup", ""},
		"eight days":            {owned("Job", "backup-29393200"), "Job", "backup-29393200", ""},
		"a date":                {owned("Job", "backup-20251128"), "Job", "backup-20251128", ""},
		"digits alone":          {owned("Job", "29404800"), "Job", "29404800", ""},
		"beyond an int":         {owned("Job", "x-99999999999999999999"), "Job", "x-99999999999999999999", ""},
		"job, generated":        {owned("Job", "train-x2x4z"), "Job", "train", ""},
		"job, a word":           {owned("Job", "train-model"), "Job", "train-model", ""},
		"job, four letters":     {owned("Job", "train-x2x4"), "Job", "train-x2x4", ""},
		"suffix alone":          {owned("Job", "-x2x4z"), "Job", "-x2x4z", ""},
		"stateful set":          {owned("StatefulSet", "db-x2x4z"), "StatefulSet", "db-x2x4z", "web-6c9"},
		"daemon set":            {owned("DaemonSet", "log"), "DaemonSet", "log", "web-6c9"},
		"custom controller":     {owned("SparkApplication", "etl-bcdfg"), "SparkApplication", "etl", ""},
		"no controller":         {profile.Meta{Namespace: "n", Name: "one"}, "Pod", "one", ""},
		"generated":             {profile.Meta{Namespace: "n", Name: "one-x", GenerateName: "one-"}, "Pod", "one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, revision, _ := profile.Identify(c.meta)
			want := profile.Workload{Namespace: "n", Kind: c.kind, Name: c.want}
			if got != want || revision != c.revision {
				t.Errorf("%v revision %q, want %v revision %q", got, revision, want, c.revision)
			}
		})
	}
}

func TestIdentifyTemplate(t *testing.T) {
	base := func() []profile.Container {
		return []profile.Container{
			{Name: "app", Image: "shop/cart:1@sha256:aa", Command: []string{"run", "fast"},
				Requests: map[string]string{"cpu": "1", "memory": "1Gi"}, Limits: map[string]string{"cpu": "2"}},
			{Name: "side", Image: "mesh:2"},
		}
	}
	hash := func(c []profile.Container) uint64 {
		_, _, template := profile.Identify(profile.Meta{Name: "any", Containers: c})
		return template
	}
	want := hash(base())
	same := map[string]func([]profile.Container){
		"order":  func(c []profile.Container) { c[0], c[1] = c[1], c[0] },
		"digest": func(c []profile.Container) { c[0].Image = "shop/cart:1@sha256:bb" },
	}
	for name, change := range same {
		c := base()
		change(c)
		before := append([]profile.Container(nil), c...)
		if hash(c) != want {
			t.Errorf("%s changes the template", name)
		}
		if d := cmp.Diff(before, c); d != "" {
			t.Errorf("the input was modified:\n%s", d)
		}
	}
	for name, change := range map[string]func([]profile.Container){
		"name":    func(c []profile.Container) { c[0].Name = "app2" },
		"tag":     func(c []profile.Container) { c[0].Image = "shop/cart:2@sha256:aa" },
		"command": func(c []profile.Container) { c[0].Command = []string{"runf", "ast"} },
		"request": func(c []profile.Container) { c[0].Requests["cpu"] = "3" },
		"limit":   func(c []profile.Container) { c[0].Limits, c[0].Requests = c[0].Requests, c[0].Limits },
	} {
		c := base()
		change(c)
		if hash(c) == want {
			t.Errorf("%s does not change the template", name)
		}
	}
}

func FuzzIdentify(f *testing.F) {
	f.Add("Job", "backup-29404800", "", "", int64(1764288000))
	f.Add("ReplicaSet", "a-b", "b", "", int64(0))
	f.Add("", "", "", "/", int64(-1))
	f.Fuzz(func(t *testing.T, kind, owner, hash, annotation string, created int64) {
		m := profile.Meta{
			Namespace: "n", Name: "pod", Labels: map[string]string{"pod-template-hash": hash},
			Annotations: map[string]string{profile.WorkloadAnnotation: annotation},
			Controller:  profile.Owner{Kind: kind, Name: owner}, Created: time.Unix(created, 0),
		}
		w, revision, template := profile.Identify(m)
		again, r, h := profile.Identify(m)
		if w != again || r != revision || h != template {
			t.Fatal("two answers")
		}
		if w.Namespace != "n" || w.Kind == "" || w.Name == "" && owner != "" {
			t.Fatalf("%+v is %+v", m, w)
		}
	})
}
