package prometheus_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/profile"
	"github.com/spazio-scheduler/spazio/profile/profiler/prometheus"
)

// A server knows one pod of a Deployment, which used 0.2 and then 0.4 cores and at most 300 MB. The
// mean of its cores and the peak of its memory predict the next pod; one pod has the weight of the
// prior (profile.Blend).
func ExampleHistory_Demand() {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := [2]string{"100000000", "300000000"}
		if strings.Contains(r.FormValue("query"), "cpu") {
			values = [2]string{"0.2", "0.4"}
		}
		fmt.Fprintf(w, `{"status": "success", "data": {"resultType": "matrix", "result": [
			{"metric": {"pod": "web-5d4f8c7b9-x2x4v"}, "values": [[%d, %q], [%d, %q]]}]}}`,
			at.Unix()-60, values[0], at.Unix(), values[1])
	}))
	defer server.Close()
	history, err := prometheus.New(prometheus.Config{Address: server.URL, Back: time.Hour})
	if err != nil {
		panic(err)
	}
	web := profile.Workload{Namespace: "shop", Kind: "Deployment", Name: "web"}
	demand, err := history.Demand(context.Background(), web, at)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.1f cores, %.0f MB, confidence %.1f\n", demand.CPU.Amount, demand.Memory.Amount/1e6, demand.CPU.Confidence)
	// Output: 0.3 cores, 300 MB, confidence 0.5
}
