package v1_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spazio-scheduler/spazio/plugin/config"
	configv1 "github.com/spazio-scheduler/spazio/plugin/config/v1"
)

// A scheduler passes the raw arguments of its configuration's pluginConfig; other objects are refused.
func ExampleDecode() {
	o, err := configv1.Decode(&runtime.Unknown{Raw: []byte(`{"stalePolicy": "Reject", "maxWait": "0s"}`)}, config.Kind)
	if err != nil {
		fmt.Println(err)
		return
	}
	args := o.(*configv1.SpazioArgs)
	configv1.SetDefaults(args)
	fmt.Println(args.StalePolicy, args.MaxAge.Duration, args.MaxWait.Duration)
	_, err = configv1.Decode(&runtime.Unknown{Raw: []byte(`{"stalePolice": "Reject"}`)}, config.Kind)
	fmt.Println(err != nil)
	// Output:
	// Reject 5s 0s
	// true
}
