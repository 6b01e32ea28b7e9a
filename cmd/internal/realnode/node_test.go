//go:build realnode && linux

package realnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// readyTime is how long the node may take to become ready on a loaded machine.
const readyTime = 5 * time.Minute

// A realNode is a cluster of one node. Its fields are set before the tests run.
type realNode struct {
	work       string
	client     *kubernetes.Clientset
	evictBelow int64 // bytes of available memory below which the kubelet evicts pods; 0 is never

	plane                                               *process
	planeInput                                          io.Closer
	containerd, kubelet, manager, proxy, scheduler, dns *process
}

// processes returns all in the order in which they end: the last started one first.
func (n *realNode) processes() []*process {
	return []*process{n.scheduler, n.dns, n.manager, n.kubelet, n.proxy, n.containerd, n.plane}
}

// startNode returns when the node is ready and pods can be created. The caller stops the returned node,
// even with an error.
func startNode(work string) (*realNode, error) {
	n := &realNode{work: work}
	begin := time.Now()
	for _, step := range []func() error{
		setUpNetwork, n.startPlane, n.startContainerd, n.importImages, n.startKubelet, n.startRest, n.waitReady,
	} {
		if err := step(); err != nil {
			return n, err
		}
	}
	fmt.Printf("realnode: ready after %.1f s; %s\n", time.Since(begin).Seconds(), hierarchy())
	return n, nil
}

// hierarchy returns the machine's kind of cgroups, which determines the agent's manifests.
func hierarchy() string {
	if unified() {
		return "cgroup v2: the default manifests"
	}
	return "cgroup v1 or hybrid: the manifests cgroup-v1"
}

func unified() bool { return exists(filepath.Join(cgroups, "cgroup.controllers")) }

// setUpNetwork gives the namespace the node's address, on a link without a route out.
func setUpNetwork() error {
	for _, line := range []string{
		"link set lo up",
		"link add node0 type veth peer name node1",
		"addr add " + address.String() + "/24 dev node0",
		"link set node0 up",
		"link set node1 up",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w %s", line, err, out)
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

// startPlane starts etcd and the API server.
func (n *realNode) startPlane() (err error) {
	if err := os.MkdirAll(configurations(n.work), 0o700); err != nil {
		return err
	}
	input, keep, err := os.Pipe()
	if err != nil {
		return err
	}
	n.planeInput = keep
	c := again("plane")
	c.Stdin = input
	n.plane, err = own(n.work, "control-plane", c)
	if err = errors.Join(err, input.Close()); err != nil {
		return err
	}
	if err := n.await("the API serves", func(context.Context) error {
		_, err := os.Stat(filepath.Join(configurations(n.work), ready))
		return err
	}); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig(n.work, "admin"))
	if err != nil {
		return err
	}
	config.QPS = -1
	n.client, err = kubernetes.NewForConfig(config)
	return err
}

// file writes a configuration and returns its path.
func (n *realNode) file(name, content string) (string, error) {
	path := filepath.Join(n.work, name)
	return path, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644))
}

func (n *realNode) socket() string { return filepath.Join(n.work, "containerd.sock") }

// startContainerd starts the runtime. Pods get an address each by plain routes: with a bridge, answers
// would bypass the translation of service addresses.
func (n *realNode) startContainerd() error {
	plugins := filepath.Dir(program(n.work, "ptp"))
	if _, err := n.file("cni/10-ptp.conflist", `{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "ptp", "ipMasq": false, "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}
]}`); err != nil {
		return err
	}
	config, err := n.file("containerd.toml", `version = 3
root = "`+n.work+`/containerd/root"
state = "/run/containerd"
[grpc]
  address = "`+n.socket()+`"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "localhost/pause:1"
[plugins.'io.containerd.cri.v1.runtime']
  # The machine may lack the right to lower it.
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["`+plugins+`"]
    conf_dir = "`+n.work+`/cni"
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "runc"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
`)
	if err != nil {
		return err
	}
	// It finds its shim in PATH.
	path := "PATH=" + plugins + ":" + os.Getenv("PATH")
	n.containerd, err = spawn(n.work, "containerd", program(n.work, "containerd"), []string{path}, "-c", config)
	if err != nil {
		return err
	}
	return n.await("containerd serves", func(ctx context.Context) error { return n.ctr(ctx, "version") })
}

// ctr runs containerd's client in the namespace of pods' images and containers.
func (n *realNode) ctr(ctx context.Context, arguments ...string) error {
	arguments = append([]string{"--address", n.socket(), "--namespace", "k8s.io"}, arguments...)
	if out, err := exec.CommandContext(ctx, program(n.work, "ctr"), arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("ctr %s: %w %s", strings.Join(arguments, " "), err, out)
	}
	return nil
}

func (n *realNode) importImages() error {
	archives, err := filepath.Glob(filepath.Join(made(n.work), "images", "*.tar"))
	if err != nil {
		return err
	}
	for _, archive := range archives {
		if err := n.ctr(context.Background(), "images", "import", archive); err != nil {
			return err
		}
	}
	return nil
}

// startKubelet starts the kubelet. Only one that isolates local storage asks for the file systems'
// statistics, without which it evicts no pod, and not every machine's root has any.
func (n *realNode) startKubelet() error {
	config, err := n.file("kubelet.yaml", `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: `+configurations(n.work)+`/client-ca.crt}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix://`+n.socket()+`
failSwapOn: false
enforceNodeAllocatable: []
evictionHard: {memory.available: "`+strconv.FormatInt(max(n.evictBelow, 100<<20), 10)+`", nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
makeIPTablesUtilChains: false
localStorageCapacityIsolation: `+strconv.FormatBool(n.evictBelow > 0)+`
clusterDomain: cluster.local
clusterDNS: [`+address.String()+`]
resolvConf: ""
`)
	if err != nil {
		return err
	}
	n.kubelet, err = spawn(n.work, "kubelet", program(n.work, "kubelet"), nil,
		"--config="+config, "--kubeconfig="+kubeconfig(n.work, "kubelet"), "--root-dir="+n.work+"/kubelet",
		"--hostname-override="+nodeName, "--node-ip="+address.String(), "--v=2")
	return err
}

// startRest starts the other parts of a cluster: the controllers, which create service accounts and
// remove taints, service addresses and names, and the default scheduler.
func (n *realNode) startRest() (err error) {
	leader := []string{"--leader-elect=false", "--bind-address=127.0.0.1"}
	if n.manager, err = spawn(n.work, "kube-controller-manager", program(n.work, "kube-controller-manager"), nil, append(leader,
		"--kubeconfig="+kubeconfig(n.work, "kube-controller-manager"), "--use-service-account-credentials",
		"--root-ca-file="+configurations(n.work)+"/server-ca.crt")...); err != nil {
		return err
	}
	if n.scheduler, err = spawn(n.work, "kube-scheduler", program(n.work, "kube-scheduler"), nil, append(leader,
		"--kubeconfig="+kubeconfig(n.work, "kube-scheduler"))...); err != nil {
		return err
	}
	config, err := n.file("kube-proxy.yaml", `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: `+kubeconfig(n.work, "kube-proxy")+`}
hostnameOverride: `+nodeName+`
clusterCIDR: 10.244.0.0/24
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`)
	if err != nil {
		return err
	}
	if n.proxy, err = spawn(n.work, "kube-proxy", program(n.work, "kube-proxy"), nil, "--config="+config); err != nil {
		return err
	}
	names, err := n.file("Corefile", `.:53 {
  bind `+address.String()+`
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig `+kubeconfig(n.work, "coredns")+`
  }
}
`)
	if err != nil {
		return err
	}
	n.dns, err = spawn(n.work, "coredns", program(n.work, "coredns"), nil, "-conf", names)
	return err
}

// waitReady returns when the node admits pods and a namespace has what they need.
func (n *realNode) waitReady() error {
	return n.await("the node is ready", func(ctx context.Context) error {
		if _, err := n.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
			return err
		}
		node, err := n.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		if !ready || len(node.Spec.Taints) > 0 {
			return fmt.Errorf("conditions %v, taints %v", node.Status.Conditions, node.Spec.Taints)
		}
		return nil
	})
}

// await checks until there is no error, a program has ended, or the time limit is over.
func (n *realNode) await(what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		for _, p := range n.processes() {
			if p != nil && p.ended() != nil {
				return fmt.Errorf("%s: %w", what, p.ended())
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not so after %v: %s: %w", readyTime, what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// stop ends everything and reports what is left.
func (n *realNode) stop() error {
	var errs []error
	if n.client != nil && n.kubelet != nil {
		errs = append(errs, n.removePods())
	}
	for _, p := range n.processes() {
		if p == n.plane && n.planeInput != nil {
			errs = append(errs, n.planeInput.Close())
			if p == nil {
				continue
			}
			<-p.done
			continue
		}
		errs = append(errs, p.stop())
	}
	errs = append(errs, n.unmount())
	left, err := processes()
	errs = append(errs, err)
	if len(left) > 0 {
		errs = append(errs, fmt.Errorf("processes are left:\n%s", strings.Join(left, "\n")))
	}
	return errors.Join(errs...)
}

// removePods deletes all pods and returns when they and their containers are gone.
func (n *realNode) removePods() error {
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(1))}
	return n.await("pods are gone", func(ctx context.Context) error {
		if err := n.removeOwners(ctx); err != nil {
			return err
		}
		pods, err := n.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp == nil {
				if err := n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, now); err != nil {
					return err
				}
			}
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("%d pods are there", len(pods.Items))
		}
		return nil
	})
}

// removeOwners deletes the objects that would create new pods.
func (n *realNode) removeOwners(ctx context.Context) error {
	namespaces, err := n.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, ns := range namespaces.Items {
		apps, jobs := n.client.AppsV1(), n.client.BatchV1()
		now := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
		if err := errors.Join(
			apps.DaemonSets(ns.Name).DeleteCollection(ctx, now, metav1.ListOptions{}),
			apps.StatefulSets(ns.Name).DeleteCollection(ctx, now, metav1.ListOptions{}),
			apps.Deployments(ns.Name).DeleteCollection(ctx, now, metav1.ListOptions{}),
			apps.ReplicaSets(ns.Name).DeleteCollection(ctx, now, metav1.ListOptions{}),
			jobs.CronJobs(ns.Name).DeleteCollection(ctx, now, metav1.ListOptions{}),
			jobs.Jobs(ns.Name).DeleteCollection(ctx, now, metav1.ListOptions{}),
		); err != nil {
			return err
		}
	}
	return nil
}

// unmount reports remaining mounts of pods, and removes them together with what containerd leaves
// mounted by design.
func (n *realNode) unmount() error {
	var errs []error
	for _, dir := range []string{n.work, "/run"} {
		points, err := mounted(dir)
		if err != nil {
			return err
		}
		for _, point := range points {
			errs = append(errs, fmt.Errorf("mount is left: %s", point))
		}
		for _, point := range slices.Backward(points) {
			if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// gone deletes a pod and returns an error while it still exists.
func (n *realNode) gone(ctx context.Context, namespace, name string) error {
	err := n.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(1))})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(err, fmt.Errorf("pod %s is there", name))
}
