// Package main is the launcher of the one-file kac: it finds the unpacked tree, or unpacks it, and executes its Python.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// payload is the tree as a tar archive, compressed with zstd; identity is the payload's SHA-256 in hexadecimal, and the
// name of the folder with the unpacked tree.
//
//go:embed payload/tree.tar.zst
var payload []byte

//go:embed payload/identity
var identity string

// index has a line for each file of the tree: its size in bytes, a space, and its path.
//
//go:embed payload/index
var index string

const (
	failed      = 1
	usage       = 2
	interpreter = "bin/python3.14"
	start       = "import sys; from console.__main__ import main; sys.exit(main())"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(arguments []string) int {
	if len(arguments) > 0 && arguments[0] == "self" {
		return self(arguments[1:])
	}
	folder, err := unpacked(places(os.Getenv, os.Getuid()))
	if err != nil {
		complain(err)
		return failed
	}
	python := folder + "/" + interpreter
	// -I: Python ignores PYTHON… variables, the user's packages and the working folder.
	command := append([]string{python, "-I", "-B", "-c", start}, arguments...)
	err = syscall.Exec(python, command, environment(os.Environ()))
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%s: this host refuses to execute it (%w). Ask whoever keeps its security policy (SELinux, "+
			"fapolicyd, AppArmor) to allow that folder, or set XDG_CACHE_HOME to one that is allowed", python, err)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s cannot start: this host has no glibc loader for it (%w). The file needs glibc 2.28 or "+
			"newer; on a system with musl install kac with pip", python, err)
	}
	complain(err)
	return failed
}

// environment returns the given variables with the path of this file, for `kac doctor`, and with the host's certificate
// authorities, because the embedded OpenSSL looks only in Debian's folder. It keeps authorities that are set already.
func environment(given []string) []string {
	own, err := os.Executable()
	made := make([]string, 0, len(given)+2)
	authorities := true
	for _, each := range given {
		if strings.HasPrefix(each, "KAC_BUNDLE=") {
			continue
		}
		if strings.HasPrefix(each, "SSL_CERT_FILE=") || strings.HasPrefix(each, "SSL_CERT_DIR=") {
			authorities = false
		}
		made = append(made, each)
	}
	if err == nil {
		made = append(made, "KAC_BUNDLE="+own)
	}
	if authorities {
		// The files of Debian, Red Hat (two), SUSE and Alpine.
		for _, file := range []string{
			"/etc/ssl/certs/ca-certificates.crt",
			"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
			"/etc/pki/tls/certs/ca-bundle.crt",
			"/etc/ssl/ca-bundle.pem",
			"/etc/ssl/cert.pem",
		} {
			if found, err := os.Stat(file); err == nil && found.Mode().IsRegular() {
				return append(made, "SSL_CERT_FILE="+file)
			}
		}
	}
	return made
}

func complain(err error) {
	fmt.Fprintf(os.Stderr, "kac: %s\n", harmless(err.Error()))
}

// harmless replaces control characters except line feeds by question marks: names from the environment may have them.
func harmless(text string) string {
	return strings.Map(func(letter rune) rune {
		if letter < ' ' && letter != '\n' || letter >= 0x7f && letter < 0xa0 {
			return '?'
		}
		return letter
	}, text)
}
