package deploy

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// kubelet runs the pods of workloads as processes of this machine: volumes are directories, ports are
// free loopback ports, and requests to the API server use the token of the pod's service account.
type kubelet struct{ client kubernetes.Interface }

// container is a container that runs or is about to.
type container struct {
	*cluster.Command
	pod *corev1.Pod
	// volumes are the directories by their mount paths.
	volumes map[string]string
	// ports are the addresses that replace each ":port".
	ports map[int]string
	// kubeconfig is that of the pod's service account.
	kubeconfig string
}

// find returns the workload with a name.
func find(t *testing.T, all []workload, name string) workload {
	t.Helper()
	i := slices.IndexFunc(all, func(w workload) bool { return strings.HasPrefix(w.name, name) })
	if i < 0 {
		t.Fatalf("no workload %s", name)
	}
	return all[i]
}

// place creates a pod of a workload on a node and prepares its container.
func (k kubelet) place(t *testing.T, w workload, node string) *container {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: w.name + "-", Labels: w.template.Labels, Annotations: map[string]string{simnode.AnnotationWork: "0"}},
		Spec:       *w.template.Spec.DeepCopy(),
	}
	pod.Spec.NodeName = node
	pod, err := k.client.CoreV1().Pods(w.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		now := int64(0)
		_ = k.client.CoreV1().Pods(w.namespace).Delete(context.Background(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	})
	c := &container{pod: pod, volumes: map[string]string{}, ports: map[int]string{}}
	if automount := pod.Spec.AutomountServiceAccountToken; automount != nil && *automount {
		c.kubeconfig = k.kubeconfig(t, pod)
	}
	spec := pod.Spec.Containers[0]
	for _, mount := range spec.VolumeMounts {
		i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		c.volumes[mount.MountPath] = k.volume(t, pod, pod.Spec.Volumes[i])
	}
	for _, port := range spec.Ports {
		c.ports[int(port.ContainerPort)] = transporttest.Address(t)
	}
	var args []string
	for _, arg := range spec.Args {
		args = append(args, c.here(strings.ReplaceAll(arg, "$(NODE_NAME)", node), "="))
	}
	if c.kubeconfig != "" && w.name != scheduler { // kube-scheduler has it in its configuration
		args = append(args, "--kubeconfig="+c.kubeconfig)
	}
	c.Command = command(t, spec, args...)
	return c
}

// here replaces paths and addresses after a sign in a text by this machine's.
func (c *container) here(text, after string) string {
	for path, dir := range c.volumes {
		text = strings.ReplaceAll(text, after+path+"/", after+dir+"/")
		if strings.HasSuffix(text, after+path) {
			text = strings.TrimSuffix(text, path) + dir
		}
	}
	for port, address := range c.ports {
		text = strings.ReplaceAll(text, after+":"+strconv.Itoa(port), after+address)
	}
	return text
}

// port returns the port number of the address that replaces a port.
func (c *container) port(t *testing.T, of int) string {
	t.Helper()
	_, port, err := net.SplitHostPort(c.ports[of])
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// write replaces a file atomically.
func write(t *testing.T, dir, name string, text []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// volume creates a directory with the volume's contents.
func (k kubelet) volume(t *testing.T, pod *corev1.Pod, v corev1.Volume) string {
	t.Helper()
	if v.HostPath != nil {
		return v.HostPath.Path
	}
	dir := t.TempDir()
	k.load(t, pod, v, dir)
	return dir
}

// refresh updates the container's certificates.
func (k kubelet) refresh(t *testing.T, c *container) {
	t.Helper()
	for _, mount := range c.pod.Spec.Containers[0].VolumeMounts {
		i := slices.IndexFunc(c.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if v := c.pod.Spec.Volumes[i]; v.Name == "tls" {
			k.load(t, c.pod, v, c.volumes[mount.MountPath])
		}
	}
}

// load writes a volume's contents into a directory. Items have to exist.
func (k kubelet) load(t *testing.T, pod *corev1.Pod, v corev1.Volume, dir string) {
	t.Helper()
	switch {
	case v.Secret != nil:
		fill(t, dir, v.Name, k.secret(t, pod, v.Secret.SecretName), v.Secret.Items)
	case v.ConfigMap != nil:
		fill(t, dir, v.Name, k.configMap(t, pod, v.ConfigMap.Name), v.ConfigMap.Items)
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			switch {
			case source.ServiceAccountToken != nil:
				write(t, dir, source.ServiceAccountToken.Path, []byte(k.token(t, pod, source.ServiceAccountToken.Audience)))
			case source.Secret != nil:
				fill(t, dir, v.Name, k.secret(t, pod, source.Secret.Name), source.Secret.Items)
			case source.ConfigMap != nil:
				fill(t, dir, v.Name, k.configMap(t, pod, source.ConfigMap.Name), source.ConfigMap.Items)
			default:
				t.Fatalf("volume %s projects something that this kubelet does not know", v.Name)
			}
		}
	case v.EmptyDir == nil:
		t.Fatalf("volume %s is of a kind that this kubelet does not know", v.Name)
	}
}

func (k kubelet) secret(t *testing.T, pod *corev1.Pod, name string) map[string][]byte {
	t.Helper()
	secret, err := k.client.CoreV1().Secrets(pod.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret.Data
}

func (k kubelet) configMap(t *testing.T, pod *corev1.Pod, name string) map[string][]byte {
	t.Helper()
	configMap, err := k.client.CoreV1().ConfigMaps(pod.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{}
	for key, text := range configMap.Data {
		data[key] = []byte(text)
	}
	return data
}

func fill(t *testing.T, dir, volume string, data map[string][]byte, items []corev1.KeyToPath) {
	t.Helper()
	if len(items) == 0 {
		for _, key := range slices.Sorted(maps.Keys(data)) {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		if len(data[item.Key]) == 0 {
			t.Fatalf("volume %s waits for the key %s", volume, item.Key)
		}
		write(t, dir, item.Path, data[item.Key])
	}
}

// token returns a token of the pod's service account, bound to the pod.
func (k kubelet) token(t *testing.T, pod *corev1.Pod, audience string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	got, err := k.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(t.Context(), pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got.Status.Token
}

func (k kubelet) kubeconfig(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	config := rest.AnonymousClientConfig(cluster.Plane(t).RESTConfig())
	config.BearerToken = k.token(t, pod, "")
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := embedded.WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	return path
}

// loopback resolves every name.
type loopback struct{}

func (loopback) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
}
