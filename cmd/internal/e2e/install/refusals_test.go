package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/internal/spazioctl"
)

// installer returns rules that suffice to install; the test withholds each.
func installer() []rbacv1.PolicyRule {
	verbs := []string{"get", "list", "create", "patch", "delete"}
	rule := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	return []rbacv1.PolicyRule{
		rule("", "namespaces", "serviceaccounts", "secrets", "configmaps", "services"),
		rule("apps", "daemonsets", "deployments", "statefulsets"),
		rule("apiextensions.k8s.io", "customresourcedefinitions"),
		rule("batch", "jobs", "cronjobs"),
		rule("policy", "poddisruptionbudgets"),
		rule("networking.k8s.io", "networkpolicies"),
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: append(verbs, "update")},
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"}, Verbs: append(verbs, "bind", "escalate")},
	}
}

// grant creates a user with rules, and returns the user's view of the cluster.
func grant(t *testing.T, client kubernetes.Interface, user string, rules []rbacv1.PolicyRule) *deploy.Cluster {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.RbacV1().ClusterRoles().Delete(context.Background(), user, metav1.DeleteOptions{})
		_ = client.RbacV1().ClusterRoleBindings().Delete(context.Background(), user, metav1.DeleteOptions{})
	})
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules { // the authorizer follows with a delay
		cluster.Eventually(t, user+" has its rights", func() (bool, any) {
			got, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: rule.Resources[0]},
			}}, metav1.CreateOptions{})
			return err == nil && got.Status.Allowed, err
		})
	}
	config, err := cluster.Plane(t).UserConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	c, err := deploy.Connect(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Each missing permission is named before anything is changed, and all of them suffice.
func TestMissingRights(t *testing.T) {
	admin, client := control(t)
	defer remove(t, admin)
	wanted := objects(t, deploy.Config{})
	before := inventory(t)
	for i, tt := range []struct {
		group, resource, verb string
		want                  []string
	}{
		{"", "namespaces", "create", []string{"create namespaces"}},
		{"apps", "daemonsets", "patch", []string{"patch daemonsets.apps in spazio-agent"}},
		{"batch", "cronjobs", "get", []string{"get cronjobs.batch in spazio-system"}},
		{"coordination.k8s.io", "leases", "create", []string{"create leases.coordination.k8s.io in spazio-system"}},
		{"rbac.authorization.k8s.io", "roles", "escalate", []string{
			"update secrets spazio-ca in spazio-system, or escalate roles.rbac.authorization.k8s.io spazio-system/spazio-certs, to give it",
			"update configmaps spazio-trust in spazio-agent, or escalate roles.rbac.authorization.k8s.io spazio-agent/spazio-certs, to give it",
		}},
		{"rbac.authorization.k8s.io", "clusterroles", "escalate", []string{
			"create tokenreviews.authentication.k8s.io, or escalate clusterroles.rbac.authorization.k8s.io spazio-aggregator, to give it",
		}},
	} {
		t.Run(tt.verb+" "+tt.resource, func(t *testing.T) {
			user := "installer-" + string(rune('a'+i))
			rules := installer()
			for j := range rules {
				if rules[j].APIGroups[0] != tt.group || !slices.Contains(rules[j].Resources, tt.resource) {
					continue
				}
				less := *rules[j].DeepCopy()
				less.Resources = []string{tt.resource}
				less.Verbs = slices.DeleteFunc(less.Verbs, func(verb string) bool { return verb == tt.verb })
				rules[j].Resources = slices.DeleteFunc(rules[j].Resources, func(r string) bool { return r == tt.resource })
				rules = append(rules, less)
				if len(rules[j].Resources) == 0 {
					rules = slices.Delete(rules, j, j+1)
				}
				break
			}
			c := grant(t, client, user, rules)
			problems, err := c.Preflight(t.Context(), wanted)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !slices.Contains(problems, deploy.Problem{About: "rights", Text: want}) {
					t.Errorf("got problems %[2]q, want %[1]q", want, problems)
				}
			}
			for _, p := range problems {
				if !strings.Contains(p.Text, tt.verb) {
					t.Errorf("got a wrong problem %q", p)
				}
			}
		})
	}
	if more := difference(before, slices.DeleteFunc(inventory(t), func(id deploy.ID) bool { return strings.HasPrefix(id.Name, "installer-") })); len(more) > 0 {
		t.Errorf("got changes %v", more)
	}
	c := grant(t, client, "installer", installer())
	problems, err := c.Preflight(t.Context(), wanted)
	if err != nil || len(problems) > 0 {
		t.Errorf("with all permissions: got %q, %v", problems, err)
	}
	if err := c.Install(withTimeout(t), wanted, deploy.Options{}); err != nil {
		t.Errorf("with all permissions: got %v", err)
	}
}

// Missing resources of the cluster are reported, and missing images.
func TestPreflight(t *testing.T) {
	c, _ := control(t)
	config := deploy.Config{Components: []string{"cert-manager"}}
	wanted, err := config.Objects()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := c.Preflight(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]int{}
	for _, p := range problems {
		about[p.About]++
	}
	if about["resource"] == 0 || about["rights"] != 0 {
		t.Errorf("%+v", problems)
	}
	for registry, want := range map[string]int{"": 1, deploy.NoRegistry: 0, "r.example": 0} {
		if problems := (deploy.Config{Registry: registry}).Preflight(deploy.Version{}); len(problems) != want {
			t.Errorf("%q: %+v", registry, problems)
		}
	}
}

// No foreign pod is left waiting.
func TestUninstallRefuses(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	if err := c.Install(withTimeout(t), objects(t, deploy.Config{}), deploy.Options{}); err != nil {
		t.Fatal(err)
	}
	pod := corev1.PodSpec{SchedulerName: deploy.SchedulerName, RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i.example"}}}
	labels := map[string]string{"app": "x"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod}
	always := *template.DeepCopy()
	always.Spec.RestartPolicy = corev1.RestartPolicyAlways
	selector := &metav1.LabelSelector{MatchLabels: labels}
	meta := metav1.ObjectMeta{Name: "user", Namespace: metav1.NamespaceDefault}
	create, now := metav1.CreateOptions{}, int64(0)
	remove := metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: new(metav1.DeletePropagationBackground)}
	for resource, make := range map[string]struct{ make, remove func() error }{
		"pods": {
			func() error {
				_, err := client.CoreV1().Pods(meta.Namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: meta, Spec: pod}, create)
				return err
			},
			func() error { return client.CoreV1().Pods(meta.Namespace).Delete(t.Context(), meta.Name, remove) },
		},
		"deployments.apps": {
			func() error {
				_, err := client.AppsV1().Deployments(meta.Namespace).Create(t.Context(), &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: always}}, create)
				return err
			},
			func() error {
				return client.AppsV1().Deployments(meta.Namespace).Delete(t.Context(), meta.Name, remove)
			},
		},
		"replicasets.apps": {
			func() error {
				_, err := client.AppsV1().ReplicaSets(meta.Namespace).Create(t.Context(), &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: always}}, create)
				return err
			},
			func() error {
				return client.AppsV1().ReplicaSets(meta.Namespace).Delete(t.Context(), meta.Name, remove)
			},
		},
		"daemonsets.apps": {
			func() error {
				_, err := client.AppsV1().DaemonSets(meta.Namespace).Create(t.Context(), &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: always}}, create)
				return err
			},
			func() error { return client.AppsV1().DaemonSets(meta.Namespace).Delete(t.Context(), meta.Name, remove) },
		},
		"statefulsets.apps": {
			func() error {
				_, err := client.AppsV1().StatefulSets(meta.Namespace).Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: always}}, create)
				return err
			},
			func() error {
				return client.AppsV1().StatefulSets(meta.Namespace).Delete(t.Context(), meta.Name, remove)
			},
		},
		"replicationcontrollers": {
			func() error {
				_, err := client.CoreV1().ReplicationControllers(meta.Namespace).Create(t.Context(), &corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Selector: labels, Template: &always}}, create)
				return err
			},
			func() error {
				return client.CoreV1().ReplicationControllers(meta.Namespace).Delete(t.Context(), meta.Name, remove)
			},
		},
		"podtemplates": {
			func() error {
				_, err := client.CoreV1().PodTemplates(meta.Namespace).Create(t.Context(), &corev1.PodTemplate{ObjectMeta: meta, Template: always}, create)
				return err
			},
			func() error {
				return client.CoreV1().PodTemplates(meta.Namespace).Delete(t.Context(), meta.Name, remove)
			},
		},
		"cronjobs.batch": {
			func() error {
				_, err := client.BatchV1().CronJobs(meta.Namespace).Create(t.Context(), &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{
					Schedule: "@yearly", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
				}}, create)
				return err
			},
			func() error { return client.BatchV1().CronJobs(meta.Namespace).Delete(t.Context(), meta.Name, remove) },
		},
	} {
		t.Run(resource, func(t *testing.T) {
			if err := make.make(); err != nil {
				t.Fatal(err)
			}
			before := inventory(t)
			err := c.Uninstall(withTimeout(t), deploy.Options{})
			var used *deploy.InUseError
			if !errors.As(err, &used) || !errors.Is(err, deploy.ErrInUse) || len(used.Users) != 1 || used.Users[0].String() != resource+" default/user" {
				t.Errorf("%v", err)
			}
			if less := difference(before, inventory(t)); len(less) > 0 {
				t.Errorf("got changes %v", less)
			}
			if err := make.remove(); err != nil {
				t.Fatal(err)
			}
			if users, err := c.Users(t.Context()); err != nil || len(users) > 0 {
				t.Errorf("afterwards %v, %v", users, err)
			}
		})
	}
	// Ended pods, and pods of other schedulers, do not matter.
	elsewhere := *pod.DeepCopy()
	elsewhere.SchedulerName = corev1.DefaultSchedulerName
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}, Spec: elsewhere}, create); err != nil {
		t.Fatal(err)
	}
	ended, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "ended"}, Spec: pod}, create)
	if err != nil {
		t.Fatal(err)
	}
	ended.Status.Phase = corev1.PodSucceeded
	if _, err := client.CoreV1().Pods("default").UpdateStatus(t.Context(), ended, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer cluster.Remove(t, client)
	if users, err := c.Users(t.Context()); err != nil || len(users) > 0 {
		t.Errorf("%v, %v", users, err)
	}
	// A profile of the component energy is of our scheduler, too.
	elsewhere.SchedulerName = "spazio-energy"
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "saver"}, Spec: elsewhere}, create); err != nil {
		t.Fatal(err)
	}
	if users, err := c.Users(t.Context()); err != nil || len(users) != 1 || users[0].Name != "saver" {
		t.Errorf("pod of another profile: got %v, %v", users, err)
	}
	if _, err := client.CoreV1().Pods(deploy.SystemNamespace).Create(t.Context(), foreignPod(), create); err != nil {
		t.Fatal(err)
	}
	if users, err := c.Users(t.Context()); err != nil || len(users) != 2 || users[1].Name != "lodger" {
		t.Errorf("foreign pod: got %v, %v", users, err)
	}
}

// foreignPod returns a foreign pod, as the namespace admits it.
func foreignPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "lodger"}, Spec: corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "c", Image: "i.example", SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}}},
	}}
}

// A repeated installation keeps certificates, and fields that another manager has set unless it takes
// them over.
func TestInstallAgain(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	wanted := objects(t, deploy.Config{})
	if err := c.Install(withTimeout(t), wanted, deploy.Options{}); err != nil {
		t.Fatal(err)
	}
	secret, err := client.CoreV1().Secrets(deploy.SystemNamespace).Get(t.Context(), "spazio-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.Data = map[string][]byte{"ca.key": []byte("k")}
	if _, err := client.CoreV1().Secrets(deploy.SystemNamespace).Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	actions := map[deploy.Action]int{}
	count := deploy.Options{Progress: func(s deploy.Step) { actions[s.Action]++ }}
	if err := c.Install(withTimeout(t), wanted, count); err != nil {
		t.Fatal(err)
	}
	if actions[deploy.Unchanged] != len(wanted) || actions[deploy.Created]+actions[deploy.Configured] > 0 {
		t.Errorf("%v of %d objects", actions, len(wanted))
	}
	secret, err = client.CoreV1().Secrets(deploy.SystemNamespace).Get(t.Context(), "spazio-ca", metav1.GetOptions{})
	if err != nil || string(secret.Data["ca.key"]) != "k" {
		t.Errorf("got authority key %q, %v", secret.Data, err)
	}
	scale := []byte(`{"spec":{"replicas":3}}`)
	if _, err := client.AppsV1().Deployments(deploy.SystemNamespace).Patch(t.Context(), "spazio-aggregator", types.MergePatchType, scale, metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Install(withTimeout(t), wanted, deploy.Options{}); err == nil || !strings.Contains(err.Error(), "somebody") || !strings.Contains(err.Error(), "replicas") {
		t.Errorf("replicas of another manager: got %v", err)
	}
	if err := c.Install(withTimeout(t), wanted, deploy.Options{Force: true}); err != nil {
		t.Error(err)
	}
	d, err := client.AppsV1().Deployments(deploy.SystemNamespace).Get(t.Context(), "spazio-aggregator", metav1.GetOptions{})
	if err != nil || *d.Spec.Replicas != 2 {
		t.Errorf("%v", err)
	}
}

// steps returns the actions of a dry run by object.
func steps(t *testing.T, c *deploy.Cluster, wanted []*unstructured.Unstructured) map[string]deploy.Step {
	t.Helper()
	steps := map[string]deploy.Step{}
	if err := c.Install(withTimeout(t), wanted, deploy.Options{DryRun: true, Progress: func(s deploy.Step) { steps[s.Object.String()] = s }}); err != nil {
		t.Fatal(err)
	}
	return steps
}

// A dry run reports what an installation would change, and that an image is no longer named by its
// digest.
func TestDryRunReportsChanges(t *testing.T) {
	c, _ := control(t)
	defer remove(t, c)
	digest := func(digit string) map[string]string {
		return map[string]string{"spazio-aggregator": "sha256:" + strings.Repeat(digit, 64)}
	}
	wanted := objects(t, deploy.Config{Digests: digest("a")})
	if err := c.Install(withTimeout(t), wanted, deploy.Options{}); err != nil {
		t.Fatal(err)
	}
	for object, s := range steps(t, c, wanted) {
		if s.Action != deploy.Unchanged {
			t.Errorf("the same objects: %s %s", object, s.Action)
		}
	}
	const aggregator, agent = "deployments.apps spazio-system/spazio-aggregator", "daemonsets.apps spazio-agent/spazio-agent"
	for _, tt := range []struct {
		config     deploy.Config
		configured []string
		text       string
	}{
		{deploy.Config{Digests: digest("b")}, []string{aggregator}, ""},
		{deploy.Config{}, []string{aggregator}, "an image that was named by its digest is now named by a tag"},
		{deploy.Config{Digests: digest("a"), Components: []string{"energy"}}, []string{agent, "configmaps spazio-system/spazio-scheduler"}, ""},
	} {
		got := steps(t, c, objects(t, tt.config))
		for _, object := range tt.configured {
			if s := got[object]; s.Action != deploy.Configured || s.Text != tt.text {
				t.Errorf("%+v: %s is %s: %s", tt.config, object, s.Action, s.Text)
			}
		}
		if s := got["services spazio-system/spazio-aggregator"]; s.Action != deploy.Unchanged {
			t.Errorf("%+v: %+v", tt.config, s)
		}
	}
}

// The printed manifests are applied by another field manager without a conflict: they have all that
// the API server would add to what is owned as a whole.
func TestAppliedByKubectl(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	config := cluster.Plane(t).RESTConfig()
	config.ContentType = ""
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	wanted := objects(t, deploy.Config{Components: []string{"autoscaler", "descheduler", "energy", "testbed"}})
	if err := c.Install(withTimeout(t), wanted, deploy.Options{}); err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(client.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, o := range wanted {
		m, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := untyped.Resource(m.Resource).Namespace(o.GetNamespace()).Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "kubectl"}); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// The commands report the result as text and as JSON.
func TestCommands(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	_, kubeconfig := cluster.Connect(t)
	run := func(code int, args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if got := spazioctl.Main(t.Context(), append(args, "--kubeconfig="+kubeconfig), &stdout, &stderr); got != code {
			t.Fatalf("%q: exit code %d, want %d: %s %s", args, got, code, &stdout, &stderr)
		}
		return stdout.String() + stderr.String()
	}
	before := inventory(t)
	type outcome struct {
		OK       bool
		DryRun   bool
		Problems []deploy.Problem
		Steps    []deploy.Step
		Error    string
	}
	parse := func(text string) (o outcome) {
		t.Helper()
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&o); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return o
	}
	if text := run(command.ExitFailure, "install"); !strings.Contains(text, "registry") || !strings.Contains(text, "nothing was changed") {
		t.Errorf("without a registry: got %s", text)
	}
	if o := parse(run(command.ExitOK, "install", "--registry=r.example", "--dry-run", "-o=json")); !o.OK || !o.DryRun || len(o.Steps) == 0 {
		t.Errorf("dry run: got %+v", o)
	}
	if more := difference(before, inventory(t)); len(more) > 0 {
		t.Errorf("a dry run changed %v", more)
	}
	if text := run(command.ExitOK, "install", "--registry=r.example"); !strings.Contains(text, `Spazio runs. Give pods "schedulerName: spazio"; "spazio check --probe" tries one.`) {
		t.Errorf("%s", text)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "user"}, Spec: corev1.PodSpec{SchedulerName: "spazio", Containers: []corev1.Container{{Name: "c", Image: "i.example"}}}}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer cluster.Remove(t, client)
	if o := parse(run(command.ExitFailure, "uninstall", "-o=json")); o.OK || !strings.Contains(o.Error, "pods default/user") {
		t.Errorf("in use: got %+v", o)
	}
	if o := parse(run(command.ExitOK, "uninstall", "--force", "-o=json")); !o.OK || len(o.Steps) < len(objects(t, deploy.Config{})) {
		t.Errorf("with force: got %+v", o)
	}
	if text := run(command.ExitOK, "uninstall", "--force"); !strings.Contains(text, "Nothing of Spazio is left.") {
		t.Errorf("again: %s", text)
	}
}
