module github.com/spazio-scheduler/spazio

go 1.24.0
