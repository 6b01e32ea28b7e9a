// Command scheduler is a kube-scheduler of one's own with the plugin Spazio: all
// that a scheduler's author adds to a main. Its configuration enables the plugin
// in a profile:
//
//	apiVersion: kubescheduler.config.k8s.io/v1
//	kind: KubeSchedulerConfiguration
//	profiles:
//	- schedulerName: mine
//	  percentageOfNodesToScore: 100
//	  plugins: {multiPoint: {enabled: [{name: Spazio, weight: 5}]}}
//	  pluginConfig: [{name: Spazio, args: {stalePolicy: Reject}}]
//
// The module's go.mod shows what k8s.io/kubernetes asks of its users: each of
// its staging modules required at the version that belongs to it.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/spazio-scheduler/spazio/plugin"
)

func main() { os.Exit(cli.Run(newCommand())) }

// newCommand returns kube-scheduler's command with the plugin in its registry.
// One Hub serves all profiles that enable it.
func newCommand() *cobra.Command {
	hub := plugin.NewHub(plugin.HubOptions{})
	return app.NewSchedulerCommand(app.WithPlugin(plugin.Name, hub.New))
}
