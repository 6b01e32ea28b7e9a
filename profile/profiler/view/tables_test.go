package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/api/kube/profile/v1alpha1"
)

// cells returns a table's cells, separated by bars; > marks columns of numbers.
func cells(t table) string {
	text := strings.Join(t.Header, "|")
	for _, row := range t.Rows {
		text += "\n" + strings.Join(row, "|")
	}
	text += "\n"
	for _, right := range t.Right {
		text += map[bool]string{true: ">", false: "<"}[right]
	}
	return text
}

func TestTables(t *testing.T) {
	of := profileOf(t, web)
	of.Spec.Mode = "Off"
	once := profileOf(t, `{metadata: {namespace: shop}, spec: {workload: {kind: Job, name: once}}}`)
	unnamed := *of
	unnamed.Spec.Workload.Kind = ""
	unnamed.Status.Connections = nil
	unnamed.Status.Recommendation = &v1alpha1.Recommendation{ContainerRecommendations: []v1alpha1.ContainerRecommendation{{}}}
	all := []v1alpha1.WorkloadProfile{*of, *once, unnamed}
	for what, test := range map[string]struct {
		table table
		want  string
	}{
		"list": {ListTable(all), `
NAMESPACE|WORKLOAD|CPU|MEMORY|CONFIDENCE|PODS|APPLICATION|CALLS|MODE|CONDITIONS
shop|Deployment/web|250m|200Mi|1|31|front|1|Off|Stale
shop|Job/once|-|-|-|0|-|-|-|-
shop|web|250m|200Mi|1|31|front|-|Off|Stale
<<>>>><>`},
		"calls": {CallTable(Calls(all)), `
NAMESPACE|WORKLOAD|NAMESPACE|CALLS|REQUEST B/S|RESPONSE B/S
shop|Deployment/web|shop|Deployment/db|100|2000
<<<<>>`},
		"advice": {AdviceTable(AdviceOf(all)), `
NAMESPACE|WORKLOAD|CONTAINER|CPU|FROM|TO|MEMORY|FROM|TO
shop|Deployment/web|main|300m|200m|400m|300Mi|250Mi|300Mi
shop|Deployment/web|proxy|0|0|0|20Mi|0|0
shop|web|-|0|0|0|0|0|0
<<<>>>>>>`},
	} {
		if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), cells(test.table)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if none := AdviceOf(nil); none == nil {
		t.Error("no advice is null in JSON")
	}
}
