package testbed_test

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/testbed"
)

func ExampleParseName() {
	name, err := testbed.ParseName("team/sort")
	fmt.Println(name.Namespace, name.Name, err)
	_, err = testbed.ParseName("sort")
	var bad *field.Error
	fmt.Println(errors.As(err, &bad), errors.Is(err, testbed.ErrInvalid))
	// Output:
	// team sort <nil>
	// true true
}
