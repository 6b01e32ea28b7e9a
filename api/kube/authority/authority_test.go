package authority_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/spazio-scheduler/spazio/api/kube/authority"
	"github.com/spazio-scheduler/spazio/field"
)

var config = authority.Config{
	Namespace: "spazio-system", AgentNamespace: "spazio-agent", ClusterDomain: "cluster.local",
	Servers: []authority.Server{
		{Name: "spazio-scheduler"},
		{Name: "spazio-aggregator", Services: []string{"spazio-aggregator-peers"}, Client: true},
	},
}

// manifest returns the objects as installed.
func manifest() (objects []runtime.Object) {
	for _, name := range []string{"spazio-ca", "spazio-scheduler-tls", "spazio-aggregator-tls"} {
		objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "spazio-system", Name: name}, Type: corev1.SecretTypeOpaque})
	}
	for _, namespace := range []string{"spazio-system", "spazio-agent"} {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "spazio-trust"}})
	}
	return objects
}

// ensure runs Ensure at a time.
func ensure(ctx context.Context, client corev1client.CoreV1Interface, c authority.Config, now time.Time) ([]authority.Change, error) {
	c.Now = func() time.Time { return now }
	return authority.Ensure(ctx, client, c)
}

// names are those that clients dial.
var names = map[string][]string{
	"spazio-scheduler-tls": {"spazio-scheduler", "spazio-scheduler.spazio-system", "spazio-scheduler.spazio-system.svc", "spazio-scheduler.spazio-system.svc.cluster.local"},
	"spazio-aggregator-tls": {
		"spazio-aggregator", "spazio-aggregator.spazio-system.svc.cluster.local",
		"spazio-aggregator-peers", "spazio-aggregator-peers.spazio-system.svc.cluster.local",
	},
}

// check verifies each server's certificate against each namespace's bundle.
func check(t *testing.T, client corev1client.CoreV1Interface, now time.Time) {
	t.Helper()
	for secret, names := range names {
		stored, err := client.Secrets("spazio-system").Get(t.Context(), secret, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(stored.Data["tls.crt"], stored.Data["tls.key"])
		if err != nil {
			t.Fatalf("%s: %v", secret, err)
		}
		for _, namespace := range []string{"spazio-system", "spazio-agent"} {
			trust, err := client.ConfigMaps(namespace).Get(t.Context(), "spazio-trust", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM([]byte(trust.Data["ca.crt"]))
			for _, name := range names {
				if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now}); err != nil {
					t.Errorf("%v: %s in %s as %s: %v", now, secret, namespace, name, err)
				}
			}
			_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
			if peer := secret == "spazio-aggregator-tls"; (err == nil) != peer {
				t.Errorf("%s as a client certificate: %v", secret, err)
			}
		}
	}
}

// TestPlanIsStored for two years of daily runs, while another writer sometimes changes an object
// between its read and its write.
func TestPlanIsStored(t *testing.T) {
	client := fake.NewClientset(manifest()...)
	updates := 0
	client.PrependReactor("update", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if updates++; updates%5 == 0 {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: a.GetResource().Resource}, "", errors.New("changed"))
		}
		return false, nil, nil
	})
	changes := map[string]int{}
	for days := range 730 {
		now := began.Add(time.Duration(days) * 24 * time.Hour)
		made, err := ensure(t.Context(), client.CoreV1(), config, now)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range made {
			changes[c.Kind]++
		}
		if len(made) > 0 || days%50 == 49 {
			check(t, client.CoreV1(), now)
		}
	}
	if n := changes["leaf"]; n < 2*730/60 || n > 2*(730/59+1) {
		t.Errorf("got %d certificates in two years", n)
	}
	if n := changes["bundle"]; n < 2*4 {
		t.Errorf("got %d bundles in two years", n)
	}
	// It uses these permissions and no others.
	var requests []string
	for _, a := range client.Actions() {
		name := ""
		switch a := a.(type) {
		case clienttesting.GetAction:
			name = a.GetName()
		case clienttesting.UpdateAction:
			name = a.GetObject().(metav1.Object).GetName()
		}
		requests = append(requests, strings.Join([]string{a.GetNamespace(), a.GetResource().Resource, name, a.GetVerb()}, " "))
	}
	slices.Sort(requests)
	want := []string{
		"spazio-agent configmaps spazio-trust get", "spazio-agent configmaps spazio-trust update",
		"spazio-system configmaps spazio-trust get", "spazio-system configmaps spazio-trust update",
		"spazio-system secrets spazio-aggregator-tls get", "spazio-system secrets spazio-aggregator-tls update",
		"spazio-system secrets spazio-ca get", "spazio-system secrets spazio-ca update",
		"spazio-system secrets spazio-scheduler-tls get", "spazio-system secrets spazio-scheduler-tls update",
	}
	if requests = slices.Compact(requests); !slices.Equal(requests, want) {
		t.Errorf("got requests %q, want %q", requests, want)
	}
}

// TestPlanIsNotStored if objects are missing, in a dry run, or with endless conflicts.
func TestPlanIsNotStored(t *testing.T) {
	for i, missing := range manifest() {
		objects := slices.Delete(manifest(), i, i+1)
		client := fake.NewClientset(objects...)
		if _, err := ensure(t.Context(), client.CoreV1(), config, began); !apierrors.IsNotFound(err) {
			t.Errorf("without %s: %v", missing.(metav1.Object).GetName(), err)
		}
	}
	client := fake.NewClientset(manifest()...)
	dry := config
	dry.DryRun = true
	changes, err := ensure(t.Context(), client.CoreV1(), dry, began)
	if err != nil || len(changes) != 5 {
		t.Errorf("dry run: got %+v, %v", changes, err)
	}
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("got a %s in a dry run", a.GetVerb())
		}
	}
	client.PrependReactor("update", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(schema.GroupResource{}, "", errors.New("changed"))
	})
	if made, err := ensure(t.Context(), client.CoreV1(), config, began); !errors.Is(err, authority.ErrContended) || len(made) > 0 {
		t.Errorf("endless conflicts: got %+v, %v", made, err)
	}
}

// FuzzPlanOfSecrets: whatever the objects hold, everything verifies afterwards.
func FuzzPlanOfSecrets(f *testing.F) {
	client := fake.NewClientset(manifest()...)
	if _, err := ensure(context.Background(), client.CoreV1(), config, began); err != nil {
		f.Fatal(err)
	}
	authority, err := client.CoreV1().Secrets("spazio-system").Get(context.Background(), "spazio-ca", metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	ca, key := authority.Data["ca.crt"], authority.Data["ca.key"]
	f.Add([]byte(nil), []byte(nil), "", "", []byte(nil), []byte(nil), "")
	f.Add(ca, key, "next.crt", "2026-11-30T09:00:00Z", ca, key, string(ca))
	f.Add(ca, key[:len(key)/2], "former.crt", "9999-99-99", key, ca, "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----")
	f.Fuzz(func(t *testing.T, ca, key []byte, name, since string, leaf, leafKey []byte, trust string) {
		objects := manifest()
		objects[0].(*corev1.Secret).Data = map[string][]byte{"ca.crt": ca, "ca.key": key, name: ca, "next.key": key, "next.since": []byte(since)}
		objects[1].(*corev1.Secret).Data = map[string][]byte{"tls.crt": leaf, "tls.key": leafKey}
		objects[3].(*corev1.ConfigMap).Data = map[string]string{"ca.crt": trust}
		client := fake.NewClientset(objects...)
		for range 2 {
			if _, err := ensure(t.Context(), client.CoreV1(), config, began); err != nil {
				t.Fatal(err)
			}
		}
		check(t, client.CoreV1(), began)
	})
}

func TestValidate(t *testing.T) {
	for name, servers := range map[string][]authority.Server{
		"named twice":    {{Name: "web"}, {Name: "api"}, {Name: "web", Client: true}},
		"not a DNS name": {{Name: "web", Services: []string{"no_name"}}},
	} {
		c := authority.Config{Namespace: "shop", ClusterDomain: "cluster.local", Servers: servers}
		client := fake.NewClientset(manifest()...)
		_, err := ensure(t.Context(), client.CoreV1(), c, began)
		var which *field.Error
		if !errors.As(err, &which) || !errors.Is(err, authority.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v", servers, err)
		}
		if requests := client.Actions(); len(requests) > 0 {
			t.Errorf("%+v: got requests %v", servers, requests)
		}
	}
}
