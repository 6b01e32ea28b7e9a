//go:build realnode && linux

package realnode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/cmd/internal/requestreport"
)

var (
	reportTo  = flag.String("report", "", "a directory for the reports of an hour, which wants -record, too; empty leaves the test out")
	reportFor = flag.Duration("report-for", time.Hour, "how long the report's workloads run")
)

const (
	mib         = 1 << 20
	reportSpan  = 1000 * time.Second // a p99 takes as long
	reportSleep = 25 * time.Second
)

// A reported workload is built to take what is known: a server by its rate of requests, each
// serviceTime of the CPU; a job by its CPU time, after which it sleeps for reportSleep; any other
// holds memory and uses no CPU.
type reported struct {
	kind, name  string
	scheduler   string
	pods        int32
	cpu, memory string // what a pod requests, empty for nothing
	rate        float64
	burn        time.Duration
	mebibytes   int
	every       time.Duration // from a job to the next of its name
}

// mixOfReport takes about half a core: services and jobs that request too much, about what they take,
// too little, and nothing. Of those under Spazio each ends: on a busy node it lets one wait for no room
// at a time.
var mixOfReport = []reported{
	{kind: "Deployment", name: "web", scheduler: defaults, pods: 2, cpu: "250m", memory: "256Mi", rate: 6},
	{kind: "Deployment", name: "api", scheduler: defaults, pods: 1, cpu: "50m", memory: "32Mi", rate: 10},
	{kind: "Deployment", name: "undeclared", scheduler: defaults, pods: 1, rate: 10},
	{kind: "Deployment", name: "cache", scheduler: defaults, pods: 1, cpu: "150m", memory: "512Mi", mebibytes: 96},
	{kind: "StatefulSet", name: "store", scheduler: defaults, pods: 1, cpu: "50m", memory: "128Mi", mebibytes: 64},
	{kind: "Job", name: "batch-over", scheduler: defaults, cpu: "300m", memory: "512Mi", burn: 2 * time.Second, mebibytes: 64, every: 45 * time.Second},
	{kind: "Job", name: "batch-under", scheduler: defaults, cpu: "20m", memory: "16Mi", burn: 3 * time.Second, mebibytes: 64, every: 45 * time.Second},
	{kind: "Job", name: "batch-undeclared", scheduler: spazio, burn: 2 * time.Second, mebibytes: 32, every: 45 * time.Second},
	{kind: "CronJob", name: "cron", scheduler: defaults, burn: 2 * time.Second, mebibytes: 48},
}

// TestReport runs a mix of workloads for an hour and takes the report of it, from the live cluster
// and from the agent's recording. Needs must be what the workloads are built to take.
func TestReport(t *testing.T) {
	if *reportTo == "" || *record == "" {
		t.Log("not run: it takes an hour, and the flags -report and -record")
		return
	}
	if err := os.MkdirAll(*reportTo, 0o755); err != nil {
		t.Fatal(err)
	}
	install(t)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	t.Cleanup(func() { cancel(); group.Wait() })
	f := newFates()
	f.follow(t, "report")
	for _, w := range mixOfReport {
		t.Cleanup(func() { w.remove(t) })
		if w.every > 0 {
			group.Go(func() { w.repeat(ctx, t) })
			continue
		}
		if err := w.create(ctx); err != nil {
			t.Fatal(err)
		}
		if w.rate > 0 {
			for _, address := range w.addresses(t) {
				group.Go(func() { w.load(ctx, t, address) })
			}
		}
	}
	time.Sleep(max(0, *reportFor-reportSpan))
	takeReports(t, "live", "--for="+min(reportSpan, *reportFor).String())
	objects := filepath.Join(*reportTo, "objects.json")
	if err := os.WriteFile(objects, []byte(kubectl(t, "get", "nodes,pods,workloadprofiles", "-A", "-o", "json")), 0o644); err != nil {
		t.Fatal(err)
	}
	takeReports(t, "recorded", "--objects="+objects, "--recording="+*record)
	for _, from := range []string{"live", "recorded"} {
		f.compare(t, from)
	}
}

// takeReports writes the report in each form.
func takeReports(t *testing.T, name string, arguments ...string) {
	t.Helper()
	var group sync.WaitGroup
	for _, form := range []string{"table", "json", "html"} {
		group.Go(func() {
			c := exec.CommandContext(t.Context(), program(node.work, "spazio"), append([]string{"report", "-o", form}, arguments...)...)
			c.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig(node.work, "admin"))
			var errs bytes.Buffer
			c.Stderr = &errs
			out, err := c.Output()
			if err := errors.Join(err, os.WriteFile(filepath.Join(*reportTo, name+"."+form), out, 0o644)); err != nil {
				t.Errorf("%s report -o %s: %v\n%s", name, form, err, errs.String())
			}
		})
	}
	group.Wait()
}

// create makes the workload.
func (w reported) create(ctx context.Context) (err error) {
	apps, batch := node.client.AppsV1(), node.client.BatchV1()
	named, template := metav1.ObjectMeta{Name: w.name}, w.template()
	selector := &metav1.LabelSelector{MatchLabels: template.Labels}
	job := batchv1.JobSpec{Template: template}
	switch w.kind {
	case "Deployment":
		_, err = apps.Deployments("default").Create(ctx, &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{
			Replicas: &w.pods, Selector: selector, Template: template,
		}}, metav1.CreateOptions{})
	case "StatefulSet":
		_, err = apps.StatefulSets("default").Create(ctx, &appsv1.StatefulSet{ObjectMeta: named, Spec: appsv1.StatefulSetSpec{
			Replicas: &w.pods, Selector: selector, Template: template, ServiceName: w.name,
		}}, metav1.CreateOptions{})
	case "CronJob":
		_, err = batch.CronJobs("default").Create(ctx, &batchv1.CronJob{ObjectMeta: named, Spec: batchv1.CronJobSpec{
			Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: job},
		}}, metav1.CreateOptions{})
	case "Job":
		_, err = batch.Jobs("default").Create(ctx, &batchv1.Job{ObjectMeta: named, Spec: job}, metav1.CreateOptions{})
	}
	return err
}

// template is of the workload's pods.
func (w reported) template() corev1.PodTemplateSpec {
	var arguments []string
	switch {
	case w.rate > 0:
		arguments = []string{"-cpu=" + serviceTime.String(), "-serve=:" + serverPort}
	case w.burn > 0:
		arguments = []string{"-cpu=" + w.burn.String(), "-sleep=" + reportSleep.String()}
	default:
		arguments = []string{"-sleep=24h"}
	}
	if w.mebibytes > 0 {
		arguments = append(arguments, fmt.Sprintf("-memory=%dMi", w.mebibytes))
	}
	pod := worker("", w.scheduler, arguments...)
	if !strings.HasSuffix(w.kind, "Job") {
		pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	if w.cpu != "" {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(w.cpu), corev1.ResourceMemory: resource.MustParse(w.memory),
		}
	}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"batch": "report", "app": w.name}}, Spec: pod.Spec}
}

// repeat makes the job, and again of the same name when the former has ended, until the context ends.
func (w reported) repeat(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		w.remove(t)
		if err := w.create(ctx); err != nil && !apierrors.IsAlreadyExists(err) && ctx.Err() == nil {
			t.Errorf("%s: %v", w.name, err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(w.every):
		}
	}
}

// remove deletes the workload with its pods and returns when the workload is gone.
func (w reported) remove(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	now := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}
	apps, batch := node.client.AppsV1(), node.client.BatchV1()
	if err := node.await(w.name+" is gone", func(context.Context) error {
		var err error
		switch w.kind {
		case "Deployment":
			err = apps.Deployments("default").Delete(ctx, w.name, now)
		case "StatefulSet":
			err = apps.StatefulSets("default").Delete(ctx, w.name, now)
		case "CronJob":
			err = batch.CronJobs("default").Delete(ctx, w.name, now)
		case "Job":
			err = batch.Jobs("default").Delete(ctx, w.name, now)
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	}); err != nil {
		t.Error(err)
	}
}

// addresses are those of the workload's pods, once each answers.
func (w reported) addresses(t *testing.T) (found []string) {
	t.Helper()
	eventually(t, w.name+" answers", func(ctx context.Context) error {
		pods, err := node.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=" + w.name})
		if err != nil {
			return err
		}
		found = nil
		for _, pod := range pods.Items {
			if pod.Status.PodIP != "" {
				found = append(found, net.JoinHostPort(pod.Status.PodIP, serverPort))
			}
		}
		if len(found) != int(w.pods) {
			return fmt.Errorf("%d of %d pods have an address", len(found), w.pods)
		}
		for _, address := range found {
			err = errors.Join(err, once(ctx, address))
		}
		return err
	})
	return found
}

// load makes the workload's requests, one after the other, until the context ends.
func (w reported) load(ctx context.Context, t *testing.T, address string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Errorf("%s: %v", w.name, err)
		return
	}
	defer c.Close()
	each := time.NewTicker(time.Duration(float64(time.Second) / w.rate))
	defer each.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-each.C:
		}
		if err := exchange(c); err != nil {
			t.Errorf("%s: %v", w.name, err)
			return
		}
	}
}

// truth is what a pod of the workload took: cores by its own account, the share of its life in which
// it wanted a core, and bytes.
func (f *fates) truth(t *testing.T, w *reported) (used, wanted, memory float64) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	used, memory = w.rate*serviceTime.Seconds(), float64(w.mebibytes*mib)
	if w.burn == 0 {
		return used, used, memory
	}
	n := 0.0
	for name, pod := range f.ended {
		said, err := words(pod)
		if !strings.HasPrefix(name, w.name+"-") || err != nil {
			continue
		}
		life := said.Ended.Sub(said.Began).Seconds()
		used, wanted, n = used+said.CPU.Seconds()/life, wanted+1-reportSleep.Seconds()/life, n+1
	}
	if n == 0 {
		t.Errorf("no pod of %s ended", w.name)
	}
	return used / n, wanted / n, memory
}

// compare holds the needs in a report against what the workloads are built to take.
func (f *fates) compare(t *testing.T, from string) {
	t.Helper()
	var report requestreport.Report
	text, err := os.ReadFile(filepath.Join(*reportTo, from+".json"))
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err != nil {
		t.Fatal(err)
	}
	needs := map[string]int{}
	for i, row := range report.Workloads {
		needs[row.Namespace+"/"+row.Kind+"/"+row.Name] = i
	}
	for i := range mixOfReport {
		w := &mixOfReport[i]
		used, wanted, memory := f.truth(t, w)
		at, running := needs["default/"+w.kind+"/"+w.name]
		switch {
		case !running && w.burn > 0:
			t.Logf("%-9s %-17s had no pod just then", from, w.name)
			continue
		case !running:
			t.Errorf("%s: no need of %s", from, w.name)
			continue
		}
		row := report.Workloads[at]
		t.Logf("%-9s %-17s need %.4f cores (used %.4f, wanted %.4f), %5.1f MiB (took %.0f), confidence %.2f", from, w.name,
			row.Need.CPU.Value, used, wanted, row.Need.Memory.Value/mib, memory/mib, row.Confidence.Value)
		// The runtime of Go takes some, too. What a server waits for a CPU is known where others leave it one.
		const slack, runtimeCPU, runtimeMemory = .1, .005, 16 * mib
		most := (1+slack)*wanted + runtimeCPU
		if *loaded && w.rate > 0 {
			most = 1
		}
		if cpu := row.Need.CPU; !cpu.Known || cpu.Value < (1-slack)*used || cpu.Value > most {
			t.Errorf("%s: need of %s: %v cores", from, w.name, cpu)
		}
		if m := row.Need.Memory; !m.Known || m.Value < (1-slack)*memory || m.Value > (1+slack)*memory+runtimeMemory {
			t.Errorf("%s: need of %s: %v bytes", from, w.name, m)
		}
	}
}
