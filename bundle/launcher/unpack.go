package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

const partial = ".partial-"

// unpacked returns the folder of the tree, and unpacks it if no place has it.
func unpacked(candidates []place) (string, error) {
	problems := make([]error, len(candidates))
	for number, each := range candidates {
		if problems[number] = each.open(); problems[number] != nil {
			continue
		}
		folder := filepath.Join(each.folder, identity)
		if trusted(folder) == nil && whole(folder) && unix.Access(folder+"/"+interpreter, unix.X_OK) == nil {
			return folder, nil
		}
	}
	for number, each := range candidates {
		if problems[number] != nil {
			continue
		}
		if problems[number] = each.executable(); problems[number] != nil {
			continue
		}
		folder, err := each.unpack()
		if err == nil {
			return folder, nil
		}
		problems[number] = err
	}
	said := make([]string, len(candidates))
	for number, each := range candidates {
		said[number] = fmt.Sprintf("  %s: %s", each.folder, problems[number])
	}
	return "", fmt.Errorf("no folder to unpack into, %d MB are needed:\n%s\n"+
		"Set XDG_CACHE_HOME to a folder of your own that allows execution, or install the deb, the rpm or the wheel",
		unpackedSize()>>20, strings.Join(said, "\n"))
}

// unpack makes the tree under another name and then renames it, so it is complete or missing. A second start waits for
// the first.
func (p place) unpack() (string, error) {
	folder := filepath.Join(p.folder, identity)
	release, alone := lock(filepath.Join(p.folder, ".lock"))
	defer release()
	if trusted(folder) == nil && whole(folder) {
		return folder, nil
	}
	if alone {
		p.clear()
	}
	making, err := os.MkdirTemp(p.folder, partial)
	if err != nil {
		return "", reason(err)
	}
	defer os.RemoveAll(making)
	if err := extract(making); err != nil {
		return "", reason(err)
	}
	err = os.Rename(making, folder)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
		if trusted(folder) == nil && whole(folder) {
			return folder, nil
		}
		// A file is missing in the folder, or other users could write there. Rename it, because a process may use it.
		broken := making + ".broken"
		if err := os.Rename(folder, broken); err != nil {
			return "", reason(err)
		}
		defer os.RemoveAll(broken)
		err = os.Rename(making, folder)
	}
	if err != nil {
		return "", reason(err)
	}
	return folder, nil
}

// clear removes incomplete trees of starts that were killed. Call it only with the lock.
func (p place) clear() {
	left, _ := filepath.Glob(filepath.Join(p.folder, partial+"*"))
	for _, each := range left {
		os.RemoveAll(each)
	}
}

// lock waits for other starts; alone is false if the file system has no locks. Then the first start to rename its tree
// wins.
func lock(file string) (release func(), alone bool) {
	held, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return func() {}, false
	}
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Flock(int(held.Fd()), unix.LOCK_EX)
	}
	return func() { held.Close() }, err == nil
}

// extract writes the tree into an empty folder, and waits until it is on the disk.
func extract(folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	err = walk(func(name string, mode fs.FileMode, content io.Reader) error {
		if parent := filepath.Dir(name); parent != "." {
			if err := root.MkdirAll(parent, 0o700); err != nil {
				return err
			}
		}
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		if _, err = io.Copy(file, content); err != nil {
			file.Close()
			return err
		}
		return file.Close()
	})
	if err != nil {
		return err
	}
	opened, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer opened.Close()
	return unix.Syncfs(int(opened.Fd()))
}

// walk calls visit for each file of the payload, in the payload's order.
func walk(visit func(name string, mode fs.FileMode, content io.Reader) error) error {
	plain, err := zstd.NewReader(bytes.NewReader(payload))
	if err != nil {
		return err
	}
	defer plain.Close()
	archive := tar.NewReader(plain)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("this file is damaged: %w", err)
		}
		if err := visit(header.Name, fs.FileMode(header.Mode).Perm(), archive); err != nil {
			return err
		}
	}
}

// whole reports whether the folder has every file with its size, because programs that clean folders of temporary files
// remove single files.
func whole(folder string) bool {
	if folderOf, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
		defer unix.Close(folderOf)
		var found unix.Stat_t
		for line := range strings.Lines(index) {
			size, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			expected, _ := strconv.ParseInt(size, 10, 64)
			err := unix.Fstatat(folderOf, name, &found, unix.AT_SYMLINK_NOFOLLOW)
			if err != nil || found.Size != expected || found.Mode&unix.S_IFMT != unix.S_IFREG {
				return false
			}
		}
		return true
	}
	return false
}

func unpackedSize() int64 {
	var total int64
	for line := range strings.Lines(index) {
		size, _, _ := strings.Cut(line, " ")
		bytes, _ := strconv.ParseInt(size, 10, 64)
		total += bytes
	}
	return total
}
