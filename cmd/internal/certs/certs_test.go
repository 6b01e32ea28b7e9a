package certs_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	plan "github.com/spazio-scheduler/spazio/api/certs"
	"github.com/spazio-scheduler/spazio/cmd/internal/certs"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
)

var began = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

var config = certs.Config{
	Namespace: "spazio-system", AgentNamespace: "spazio-agent", ClusterDomain: "cluster.local",
	Servers: []string{"spazio-scheduler"}, Peers: []string{"spazio-aggregator,spazio-aggregator-peers"},
}

// manifest are the objects as they are installed.
func manifest() (objects []runtime.Object) {
	for _, name := range []string{"spazio-ca", "spazio-scheduler-tls", "spazio-aggregator-tls"} {
		objects = append(objects, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "spazio-system", Name: name}, Type: corev1.SecretTypeOpaque})
	}
	for _, namespace := range []string{"spazio-system", "spazio-agent"} {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "spazio-trust"}})
	}
	return objects
}

var nowhere = slog.New(slog.DiscardHandler)

func at(now time.Time) func() time.Time { return func() time.Time { return now } }

// names are those that somebody dials.
var names = map[string][]string{
	"spazio-scheduler-tls": {"spazio-scheduler", "spazio-scheduler.spazio-system", "spazio-scheduler.spazio-system.svc", "spazio-scheduler.spazio-system.svc.cluster.local"},
	"spazio-aggregator-tls": {
		"spazio-aggregator", "spazio-aggregator.spazio-system.svc.cluster.local",
		"spazio-aggregator-peers", "spazio-aggregator-peers.spazio-system.svc.cluster.local",
	},
}

// check verifies each server's certificate by each namespace's bundle.
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
				t.Errorf("%s as a client's: %v", secret, err)
			}
		}
	}
}

// TestPlanIsStored for two years of daily runs, while somebody else now and then
// changes an object between its reading and its writing.
func TestPlanIsStored(t *testing.T) {
	client := fake.NewClientset(manifest()...)
	updates := 0
	client.PrependReactor("update", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if updates++; updates%5 == 0 {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: a.GetResource().Resource}, "", errors.New("changed"))
		}
		return false, nil, nil
	})
	changes := map[plan.Kind]int{}
	for days := range 730 {
		now := began.Add(time.Duration(days) * 24 * time.Hour)
		made, err := certs.Ensure(t.Context(), client.CoreV1(), config, at(now), nowhere)
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
	if n := changes[plan.LeafPair]; n < 2*730/60 || n > 2*(730/59+1) {
		t.Errorf("%d certificates in two years", n)
	}
	if n := changes[plan.Bundle]; n < 2*4 {
		t.Errorf("%d bundles in two years", n)
	}
	// Its rights are these and no others.
	var asked []string
	for _, a := range client.Actions() {
		name := ""
		switch a := a.(type) {
		case clienttesting.GetAction:
			name = a.GetName()
		case clienttesting.UpdateAction:
			name = a.GetObject().(metav1.Object).GetName()
		}
		asked = append(asked, strings.Join([]string{a.GetNamespace(), a.GetResource().Resource, name, a.GetVerb()}, " "))
	}
	slices.Sort(asked)
	want := []string{
		"spazio-agent configmaps spazio-trust get", "spazio-agent configmaps spazio-trust update",
		"spazio-system configmaps spazio-trust get", "spazio-system configmaps spazio-trust update",
		"spazio-system secrets spazio-aggregator-tls get", "spazio-system secrets spazio-aggregator-tls update",
		"spazio-system secrets spazio-ca get", "spazio-system secrets spazio-ca update",
		"spazio-system secrets spazio-scheduler-tls get", "spazio-system secrets spazio-scheduler-tls update",
	}
	if asked = slices.Compact(asked); !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// TestPlanIsNotStored where objects are missing, in a dry run, or without end.
func TestPlanIsNotStored(t *testing.T) {
	for i, missing := range manifest() {
		objects := slices.Delete(manifest(), i, i+1)
		client := fake.NewClientset(objects...)
		if _, err := certs.Ensure(t.Context(), client.CoreV1(), config, at(began), nowhere); !apierrors.IsNotFound(err) {
			t.Errorf("without %s: %v", missing.(metav1.Object).GetName(), err)
		}
	}
	client := fake.NewClientset(manifest()...)
	dry := config
	dry.DryRun = true
	changes, err := certs.Ensure(t.Context(), client.CoreV1(), dry, at(began), nowhere)
	if err != nil || len(changes) != 5 {
		t.Errorf("a dry run: %+v, %v", changes, err)
	}
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("a dry run %ss", a.GetVerb())
		}
	}
	client.PrependReactor("update", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(schema.GroupResource{}, "", errors.New("changed"))
	})
	if made, err := certs.Ensure(t.Context(), client.CoreV1(), config, at(began), nowhere); err == nil || len(made) > 0 {
		t.Errorf("somebody else is always quicker: %+v, %v", made, err)
	}
}

// FuzzPlanOfSecrets: whatever the objects hold, afterwards everything verifies.
func FuzzPlanOfSecrets(f *testing.F) {
	client := fake.NewClientset(manifest()...)
	if _, err := certs.Ensure(context.Background(), client.CoreV1(), config, at(began), nowhere); err != nil {
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
			if _, err := certs.Ensure(t.Context(), client.CoreV1(), config, at(began), nowhere); err != nil {
				t.Fatal(err)
			}
		}
		check(t, client.CoreV1(), began)
	})
}

// kubeconfig leads to a server that says the same to everything.
func kubeconfig(t *testing.T, code int, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	path := t.TempDir() + "/kubeconfig"
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: server.URL}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c"}},
		CurrentContext: "c",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPlanCommand(t *testing.T) {
	forbidden := kubeconfig(t, http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`)
	empty := kubeconfig(t, http.StatusOK, `{"metadata":{"namespace":"n","name":"any"}}`)
	for _, tt := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"--output=yaml"}, command.ExitUsage, "", "--output"},
		{[]string{"--kubeconfig=" + t.TempDir() + "/none"}, command.ExitUsage, "", "API server"},
		{[]string{"--kubeconfig=" + empty, "--server=no_name"}, command.ExitUsage, "", "no_name"},
		{[]string{"--kubeconfig=" + empty, "--cluster-domain="}, command.ExitUsage, "", "DNS name"},
		{[]string{"--kubeconfig=" + forbidden}, command.ExitFailure, "", "the authority: no"},
		{[]string{"--kubeconfig=" + empty, "--dry-run"}, command.ExitOK, "leaf         spazio-aggregator", ""},
		{[]string{"--kubeconfig=" + empty, "--dry-run", "--agent-namespace=", "-o", "json"}, command.ExitOK, `"dryRun":true`, ""},
		{[]string{"more"}, command.ExitUsage, "", "more"},
	} {
		t.Run(fmt.Sprint(tt.args), func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := certs.Main(t.Context(), tt.args, &stdout, &stderr); code != tt.code {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, &stderr)
			}
			if !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("said %q and %q", &stdout, &stderr)
			}
			if slices.Contains(tt.args, "json") && !json.Valid(stdout.Bytes()) {
				t.Errorf("no JSON: %s", &stdout)
			}
		})
	}
}
