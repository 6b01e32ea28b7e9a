module github.com/spazio-scheduler/spazio/external

go 1.26.0

require github.com/spazio-scheduler/spazio/testbed v0.1.0

replace github.com/spazio-scheduler/spazio/testbed => ../testbed
