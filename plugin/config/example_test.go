package config_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spazio-scheduler/spazio/plugin/config"
)

// A scheduler passes the raw arguments of its configuration's pluginConfig; other objects are refused.
func ExampleDecode() {
	args, err := config.Decode[config.SpazioArgs](&runtime.Unknown{Raw: []byte(`{"stalePolicy": "Reject", "maxWait": "0s"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	args = args.WithDefaults()
	fmt.Println(args.StalePolicy, args.MaxAge.Duration, args.MaxWait.Duration)
	_, err = config.Decode[config.SpazioArgs](&runtime.Unknown{Raw: []byte(`{"stalePolice": "Reject"}`)})
	fmt.Println(err != nil)
	// Output:
	// Reject 5s 0s
	// true
}
