package attacks

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/page"
)

// mayGet allows a service account to get a path of any server, until the test's end.
func mayGet(t *testing.T, client kubernetes.Interface, account, path string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "e2e-" + account}
	_, err := client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{path}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: account}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, err := range []error{
			client.RbacV1().ClusterRoleBindings().Delete(context.Background(), meta.Name, metav1.DeleteOptions{}),
			client.RbacV1().ClusterRoles().Delete(context.Background(), meta.Name, metav1.DeleteOptions{}),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	})
}

// TestDebugDataBeyondLoopback: with --debug-authentication the scheduler serves them over TLS to users
// whom the API server authorizes.
func TestDebugDataBeyondLoopback(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	accounts(t, client, "reader", "foreign")
	accounts(t, client, "watcher")
	mayGet(t, client, "reader", plugin.DebugPath)
	mayGet(t, client, "watcher", plugin.DebugPath+"/*")
	_, port, err := net.SplitHostPort(transporttest.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	scheduler := &cluster.Command{Role: "scheduler", Args: []string{
		"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0", "--signal-listen=127.0.0.1:0",
		"--debug-listen=:" + port, "--debug-authentication",
	}}
	scheduler.Start(t)
	ask := func(scheme, path, token string, certificates ...tls.Certificate) (int, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://127.0.0.1:"+port+path, nil)
		if err != nil {
			return 0, err
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		asking := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}, DisableKeepAlives: true,
		}}
		response, err := asking.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	cluster.Eventually(t, "the scheduler is healthy", func() (bool, any) {
		code, err := ask("https", "/healthz", "")
		return code == http.StatusOK, fmt.Sprint(code, err)
	})
	const own = "https://kubernetes.default.svc" // the API server's audience
	reader, unauthorized := read(t, tokenFor(t, client, "reader", own, nil)), read(t, tokenFor(t, client, "foreign", own, nil))
	certificateOf := func(user, group string) []tls.Certificate {
		config, err := cluster.Plane(t).UserConfig(user, group)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{pair}
	}
	watcher := read(t, tokenFor(t, client, "watcher", own, nil))
	const frames, state = page.Path + "events", page.SourcePath + "/state"
	operator, somebody := certificateOf("operator", "system:masters"), certificateOf("somebody", "people")
	cluster.Eventually(t, "the cluster's authority of clients is known", func() (bool, any) {
		code, err := ask("https", "/metrics", "", operator...)
		return code == http.StatusOK, fmt.Sprint(code, err)
	})
	for _, tt := range []struct {
		who, scheme, path, token string
		certificates             []tls.Certificate
		want                     int
	}{
		{"nobody", "https", plugin.DebugPath, "", nil, http.StatusForbidden},
		{"nobody in plaintext", "http", plugin.DebugPath, reader, nil, http.StatusBadRequest},
		{"a forger", "https", plugin.DebugPath, reader + "x", nil, http.StatusUnauthorized},
		{"an agent", "https", plugin.DebugPath, read(t, tokenFor(t, client, "reader", "spazio-scheduler", nil)), nil, http.StatusUnauthorized},
		{"without permission", "https", plugin.DebugPath, unauthorized, nil, http.StatusForbidden},
		{"a reader", "https", plugin.DebugPath, reader, nil, http.StatusOK},
		{"a reader of something else", "https", "/metrics", reader, nil, http.StatusForbidden},
		{"an administrator", "https", "/metrics", cluster.Plane(t).RESTConfig().BearerToken, nil, http.StatusOK},
		{"somebody by certificate", "https", plugin.DebugPath, "", somebody, http.StatusForbidden},
		{"nobody", "https", "/", "", nil, http.StatusForbidden},
		{"nobody", "https", page.Path, "", nil, http.StatusForbidden},
		{"nobody", "https", frames, "", nil, http.StatusForbidden},
		{"nobody", "https", state, "", nil, http.StatusForbidden},
		{"nobody", "https", page.Path + "static/x/page.js", "", nil, http.StatusForbidden},
		{"a forger", "https", page.Path, reader + "x", nil, http.StatusUnauthorized},
		{"without permission", "https", page.Path, unauthorized, nil, http.StatusForbidden},
		{"without permission", "https", state, unauthorized, nil, http.StatusForbidden},
		{"a reader of the rest", "https", page.Path, reader, nil, http.StatusForbidden},
		{"a watcher", "https", page.Path, watcher, nil, http.StatusOK},
		{"a watcher", "https", frames, watcher, nil, http.StatusOK},
		{"a watcher", "https", state, watcher, nil, http.StatusOK},
		{"a watcher of something else", "https", plugin.DebugPath, watcher, nil, http.StatusForbidden},
		{"somebody by certificate", "https", page.Path, "", somebody, http.StatusForbidden},
		{"an operator by certificate", "https", page.Path, "", operator, http.StatusOK},
	} {
		if code, err := ask(tt.scheme, tt.path, tt.token, tt.certificates...); code != tt.want {
			t.Errorf("%s at %s: %d (%v), want %d", tt.who, tt.path, code, err, tt.want)
		}
	}
	scheduler.Interrupt(t)
}
