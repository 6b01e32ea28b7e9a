package service

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/plugin/slots"
)

// Names of the profiles, for a pod's schedulerName.
const (
	SpazioProfile  = "spazio"
	SlotsProfile   = "spazio-slots"
	DefaultProfile = corev1.DefaultSchedulerName
)

// spazioWeight makes measured room outweigh each single preference of the
// default profile, of which the strongest, for untainted nodes, weighs 3.
const spazioWeight = 5

// spazioProfile is the default profile and the plugin. All nodes are scored: a
// sample would miss the few that have room.
func spazioProfile(args plugin.SpazioArgs) (configv1.KubeSchedulerProfile, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return configv1.KubeSchedulerProfile{}, fmt.Errorf("encode the plugin's arguments: %w", err)
	}
	return configv1.KubeSchedulerProfile{
		SchedulerName:            new(SpazioProfile),
		PercentageOfNodesToScore: new(int32(100)),
		Plugins: &configv1.Plugins{MultiPoint: configv1.PluginSet{
			Enabled: []configv1.Plugin{{Name: plugin.Name, Weight: new(int32(spazioWeight))}},
		}},
		PluginConfig: []configv1.PluginConfig{{Name: plugin.Name, Args: runtime.RawExtension{Raw: raw}}},
	}, nil
}

// slotsProfile is of the pods in slots of testbeds, whose fit and bind are SpazioSlots'.
// The other preferences are off, as a testbed's user names the slots. Spazio lets the
// pods pass, for they opt out of it, and counts them. All of a pod's nodes are scored:
// one of them has its first slot.
func slotsProfile(args plugin.SpazioArgs, slotsArgs config.SpazioSlotsArgs) (configv1.KubeSchedulerProfile, error) {
	profile, err := spazioProfile(args)
	if err != nil {
		return profile, err
	}
	raw, err := json.Marshal(slotsArgs)
	if err != nil {
		return profile, fmt.Errorf("encode the plugin's arguments: %w", err)
	}
	profile.SchedulerName = new(SlotsProfile)
	profile.Plugins = &configv1.Plugins{
		MultiPoint: configv1.PluginSet{
			Enabled:  []configv1.Plugin{{Name: plugin.Name}, {Name: slots.Name}},
			Disabled: []configv1.Plugin{{Name: names.NodeResourcesFit}, {Name: names.NodeResourcesBalancedAllocation}, {Name: names.DefaultPreemption}, {Name: names.DefaultBinder}},
		},
		PreScore: configv1.PluginSet{Disabled: []configv1.Plugin{{Name: "*"}}},
		Score: configv1.PluginSet{
			Enabled:  []configv1.Plugin{{Name: slots.Name, Weight: new(int32(1))}},
			Disabled: []configv1.Plugin{{Name: "*"}},
		},
	}
	profile.PluginConfig = append(profile.PluginConfig, configv1.PluginConfig{Name: slots.Name, Args: runtime.RawExtension{Raw: raw}})
	return profile, nil
}

// sortShortestFirst has a profile order its pods by ShortestFirst, in the place of PrioritySort.
func sortShortestFirst(p *configv1.KubeSchedulerProfile) {
	if p.Plugins == nil {
		p.Plugins = &configv1.Plugins{}
	}
	p.Plugins.QueueSort = configv1.PluginSet{
		Enabled:  []configv1.Plugin{{Name: plugin.ShortestFirst}},
		Disabled: []configv1.Plugin{{Name: "*"}},
	}
}
