package documents

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
)

// asKubectl is the environment variable that makes the test's binary act as the part of kubectl that
// the blocks use, besides its plugin.
const asKubectl = "SPAZIO_E2E_KUBECTL"

// kubectl prints the objects of our default manifests that a command selects, pods by their owners. It
// fails if there are none, while kubectl prints nothing.
func kubectl(args []string, out io.Writer) error {
	flags := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	namespace, selector := flags.StringP("namespace", "n", "default", ""), flags.StringP("selector", "l", "", "")
	flags.StringP("output", "o", "", "")
	flags.Int("tail", -1, "")
	flags.Bool("prefix", false, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var kinds []string
	switch words := flags.Args(); {
	case len(words) == 2 && words[0] == "get":
		kinds = strings.Split(words[1], ",")
	case len(words) == 1 && words[0] == "logs" && *selector != "":
		kinds = []string{"pods"}
	default:
		return fmt.Errorf("this kubectl has no %q", words)
	}
	wanted, err := labels.Parse(*selector)
	if err != nil {
		return err
	}
	objects, err := deploy.Config{}.Objects()
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		found := 0
		for _, o := range objects {
			if set, is := asKind(o, kind); is && o.GetNamespace() == *namespace && wanted.Matches(set) {
				fmt.Fprintf(out, "%s: %s %s\n", kind, o.GetKind(), o.GetName())
				found++
			}
		}
		if found == 0 {
			return fmt.Errorf("no %s in %s with labels %q", kind, *namespace, *selector)
		}
	}
	return nil
}

// asKind reports whether an object is of a kind, or creates pods if these are requested, and with which
// labels.
func asKind(o *unstructured.Unstructured, kind string) (labels.Set, bool) {
	if kind != "pods" {
		return o.GetLabels(), strings.ToLower(o.GetKind())+"s" == kind
	}
	template := []string{"spec", "template"}
	if o.GetKind() == "CronJob" {
		template = []string{"spec", "jobTemplate", "spec", "template"}
	}
	of, found, _ := unstructured.NestedStringMap(o.Object, append(slices.Clone(template), "metadata", "labels")...)
	return of, found
}

// Objects that the manifests do not create are not found, under any name.
func TestKubectl(t *testing.T) {
	for args, want := range map[string]string{
		"-n spazio-system get pods -l app.kubernetes.io/name=spazio-scheduler": "pods: Deployment spazio-scheduler\n",
		"-n spazio-agent get pods -o wide":                                     "DaemonSet spazio-agent",
		"-n spazio-system get cronjobs,jobs":                                   "cronjobs: CronJob spazio-certs\njobs: Job spazio-certs-",
		"-n spazio-system logs -l app.kubernetes.io/name=spazio-certs":         "CronJob spazio-certs",
		"-n spazio-system get pods -l app.kubernetes.io/name=spazio-agent":     "",
		"-n spazio-agent get pods -l app=spazio-agent":                         "",
		"get pods":                              "",
		"-n spazio-system get cronjobs,deamons": "",
		"-n spazio-system logs":                 "",
		"-n spazio-system describe pods":        "",
		"-n spazio-system get pods --watching":  "",
	} {
		var out strings.Builder
		if err := kubectl(strings.Fields(args), &out); (err != nil) != (want == "") || !strings.Contains(out.String(), want) {
			t.Errorf("kubectl %s: %q, %v; want %q", args, out.String(), err, want)
		}
	}
}
