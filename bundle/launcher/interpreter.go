//go:build interpreter

package main

// Python itself: a module like any other, pinned in go.sum. `python -m bundle` takes its files from the module cache,
// leaves out what is unused and packs the rest; linked in whole it would be 20 MB more.
import _ "github.com/kluctl/go-embed-python/python"
