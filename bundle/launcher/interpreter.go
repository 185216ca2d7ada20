//go:build interpreter

package main

// This module has the files of Python, and go.sum pins it. `python -m bundle` reads it from the module cache and packs
// only the files that kac uses; linking the whole module would add 20 MB.
import _ "github.com/kluctl/go-embed-python/python"
