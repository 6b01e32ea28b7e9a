package install

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
)

func objects(t *testing.T, c deploy.Config) []*unstructured.Unstructured {
	t.Helper()
	if c.Registry == "" {
		c.Registry = "registry.example/spazio"
	}
	all, err := c.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// selfMade are prefixes of objects that the API server creates by itself, at its start and later.
var selfMade = []string{
	"ipaddresses.networking.k8s.io 10.0.0.1", "services default/kubernetes", "endpoints default/kubernetes",
	"endpointslices.discovery.k8s.io default/kubernetes", "configmaps kube-system/", "leases.coordination.k8s.io kube-system/apiserver-",
	"flowschemas.", "prioritylevelconfigurations.", "servicecidrs.", "priorityclasses.scheduling.k8s.io system-", "apiservices.",
}

// inventory returns the cluster's objects without those.
func inventory(t *testing.T) (all []deploy.ID) {
	t.Helper()
	config := cluster.Plane(t).RESTConfig()
	config.ContentType = ""
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	client, _ := cluster.Connect(t)
	cluster.Eventually(t, "the cluster's objects can be listed", func() (bool, any) {
		var err error
		all, err = allObjects(t.Context(), client.Discovery(), untyped)
		return err == nil, err
	})
	return slices.DeleteFunc(all, func(id deploy.ID) bool {
		return slices.ContainsFunc(selfMade, func(prefix string) bool { return strings.HasPrefix(id.String(), prefix) })
	})
}

// allObjects names all objects of all resources that can be listed, sorted, except events, which a
// cluster makes by itself. A resource in two API groups is listed in both.
func allObjects(ctx context.Context, resources discovery.DiscoveryInterface, objects dynamic.Interface) (found []deploy.ID, err error) {
	lists, err := resources.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "get"}}, lists) {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if r.Name == "events" {
				continue
			}
			all, err := objects.Resource(group.WithResource(r.Name)).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, o := range all.Items {
				found = append(found, deploy.ID{Group: group.Group, Resource: r.Name, Namespace: o.GetNamespace(), Name: o.GetName()})
			}
		}
	}
	slices.SortFunc(found, func(a, b deploy.ID) int { return strings.Compare(a.String(), b.String()) })
	return found, nil
}

func withTimeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cluster.Patience)
	t.Cleanup(cancel)
	return ctx
}

// What was installed is removed without a trace, for any components.
func TestLeavesNoTrace(t *testing.T) {
	c, _ := control(t)
	for _, components := range [][]string{nil, {"cgroup-v1"}, {"agent-kube"}, {"profiles-off", "cgroup-v1"}, {"testbed"}} {
		t.Run(strings.Join(components, " "), func(t *testing.T) {
			wanted := objects(t, deploy.Config{Components: components})
			before := inventory(t)
			problems, err := c.Preflight(t.Context(), wanted)
			if err != nil || len(problems) > 0 {
				t.Fatalf("%v, %v", problems, err)
			}
			if after := inventory(t); !slices.Equal(after, before) {
				t.Errorf("reading the cluster changed it: %v", difference(before, after))
			}
			if err := c.Install(withTimeout(t), wanted, deploy.Options{}); err != nil {
				t.Fatal(err)
			}
			installed, err := c.Installed(t.Context())
			if err != nil || len(installed) != len(wanted) {
				t.Errorf("got %d installed objects, want %d: %v", len(installed), len(wanted), err)
			}
			if more := difference(before, inventory(t)); len(more) < len(wanted) {
				t.Errorf("got %d more objects than before, want at least %d", len(more), len(wanted))
			}
			if err := c.Uninstall(withTimeout(t), deploy.Options{}); err != nil {
				t.Fatal(err)
			}
			if more := difference(before, inventory(t)); len(more) > 0 {
				t.Errorf("got remaining %v", more)
			}
		})
	}
}

// difference returns the objects that are in only one of the lists.
func difference(a, b []deploy.ID) (odd []deploy.ID) {
	for _, pair := range [][2][]deploy.ID{{a, b}, {b, a}} {
		for _, id := range pair[0] {
			if !slices.Contains(pair[1], id) {
				odd = append(odd, id)
			}
		}
	}
	return odd
}

// remove restores the server, also after a failure.
func remove(t *testing.T, c *deploy.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cluster.Patience)
	defer cancel()
	if err := c.Uninstall(ctx, deploy.Options{Force: true}); err != nil {
		t.Error(err)
	}
}

// An installation or a removal that stops at any step can be repeated.
func TestInterrupted(t *testing.T) {
	c, _ := control(t)
	wanted := objects(t, deploy.Config{})
	before := inventory(t)
	defer remove(t, c)
	interrupted := func(what func(context.Context, deploy.Options) error, at int) error {
		ctx, cancel := context.WithCancel(withTimeout(t))
		defer cancel()
		seen := 0
		return what(ctx, deploy.Options{Progress: func(s deploy.Step) {
			if seen++; seen == at && s.Action != deploy.Waiting {
				cancel()
			}
		}})
	}
	install := func(ctx context.Context, o deploy.Options) error { return c.Install(ctx, wanted, o) }
	for _, at := range []int{1, 2, 4, 20, len(wanted)} {
		if err := interrupted(install, at); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted at step %d: %v", at, err)
		}
		if err := install(withTimeout(t), deploy.Options{}); err != nil {
			t.Fatalf("again after step %d: %v", at, err)
		}
		for _, again := range []int{1, 3, 30} {
			if err := interrupted(c.Uninstall, again); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("removal interrupted at step %d: %v", again, err)
			}
		}
		if err := c.Uninstall(withTimeout(t), deploy.Options{}); err != nil {
			t.Fatal(err)
		}
		if more := difference(before, inventory(t)); len(more) > 0 {
			t.Fatalf("got remaining %v", more)
		}
	}
}

// Two concurrent installations do not mix, and an installation concurrent with a removal leaves all or
// nothing.
func TestTwoAtOnce(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	var both sync.WaitGroup
	for _, tag := range []string{"one", "two"} {
		wanted := objects(t, deploy.Config{Tag: tag})
		both.Go(func() {
			if err := c.Install(withTimeout(t), wanted, deploy.Options{}); err != nil {
				t.Errorf("%s: %v", tag, err)
			}
		})
	}
	both.Wait()
	if tags := tagsOf(t, client); len(tags) != 1 {
		t.Errorf("got image tags %v, want one", tags)
	}
	wanted := objects(t, deploy.Config{Tag: "three"})
	both.Go(func() {
		if err := c.Install(withTimeout(t), wanted, deploy.Options{}); err != nil {
			t.Errorf("install: %v", err)
		}
	})
	both.Go(func() {
		if err := c.Uninstall(withTimeout(t), deploy.Options{}); err != nil {
			t.Errorf("uninstall: %v", err)
		}
	})
	both.Wait()
	installed, err := c.Installed(t.Context())
	if err != nil || len(installed) != 0 && len(installed) != len(wanted) {
		t.Errorf("got %d of %d objects: %v", len(installed), len(wanted), err)
	}
}

// A killed installation blocks others only for the remaining lifetime of its lock.
func TestAbandoned(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	wanted := objects(t, deploy.Config{})
	leases := client.CoordinationV1().Leases(deploy.SystemNamespace)
	var held *coordinationv1.Lease
	if err := c.Install(withTimeout(t), wanted, deploy.Options{Progress: func(s deploy.Step) {
		if s.Action == deploy.Ready && held == nil {
			held, _ = leases.Get(t.Context(), "spazio-install", metav1.GetOptions{})
		}
	}}); err != nil {
		t.Fatal(err)
	}
	if held == nil || held.Spec.LeaseDurationSeconds == nil || *held.Spec.LeaseDurationSeconds != 30 {
		t.Fatalf("the lock has no lease duration: %+v", held)
	}
	abandoned := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "spazio-install"}, Spec: held.Spec}
	abandoned, err := leases.Create(t.Context(), abandoned, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hurried, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := c.Install(hurried, wanted, deploy.Options{Progress: func(s deploy.Step) {
		if s.Action == deploy.Waiting && s.Object.Name == "spazio-install" {
			cancel()
		}
	}}); !errors.Is(err, deploy.ErrBusy) {
		t.Errorf("while the lock is valid: got %v", err)
	}
	abandoned.Spec.LeaseDurationSeconds = new(int32(1))
	if _, err := leases.Update(t.Context(), abandoned, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	text := ""
	if err := c.Install(withTimeout(t), wanted, deploy.Options{Progress: func(s deploy.Step) {
		if s.Action == deploy.Waiting && s.Object.Name == "spazio-install" {
			text = s.Text
		}
	}}); err != nil || !strings.Contains(text, "less than 1s ago") {
		t.Errorf("afterwards: %v, got %q", err, text)
	}
	if _, err := leases.Get(t.Context(), "spazio-install", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the lock still exists: %v", err)
	}
}

func tagsOf(t *testing.T, client kubernetes.Interface) (tags []string) {
	t.Helper()
	for _, namespace := range []string{deploy.SystemNamespace, deploy.AgentNamespace} {
		add := func(spec corev1.PodSpec) {
			_, tag, _ := strings.Cut(spec.Containers[0].Image, ":")
			if !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
		deployments, err := client.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range deployments.Items {
			add(o.Spec.Template.Spec)
		}
		daemons, err := client.AppsV1().DaemonSets(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range daemons.Items {
			add(o.Spec.Template.Spec)
		}
		crons, err := client.BatchV1().CronJobs(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range crons.Items {
			add(o.Spec.JobTemplate.Spec.Template.Spec)
		}
	}
	return tags
}
