// Package config holds the arguments of the plugins Spazio and SpazioSlots as the
// plugins use them. Package [github.com/spazio-scheduler/spazio/plugin/config/v1] holds the
// form in which a KubeSchedulerConfiguration writes them.
//
// A scheduler that registers both in its own scheme (AddToScheme of each)
// decodes, defaults and converts the arguments together with the rest of its
// configuration, and refuses unknown fields when it reads the file. In one that
// doesn't, the plugin decodes them itself, as strictly.
package config
