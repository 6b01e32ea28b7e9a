module github.com/spazio-scheduler/spazio/filter

go 1.24.0
