package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// config names a server that does not run, because making a scheduler sends no request.
const config = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: KUBECONFIG}
leaderElection: {leaderElect: false}
profiles:
- schedulerName: mine
  plugins: {multiPoint: {enabled: [{name: Spazio, weight: 5}]}}
  pluginConfig: [{name: Spazio, args: {listen: "127.0.0.1:0", stalePolicy: Panic}}]
`

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none}}]
current-context: none
`

// TestPluginIsRegistered: the plugin itself refuses the configuration.
func TestPluginIsRegistered(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	command := newCommand()
	command.SetArgs([]string{"--secure-port=0", "--config", path("config", strings.ReplaceAll(config, "KUBECONFIG", path("kubeconfig", kubeconfig)))})
	command.SetOut(io.Discard)
	command.SetErr(io.Discard)
	err := command.ExecuteContext(context.Background())
	if err == nil || !strings.Contains(err.Error(), "stalePolicy = Panic") {
		t.Errorf("error %v", err)
	}
}
