package prometheus_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler/prometheus"
)

var now = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

var web = profile.Workload{Namespace: "shop", Kind: "Deployment", Name: "web"}

// answer formats a range query's answer, one series a text.
func answer(series ...string) string {
	return `{"status":"success","data":{"resultType":"matrix","result":[` + strings.Join(series, ",") + `]}}`
}

func series(pod string, values ...string) string {
	var points []string
	for i, v := range values {
		points = append(points, fmt.Sprintf(`[%d,%q]`, now.Unix()-int64(60*(len(values)-i)), v))
	}
	return fmt.Sprintf(`{"metric":{"pod":%q},"values":[%s]}`, pod, strings.Join(points, ","))
}

// server answers as Prometheus does; asked has its requests.
type server struct {
	*httptest.Server
	mu            sync.Mutex
	asked         []request
	now, mostOnce int
}

type request struct{ query, start, end, step string }

func serve(t testing.TB, answers func(query string) (int, string)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.now++
		s.mostOnce = max(s.mostOnce, s.now)
		s.asked = append(s.asked, request{r.FormValue("query"), r.FormValue("start"), r.FormValue("end"), r.FormValue("step")})
		s.mu.Unlock()
		code, body := answers(r.FormValue("query"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprint(w, body)
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
	}))
	t.Cleanup(s.Close)
	return s
}

func history(t testing.TB, c prometheus.Config) *prometheus.History {
	t.Helper()
	h, err := prometheus.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestDemandOfPods(t *testing.T) {
	s := serve(t, func(query string) (int, string) {
		if strings.Contains(query, "cpu") {
			return 200, answer(series("web-5d4f8c7b9-x2x4v", "0.2", "0.4"), series("web-5d4f8c7b9-zzzzz", "0.5"))
		}
		return 200, answer(series("web-5d4f8c7b9-x2x4v", "1e8", "3e8"), series("web-5d4f8c7b9-zzzzz", "2e8"))
	})
	h := history(t, prometheus.Config{Address: s.URL}.WithPods(2))
	d, err := h.Demand(t.Context(), web, now)
	if err != nil {
		t.Fatal(err)
	}
	// Two pods have means of 0.3 and 0.5 cores, peaks of 300 and 200 MB.
	near := func(got, want float64) bool { return got > want*(1-1e-6) && got < want*(1+1e-6) }
	if !near(d.CPU.Amount, .4) || !near(d.CPU.SD, .1) || !near(d.Memory.Amount, 2.5e8) || d.CPU.Confidence != .5 || d.Memory.Confidence != .5 {
		t.Errorf("demand %+v", d)
	}
	if len(s.asked) != 2 {
		t.Fatalf("%d queries for as many pods as are enough", len(s.asked))
	}
	// The series of each CPU of a cAdvisor are summed.
	if q := s.asked[0].query; strings.Count(q, "(sum without (cpu) (rate(container_cpu_usage_seconds_total{") != 2 {
		t.Errorf("CPU is asked for by %s", q)
	}
	// Of two series of a container the larger counts, and for a pod without named containers its
	// own.
	for _, want := range []string{`namespace="shop"`, `container!=""`, "sum by (pod) (max by (pod, container) (", `or max by (pod) (`, `container=""`} {
		for _, r := range s.asked {
			if !strings.Contains(r.query, want) {
				t.Errorf("%q is not in %q", want, r.query)
			}
		}
	}
	if r := s.asked[0]; r.step != "60" || r.end != fmt.Sprint(now.Unix()) || r.start != fmt.Sprint(now.Add(-59*time.Minute).Unix()) {
		t.Errorf("range %+v", r)
	}
}

// With few pods the whole past is read in chunks, each sample once.
func TestChunks(t *testing.T) {
	s := serve(t, func(string) (int, string) { return 200, answer(series("web-x-zzzzz", "1")) })
	h := history(t, prometheus.Config{Address: s.URL, Back: 6 * time.Hour})
	if _, err := h.Demand(t.Context(), web, now); err != nil {
		t.Fatal(err)
	}
	if len(s.asked) != 12 {
		t.Errorf("%d queries of six hours", len(s.asked))
	}
	if last := s.asked[len(s.asked)-1]; last.start != fmt.Sprint(now.Add(-6*time.Hour+time.Minute).Unix()) {
		t.Errorf("the last begins at %s", last.start)
	}
}

func a(n int) string { return strings.Repeat("a", n) }

func TestPodsAreTheirWorkloadsAlone(t *testing.T) {
	pattern := regexp.MustCompile(`pod=~"([^"]*)"`)
	for _, test := range []struct {
		kind, name string
		yes, no    []string
	}{
		{"Deployment", "web", []string{"web-5d4f8c7b9-x2x4v"}, []string{"web-api-5d4f8c7b9-x2x4v", "web-x2x4v", "web", "aweb-5d4f8c7b9-x2x4v", "web-cache-0"}},
		{"StatefulSet", "db", []string{"db-0", "db-12"}, []string{"db-a", "db-0-0", "mydb-0"}},
		{"DaemonSet", "log.agent", []string{"log.agent-x2x4v"}, []string{"logxagent-x2x4v", "log.agent-0"}},
		{"CronJob", "report", []string{"report-29394720-x2x4v"}, []string{"report-x2x4v"}},
		{"Job", "fit", []string{"fit-x2x4v", "fit-zzzzz-x2x4v"}, []string{"fit-a-x2x4v"}},
		{"Pod", "one", []string{"one", "one-x2x4v"}, []string{"one-two"}},
		{"Rollout", "web", []string{"web-5d4f8c7b9-x2x4v"}, []string{"web-api-5d4f8c7b9-x2x4v", "web-x2x4v"}},
		{"ReplicaSet", "web", []string{"web-x2x4v"}, []string{"web-5d4f8c7b9-x2x4v"}},
		{"DeploymentConfig", "web", []string{"web-3-x2x4v"}, []string{"web-3-deploy", "web-x2x4v"}},
		{"Configuration", "web", []string{"web-00012-deployment-5d4f8c7b9-x2x4v"}, []string{"web-5d4f8c7b9-x2x4v"}},
		{"Job", "fit", []string{"fit-3-x2x4v", "fit-0b8f6f8e-1c1d-4c0a-9f55-0d6d3e1f2a3b-x2x4v"}, nil},
		// The API server keeps 58 bytes before the five that it generates.
		{"Deployment", a(44), []string{a(44) + "-5d4f8c7b9d-2x4v8", a(44) + "-5d4f8c7b-x2x4v", a(44) + "-5d4f8c7b9d-x2x4v"}, []string{a(44) + "-x2x4v"}},
		{"Deployment", a(48), []string{a(48) + "-5d4f8c7b9" + "x2x4v", a(48) + "-5d4f8c7b-x2x4v"}, []string{a(47) + "-5d4f8c7b9-x2x4v"}},
		{"Deployment", a(50), []string{a(50) + "-5d4f8c7" + "x2x4v"}, []string{a(50) + "-5d4f8c7b9d-x2x4v"}},
		{"Deployment", a(57), []string{a(57) + "-" + "x2x4v"}, nil},
		{"Deployment", a(63), []string{a(58) + "x2x4v"}, []string{a(57) + "x2x4v"}},
		{"DaemonSet", a(57), []string{a(57) + "-x2x4v"}, nil},
		{"DaemonSet", a(60), []string{a(58) + "x2x4v"}, []string{a(60) + "-x2x4v"}},
		{"StatefulSet", a(61), []string{a(61) + "-0"}, nil},
		{"StatefulSet", a(52), []string{a(52) + "-10", a(52) + "-1000"}, []string{a(52)}},
		{"Job", "db-migrate", []string{"db-migrate-abc1234-presync-1709500000-x2x4v", "db-migrate4773b9f-presync-1740414585-4tzdn"}, []string{"db-migrate-abc1234-presync-x2x4v"}},
		{"LeaderWorkerSet", "llm", []string{"llm-0", "llm-0-1", "llm-12-3"}, []string{"llm", "llm-0-1-2"}},
		{"BuildConfig", "app", []string{"app-12-build"}, []string{"app-12-deploy", "app-build"}},
		{"AutoscalingRunnerSet", "arc", []string{"arc-x2x4v-runner-h7k2p"}, []string{"arc-x2x4v-listener"}},
		{"ScaledJob", "mails", []string{"mails-bcdfg-x2x4v"}, []string{"mails-urgent-bcdfg-x2x4v"}},
		{"Workflow", "etl", []string{"etl", "etl-x2x4v", "etl-x2x4v-335831723", "etl-x2x4v-load-all-1335831723", "etl-1795867200-load-933488787"}, []string{"etl-extra-x2x4v-load-933488787", "etl-0"}},
		{"Pod", "etl-taskmanager", []string{"etl-taskmanager-1-1", "etl-taskmanager-2-14"}, []string{"etl-taskmanager-5d4f8c7b9-x2x4v"}},
		{"Pod", "pi-exec", []string{"pi-3b2d0a7ed57ea90d-exec-1", "pi-exec-12"}, []string{"pi-3b2d0a7ed57ea90d-driver"}},
		{"CronJob", a(52), []string{a(52) + "-29394" + "x2x4v", a(52) + "-29-3-x2x4v"}, []string{a(52) + "-29394720-x2x4v"}},
		{"CronJob", a(48), []string{a(48) + "-29394720-x2x4v"}, nil},
		{"Job", a(60), []string{a(58) + "x2x4v", a(55) + "-0-x2x4v", a(54) + "-12-x2x4v"}, nil},
		{"Job", a(58), []string{a(58) + "x2x4v"}, nil},
		{"Pod", a(60), []string{a(60), a(58) + "x2x4v"}, nil},
	} {
		var got string
		s := serve(t, func(query string) (int, string) {
			got = pattern.FindStringSubmatch(query)[1]
			return 200, answer()
		})
		of := profile.Workload{Namespace: "shop", Kind: test.kind, Name: test.name}
		h := history(t, prometheus.Config{Address: s.URL, Back: time.Hour})
		if d, err := h.Demand(t.Context(), of, now); err != nil || d != (profile.Demand{}) {
			t.Errorf("%v: %+v, %v", of, d, err)
		}
		var text string // as PromQL reads it
		if err := json.Unmarshal([]byte(`"`+got+`"`), &text); err != nil {
			t.Fatal(err)
		}
		whole := regexp.MustCompile("^(?:" + text + ")$")
		for _, name := range test.yes {
			if !whole.MatchString(name) {
				t.Errorf("%v: %s is not asked about by %s", of, name, text)
			}
		}
		for _, name := range test.no {
			if whole.MatchString(name) {
				t.Errorf("%v: %s is asked about by %s", of, name, text)
			}
		}
	}
	h := history(t, prometheus.Config{Address: "http://127.0.0.1:1"})
	if d, err := h.Demand(t.Context(), profile.Workload{Namespace: "shop", Kind: "Workload", Name: "x"}, now); err != nil || d != (profile.Demand{}) {
		t.Errorf("a workload by annotation: %+v, %v", d, err)
	}
}

// Series that cannot be a pod's usage are skipped and counted.
func TestBadSeries(t *testing.T) {
	s := serve(t, func(string) (int, string) {
		return 200, answer(
			series("good", "0.5"), series("a", "NaN"), series("b", "+Inf"), series("c", "-1"), series("", "1"), series("d", "1e300"), series("e"),
			`{"metric":{"pod":"f"},"values":[[100,"1"],[100,"1"]]}`, `{"metric":{"pod":"g"},"values":[[100,"1"],[40,"1"]]}`,
		)
	})
	h := history(t, prometheus.Config{Address: s.URL, Back: time.Hour})
	d, err := h.Demand(t.Context(), web, now)
	if err != nil || d.CPU.Amount != .5 || d.CPU.SD != 0 {
		t.Errorf("demand %+v, %v", d, err)
	}
	if got := h.Dropped(); got != 16 {
		t.Errorf("%d series dropped, want 8 of each query", got)
	}
}

// An impossible value, as after a counter's overflow, costs only itself.
func TestBadValuesCostNoOthers(t *testing.T) {
	s := serve(t, func(query string) (int, string) {
		if strings.Contains(query, "cpu") {
			// 2^64 ns within five minutes are 61 million cores.
			return 200, answer(series("web-5d4f8c7b9-x2x4v", "0.2", "NaN", "61489146", "-1", "0.4"), series("web-5d4f8c7b9-zzzzz", "61489146"))
		}
		return 200, answer(series("web-5d4f8c7b9-x2x4v", "1e8", "+Inf", "3e8"))
	})
	h := history(t, prometheus.Config{Address: s.URL, Back: time.Hour})
	d, err := h.Demand(t.Context(), web, now)
	near := func(got, want float64) bool { return got > want*(1-1e-6) && got < want*(1+1e-6) }
	if err != nil || !near(d.CPU.Amount, .3) || !near(d.Memory.Amount, 3e8) {
		t.Errorf("demand %+v, %v, want .3 cores and 300 MB", d, err)
	}
	if got := h.Dropped(); got != 1 {
		t.Errorf("%d series dropped, want 1", got)
	}
}

// A failed query costs its own values: those of the other one, and earlier ones, are kept, and the
// rest is unknown.
func TestOneFailedQueryCostsNoOther(t *testing.T) {
	near := func(got, want float64) bool { return got > want*(1-1e-6) && got < want*(1+1e-6) }
	chunks := 0
	for name, c := range map[string]struct {
		fails       func(isCPU bool) bool
		cpu, memory float64
		failed      string
		asked       int
	}{
		"CPU":                      {func(isCPU bool) bool { return isCPU }, 0, 3e8, "container_cpu", 4},
		"memory":                   {func(isCPU bool) bool { return !isCPU }, .4, 0, "container_memory", 4},
		"CPU, of the second chunk": {func(isCPU bool) bool { return isCPU && chunks > 1 }, .4, 3e8, "container_cpu", 5},
	} {
		chunks = 0
		s := serve(t, func(query string) (int, string) {
			isCPU := strings.Contains(query, "container_cpu")
			if isCPU {
				chunks++
			}
			switch {
			case c.fails(isCPU):
				return 500, "internal"
			case isCPU:
				return 200, answer(series("web-5d4f8c7b9-x2x4v", "0.4"))
			}
			return 200, answer(series("web-5d4f8c7b9-x2x4v", "3e8"))
		})
		h := history(t, prometheus.Config{Address: s.URL, Back: 3 * time.Hour})
		d, err := h.Demand(t.Context(), web, now)
		if err == nil || !strings.Contains(err.Error(), c.failed) {
			t.Errorf("%s: %v, want an error of %s", name, err, c.failed)
		}
		for _, share := range []struct {
			got  profile.Share
			want float64
		}{{d.CPU, c.cpu}, {d.Memory, c.memory}} {
			if share.want == 0 && share.got != (profile.Share{}) || share.want > 0 && !near(share.got.Amount, share.want) {
				t.Errorf("%s: %+v, want %v", name, share.got, share.want)
			}
		}
		if got := len(s.asked); got != c.asked {
			t.Errorf("%s: %d queries, want %d: one that failed is not asked again", name, got, c.asked)
		}
	}
}

func TestFailures(t *testing.T) {
	for name, answers := range map[string]func(string) (int, string){
		"500": func(string) (int, string) { return 500, "internal" },
		"503": func(string) (int, string) {
			return 503, `{"status":"error","errorType":"unavailable","error":"starting"}`
		},
		"another type": func(string) (int, string) {
			return 200, `{"status":"success","data":{"resultType":"vector","result":[]}}`
		},
		"no JSON":   func(string) (int, string) { return 200, "<html>" },
		"cut short": func(string) (int, string) { return 200, answer(series("a", "1"))[:40] },
		"unordered types": func(string) (int, string) {
			return 200, `{"status":"success","data":{"resultType":"matrix","result":{}}}`
		},
	} {
		h := history(t, prometheus.Config{Address: serve(t, answers).URL})
		_, err := h.Demand(t.Context(), web, now)
		if err == nil || !strings.Contains(err.Error(), "container_cpu") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := history(t, prometheus.Config{Address: serve(t, func(string) (int, string) { return 200, answer() }).URL})
	if _, err := h.Demand(ctx, web, now); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestAtMostSoManyAtOnce(t *testing.T) {
	s := serve(t, func(string) (int, string) {
		time.Sleep(time.Millisecond)
		return 200, answer()
	})
	h := history(t, prometheus.Config{Address: s.URL, Back: 4 * time.Hour})
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			_, _ = h.Demand(t.Context(), web, now)
		}()
	}
	all.Wait()
	if s.mostOnce > 4 {
		t.Errorf("%d queries at once", s.mostOnce)
	}
}

// A token is sent with each query, as its file has it then; never without TLS.
func TestToken(t *testing.T) {
	var got []string
	tls := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		fmt.Fprint(w, answer())
	}))
	defer tls.Close()
	file, ca := filepath.Join(t.TempDir(), "token"), filepath.Join(t.TempDir(), "ca")
	write := func(name string, text []byte) {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, []byte("one\n"))
	write(ca, pemOf(tls.Certificate().Raw))
	h := history(t, prometheus.Config{Address: tls.URL, CAFile: ca, TokenFile: file, Back: time.Hour})
	_, _ = h.Demand(t.Context(), web, now)
	write(file, []byte("two"))
	_, _ = h.Demand(t.Context(), web, now)
	if len(got) != 4 || got[0] != "Bearer one" || got[3] != "Bearer two" {
		t.Errorf("shown %q", got)
	}
	if err := (prometheus.Config{Address: "http://host", TokenFile: file}).Validate(); err == nil {
		t.Error("a token in plaintext")
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []prometheus.Config{
		{}, {Address: "host:9090"}, {Address: "ftp://host"},
		{Address: "http://host", Back: time.Minute},
	} {
		var name *field.Error
		if _, err := prometheus.New(c); !errors.As(err, &name) || !errors.Is(err, profile.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	var name *field.Error
	if _, err := prometheus.New(prometheus.Config{Address: "https://host", CAFile: "/nonexistent"}); !errors.As(err, &name) || name.Field != "CAFile" {
		t.Errorf("no CA file: %v", err)
	}
}

// For any answer of a server, demands are missing or in range.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{answer(), answer(series("a", "1", "2")), answer(series("a", "NaN")), `{"status":"success"}`, `{"data":{"resultType":"matrix","result":[null]},"status":"success"}`} {
		f.Add(seed)
	}
	var body string
	s := serve(f, func(string) (int, string) { return 200, body })
	h := history(f, prometheus.Config{Address: s.URL, Back: time.Hour})
	f.Fuzz(func(t *testing.T, text string) {
		body = text
		s.mu.Lock()
		s.asked = nil
		s.mu.Unlock()
		d, err := h.Demand(t.Context(), web, now)
		if err != nil {
			return
		}
		if err := d.Validate(); err != nil || d.CPU.Confidence > .5 || d.Memory.Confidence > .5 {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	})
}

func pemOf(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
}
