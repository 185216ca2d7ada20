package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// self runs `kac self` and returns the exit code. It does not execute unpacked files, because they may be changed.
func self(arguments []string) int {
	if len(arguments) != 1 || arguments[0] != "verify" && arguments[0] != "folder" {
		fmt.Fprint(os.Stderr, "usage: kac self verify    compare the unpacked files with this one\n"+
			"       kac self folder    print the folder they are in\n")
		return usage
	}
	folder, err := unpacked(places(os.Getenv, os.Getuid()))
	if err != nil {
		complain(err)
		return failed
	}
	if arguments[0] == "folder" {
		fmt.Println(harmless(folder))
		return 0
	}
	return verify(folder)
}

// verify prints the SHA-256 of this file, which is published next to the file, and the files of the folder that differ
// from the payload, and returns the exit code.
func verify(folder string) int {
	own, err := os.Executable()
	var sum string
	if err == nil {
		sum, err = digest(own)
	}
	if err != nil {
		complain(err)
		return failed
	}
	fmt.Printf("%s  %s\n", sum, harmless(own))
	if packed := sha256.Sum256(payload); hex.EncodeToString(packed[:]) != identity {
		complain(errors.New("this file is damaged: what it holds has another SHA-256. Copy it again"))
		return failed
	}
	expected := map[string]bool{}
	bad := 0
	report := func(name, what string) {
		bad++
		fmt.Fprintf(os.Stderr, "kac: %s: %s\n", harmless(filepath.Join(folder, name)), what)
	}
	err = walk(func(name string, mode fs.FileMode, content io.Reader) error {
		for part := name; part != "."; part = filepath.Dir(part) {
			expected[part] = true
		}
		wanted, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		path := filepath.Join(folder, name)
		found, err := os.Lstat(path)
		switch {
		case err != nil:
			report(name, reason(err).Error())
		case found.Mode() != mode:
			report(name, fmt.Sprintf("mode %s instead of %s", found.Mode(), mode))
		default:
			there, err := os.ReadFile(path)
			if err != nil {
				report(name, reason(err).Error())
			} else if !bytes.Equal(there, wanted) {
				report(name, "changed")
			}
		}
		return nil
	})
	if err == nil {
		err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if name, _ := filepath.Rel(folder, path); err == nil && name != "." && !expected[name] {
				report(name, "not part of kac")
			}
			return err
		})
	}
	if err != nil {
		complain(err)
		return failed
	}
	if bad > 0 {
		fmt.Fprintf(os.Stderr, "kac: %d of %d files differ. Delete %s: the next start unpacks it again.\n",
			bad, len(expected), harmless(folder))
		return failed
	}
	fmt.Printf("%s: every file is as in it\n", harmless(folder))
	return 0
}

func digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
