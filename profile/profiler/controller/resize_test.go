package controller

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler"
)

var start = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

const mebi = 1 << 20

// web is a pod of two containers, of which one has limits.
const web = `
metadata:
  name: web-5d4f8c7b9-x2x4z
  namespace: shop
  uid: u1
  resourceVersion: "7"
  labels: {pod-template-hash: 5d4f8c7b9}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d4f8c7b9, uid: u2, controller: true}]
spec:
  containers:
  - name: main
    resources: {requests: {cpu: "1", memory: 1000Mi}, limits: {cpu: "2", memory: 2000Mi}}
  - name: proxy
    resources: {requests: {cpu: 100m}}
status: {phase: Running, qosClass: Burstable, startTime: "2026-11-22T08:00:00Z"}
`

func resizePodFrom(t testing.TB, change func(*corev1.Pod)) resizePod {
	t.Helper()
	p := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(web), p); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(p)
	}
	return resizePodOf(p)
}

// known recommends amounts for main, and enough for the proxy.
func resizeKnown(cores, memory float64) resizeInput {
	sure := profile.Share{Confidence: .5}
	return resizeInput{
		known: true,
		advice: profiler.Advice{
			Demand: profile.Demand{CPU: sure, Memory: sure},
			Recommendations: []profile.Recommendation{
				{Container: "main", Target: profile.Amounts{CPU: cores, Memory: memory}},
				{Container: "proxy", Target: profile.Amounts{CPU: .1, Memory: 50 * mebi}},
			},
		},
		peak: func(string) float64 { return 600 * mebi },
	}
}

func TestResizePodOf(t *testing.T) {
	p := resizePodFrom(t, nil)
	if p.uid != "u1" || p.version != "7" || !p.resizable || p.pending != "" ||
		p.workload != (profile.Workload{Namespace: "shop", Kind: "Deployment", Name: "web"}) || !p.since.Equal(start.Add(-time.Hour)) {
		t.Errorf("%+v", p)
	}
}

// Cases have the expected requests of a pod's containers, or the reason why they stay.
func TestResizeDecisions(t *testing.T) {
	patch := func(containers string) string {
		return `{"metadata":{"resourceVersion":"7","uid":"u1"},"spec":{"containers":[` + containers + `]}}`
	}
	main := func(requests string) string {
		return patch(`{"name":"main","resources":{"requests":{` + requests + `}}}`)
	}
	resizing := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: kind, Status: status, Reason: reason}}
		}
	}
	managed := func(subresource string, ago time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			at := metav1.NewTime(start.Add(-ago))
			p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "other", Subresource: subresource, Time: &at}, {Manager: "none", Subresource: "resize"}}
		}
	}
	always := corev1.ContainerRestartPolicyAlways
	for name, test := range map[string]struct {
		pod     func(*corev1.Pod)
		known   func(*resizeInput)
		cores   float64
		memory  float64
		verdict verdict
		want    string
	}{
		"both up":                  {cores: 1.5, memory: 1500 * mebi, want: main(`"cpu":"1500m","memory":"1500Mi"`)},
		"both down":                {cores: .5, memory: 700 * mebi, want: main(`"cpu":"500m","memory":"700Mi"`)},
		"CPU is in millicores":     {cores: .50001, memory: 1000 * mebi, want: main(`"cpu":"501m"`)},
		"no less than a tenth up":  {cores: 1.1, memory: 1099 * mebi, want: main(`"cpu":"1100m"`)},
		"no less than a tenth":     {cores: .91, memory: 1099 * mebi, verdict: verdictFits},
		"not below the peak":       {cores: 1, memory: 100 * mebi, want: main(`"memory":"600Mi"`)},
		"the peak is near":         {cores: 1, memory: 100 * mebi, known: func(k *resizeInput) { k.peak = func(string) float64 { return 950 * mebi } }, verdict: verdictFits},
		"above what it requests":   {cores: 1, memory: 100 * mebi, known: func(k *resizeInput) { k.peak = func(string) float64 { return 1500 * mebi } }, want: main(`"memory":"1500Mi"`)},
		"no peak, no less":         {cores: 1, memory: 100 * mebi, known: func(k *resizeInput) { k.peak = func(string) float64 { return 0 } }, verdict: verdictFits},
		"no peak, but more":        {cores: 1, memory: 1500 * mebi, known: func(k *resizeInput) { k.peak = func(string) float64 { return 0 } }, want: main(`"memory":"1500Mi"`)},
		"up to the limits":         {cores: 9, memory: 9000 * mebi, want: main(`"cpu":"2","memory":"2000Mi"`)},
		"nothing is recommended":   {verdict: verdictFits},
		"nothing is known":         {cores: 2, memory: 1, known: func(k *resizeInput) { k.known = false }, verdict: verdictUnknown},
		"stale":                    {cores: 2, known: func(k *resizeInput) { k.advice.Stale = true }, verdict: verdictUnknown},
		"unsure of CPU":            {cores: 2, known: func(k *resizeInput) { k.advice.Demand.CPU.Confidence = .4 }, verdict: verdictUnknown},
		"unsure of memory":         {cores: 2, known: func(k *resizeInput) { k.advice.Demand.Memory.Confidence = .4 }, verdict: verdictUnknown},
		"scaled by CPU":            {cores: 2, memory: 1500 * mebi, known: func(k *resizeInput) { k.scaled[cpu] = true }, want: main(`"memory":"1500Mi"`)},
		"scaled by memory":         {cores: 2, memory: 1500 * mebi, known: func(k *resizeInput) { k.scaled[memory] = true }, want: main(`"cpu":"2"`)},
		"scaled by CPU alone":      {cores: 2, memory: 1000 * mebi, known: func(k *resizeInput) { k.scaled[cpu] = true }, verdict: verdictScaled},
		"scaled by both":           {cores: 2, memory: 1500 * mebi, known: func(k *resizeInput) { k.scaled = scaling{true, true} }, verdict: verdictScaled},
		"infeasible":               {cores: 2, pod: resizing(corev1.PodResizePending, corev1.ConditionTrue, corev1.PodReasonInfeasible), verdict: verdictInfeasible},
		"deferred":                 {cores: 2, pod: resizing(corev1.PodResizePending, corev1.ConditionTrue, corev1.PodReasonDeferred), verdict: verdictWaiting},
		"pending for no reason":    {cores: 2, pod: resizing(corev1.PodResizePending, corev1.ConditionTrue, ""), verdict: verdictWaiting},
		"in progress":              {cores: 2, pod: resizing(corev1.PodResizeInProgress, corev1.ConditionTrue, ""), verdict: verdictWaiting},
		"no more pending":          {cores: 2, memory: 1000 * mebi, pod: resizing(corev1.PodResizePending, corev1.ConditionFalse, corev1.PodReasonInfeasible), want: main(`"cpu":"2"`)},
		"resized a while ago":      {cores: 2, memory: 1000 * mebi, pod: managed("resize", 10*time.Minute), want: main(`"cpu":"2"`)},
		"resized just now":         {cores: 2, pod: managed("resize", 10*time.Minute-time.Second), verdict: verdictEarly},
		"written just now":         {cores: 2, memory: 1000 * mebi, pod: managed("status", time.Second), want: main(`"cpu":"2"`)},
		"young":                    {cores: 2, pod: func(p *corev1.Pod) { p.Status.StartTime.Time = start.Add(-9 * time.Minute) }, verdict: verdictEarly},
		"pending":                  {cores: 2, pod: func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, verdict: verdictUnfit},
		"going":                    {cores: 2, pod: func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, verdict: verdictUnfit},
		"of class Guaranteed":      {cores: 2, pod: func(p *corev1.Pod) { p.Status.QOSClass = corev1.PodQOSGuaranteed }, verdict: verdictUnfit},
		"of class BestEffort":      {cores: 2, pod: func(p *corev1.Pod) { p.Status.QOSClass = corev1.PodQOSBestEffort }, verdict: verdictUnfit},
		"static":                   {cores: 2, pod: func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }, verdict: verdictUnfit},
		"of Windows":               {cores: 2, pod: func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }, verdict: verdictUnfit},
		"of Linux":                 {cores: 2, memory: 1000 * mebi, pod: func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Linux} }, want: main(`"cpu":"2"`)},
		"with resources of a pod":  {cores: 2, pod: func(p *corev1.Pod) { p.Spec.Resources = &corev1.ResourceRequirements{} }, verdict: verdictUnfit},
		"restarted for its memory": {cores: 2, memory: 1500 * mebi, pod: restarted(corev1.ResourceMemory), want: main(`"cpu":"2"`)},
		"restarted for its CPU":    {cores: 2, memory: 1500 * mebi, pod: restarted(corev1.ResourceCPU), want: main(`"memory":"1500Mi"`)},
		"what it never requested": {cores: 2, memory: 1500 * mebi, pod: func(p *corev1.Pod) { delete(p.Spec.Containers[0].Resources.Requests, corev1.ResourceMemory) },
			want: main(`"cpu":"2"`)},
		"both containers": {cores: 2, memory: 1000 * mebi, known: func(k *resizeInput) { k.advice.Recommendations[1].Target.CPU = .2 },
			want: patch(`{"name":"main","resources":{"requests":{"cpu":"2"}}},{"name":"proxy","resources":{"requests":{"cpu":"200m"}}}`)},
		"would be Guaranteed": {cores: 9, memory: 9000 * mebi, pod: alone, verdict: verdictGuaranteed},
		"the other one would make it Guaranteed": {cores: 1, memory: 1000 * mebi, known: func(k *resizeInput) {
			k.advice.Recommendations[1].Target = profile.Amounts{CPU: 9, Memory: 1000 * mebi}
		}, pod: func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = p.Spec.Containers[0].Resources.Limits
			p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: corev1.RestartContainer}, {ResourceName: "memory", RestartPolicy: corev1.RestartContainer}}
			proxy := &p.Spec.Containers[1].Resources
			proxy.Limits = corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}
			proxy.Requests["memory"] = proxy.Limits["memory"]
		}, verdict: verdictGuaranteed},
		"nearly Guaranteed": {cores: 9, memory: 1500 * mebi, pod: alone, want: main(`"cpu":"2","memory":"1500Mi"`)},
		"beside an init container": {cores: 9, memory: 9000 * mebi, pod: func(p *corev1.Pod) {
			alone(p)
			p.Spec.InitContainers = []corev1.Container{{Name: "init", RestartPolicy: &always}}
		}, want: main(`"cpu":"2","memory":"2000Mi"`)},
		"beside a strict one": {cores: 9, memory: 9000 * mebi, pod: func(p *corev1.Pod) {
			alone(p)
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Resources: corev1.ResourceRequirements{
				Requests: p.Spec.Containers[0].Resources.Limits, Limits: p.Spec.Containers[0].Resources.Limits,
			}}}
		}, verdict: verdictGuaranteed},
	} {
		t.Run(name, func(t *testing.T) {
			p, k := resizePodFrom(t, test.pod), resizeKnown(test.cores, test.memory)
			if test.known != nil {
				test.known(&k)
			}
			if test.verdict == "" {
				test.verdict = verdictChange
			}
			got, verdict := decideResize(start, &p, k)
			if verdict != test.verdict || string(got) != test.want {
				t.Errorf("%s, %s\nwant %s, %s", verdict, got, test.verdict, test.want)
			}
		})
	}
}

func restarted(name corev1.ResourceName) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{
			{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired}, {ResourceName: name, RestartPolicy: corev1.RestartContainer},
		}
	}
}

// alone leaves only the container with limits.
func alone(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] }

func TestResizeVerdicts(t *testing.T) {
	seen := map[verdict]bool{}
	for _, v := range verdicts {
		if v == "" || seen[v] || strings.ToLower(string(v)) != string(v) {
			t.Errorf("verdict %q", v)
		}
		seen[v] = true
	}
	if len(seen) != 9 {
		t.Errorf("%d verdicts", len(seen))
	}
}

func TestResizeScalingOf(t *testing.T) {
	for metrics, want := range map[string]scaling{
		`[]`: {},
		`[{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]`:                           {cpu: true},
		`[{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 80}}}]`:                        {memory: true},
		`[{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 100m}}}]`:                              {},
		`[{type: ContainerResource, containerResource: {name: cpu, container: a, target: {type: Utilization}}}]`:                   {cpu: true},
		`[{type: Pods, pods: {metric: {name: cpu}, target: {type: AverageValue}}}]`:                                                {},
		`[{type: Resource, resource: {name: ephemeral-storage, target: {type: Utilization}}}]`:                                     {},
		`[{resource: {name: memory, target: {type: Utilization}}}, {containerResource: {name: cpu, target: {type: Utilization}}}]`: {true, true},
	} {
		h := &autoscalingv2.HorizontalPodAutoscaler{}
		h.Namespace = "shop"
		if err := yaml.Unmarshal([]byte(`{spec: {scaleTargetRef: {kind: StatefulSet, name: db}, metrics: `+metrics+`}}`), h); err != nil {
			t.Fatal(err)
		}
		got := scalingOf(h)
		if got.of != (profile.Workload{Namespace: "shop", Kind: "StatefulSet", Name: "db"}) || got.by != want {
			t.Errorf("%s: %+v", metrics, got)
		}
	}
	for by, want := range map[scaling]string{{}: "None", {cpu: true}: "CPU", {memory: true}: "Memory", {true, true}: "CPUAndMemory"} {
		if by.String() != want {
			t.Errorf("%+v: %s", by, by)
		}
	}
}

// For any pod and recommendation, only existing requests change, at most to their limit, and memory
// not below its peak.
func FuzzResizeDecisions(f *testing.F) {
	f.Add([]byte(web), 2., 1e9, 5e8, uint8(0))
	f.Add([]byte(strings.ReplaceAll(web, "1000Mi", "-1")), .1, 1e6, 1e8, uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, cores, bytes, peak float64, scaled uint8) {
		pod := &corev1.Pod{}
		if yaml.Unmarshal(text, pod) != nil || !(cores >= 0) || !(bytes >= 0) || !(peak >= 0) || cores > 1e5 || bytes > 1e14 || peak > 1e14 {
			return
		}
		p, k := resizePodOf(pod), resizeKnown(cores, bytes)
		k.scaled = scaling{scaled&1 > 0, scaled&2 > 0}
		k.peak = func(string) float64 { return peak }
		patch, verdict := decideResize(start, &p, k)
		if (patch != nil) != (verdict == verdictChange) {
			t.Fatalf("%s, %s", verdict, patch)
		}
		if patch == nil {
			return
		}
		var sent struct {
			Spec struct {
				Containers []struct {
					Name      string
					Resources map[string]map[string]resource.Quantity
				}
			}
		}
		if err := json.Unmarshal(patch, &sent); err != nil {
			t.Fatal(err)
		}
		for _, c := range sent.Spec.Containers {
			var was *corev1.Container
			for i := range pod.Spec.Containers {
				if pod.Spec.Containers[i].Name == c.Name && was == nil {
					was = &pod.Spec.Containers[i]
				}
			}
			if was == nil || len(c.Resources) != 1 || len(c.Resources["requests"]) == 0 {
				t.Fatalf("%s", patch)
			}
			for name, q := range c.Resources["requests"] {
				if k.scaled[cpu] && name == "cpu" || k.scaled[memory] && name == "memory" {
					t.Errorf("%s is scaled: %s", name, patch)
				}
				if q.Sign() <= 0 {
					t.Errorf("%s: %s", name, patch)
				}
			}
		}
		if diff := cmp.Diff(string(patch), func() string { b, _ := decideResize(start, &p, k); return string(b) }()); diff != "" {
			t.Error(diff)
		}
	})
}
