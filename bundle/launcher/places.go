package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// place is a folder of this user that has an unpacked tree for each version.
type place struct {
	folder string
	// below is a folder that has to exist, or the place can't be used; "" if any folder may be created.
	below string
}

const (
	unmapped    = 65534
	mayExecute  = 0o700
	othersWrite = 0o022
)

// places returns the places for trees, best first. getenv returns a variable of this process; uid is that of its user.
func places(getenv func(string) string, uid int) []place {
	found := []place{}
	if cache := getenv("XDG_CACHE_HOME"); filepath.IsAbs(cache) {
		found = append(found, place{filepath.Join(cache, "kac"), ""})
	} else if home := getenv("HOME"); filepath.IsAbs(home) {
		found = append(found, place{filepath.Join(home, ".cache", "kac"), home})
	}
	for _, shared := range []string{"/var/tmp", "/dev/shm"} {
		found = append(found, place{filepath.Join(shared, "kac-"+strconv.Itoa(uid)), shared})
	}
	return found
}

// open makes the folder if it is missing, and returns an error if the place can't be used: if it can't be made, or if
// other users could change it.
func (p place) open() error {
	if p.below != "" {
		if _, err := os.Stat(p.below); err != nil {
			return reason(err)
		}
	}
	if err := os.MkdirAll(p.folder, mayExecute); err != nil {
		return reason(err)
	}
	if err := trusted(p.folder); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(p.folder))
	if err != nil {
		return reason(err)
	}
	return safeAbove(real)
}

// executable returns an error if files in the place can't be written or executed; call it before unpacking.
func (p place) executable() error {
	probe, err := os.CreateTemp(p.folder, ".probe-")
	if err != nil {
		return reason(err)
	}
	defer os.Remove(probe.Name())
	defer probe.Close()
	if err := probe.Chmod(mayExecute); err != nil {
		return reason(err)
	}
	if unix.Access(probe.Name(), unix.X_OK) != nil {
		return errors.New("mounted noexec: files there can't be executed")
	}
	return nil
}

// trusted returns an error if another user may have written to a folder, or if it is no folder. It follows no link.
func trusted(folder string) error {
	found, err := os.Lstat(folder)
	if err != nil {
		return reason(err)
	}
	if !found.IsDir() {
		return fmt.Errorf("%s is not a folder", filepath.Base(folder))
	}
	if owner := found.Sys().(*syscall.Stat_t).Uid; int(owner) != os.Getuid() {
		return fmt.Errorf("%s belongs to user %d, not to you", filepath.Base(folder), owner)
	}
	if found.Mode().Perm()&othersWrite != 0 {
		return fmt.Errorf("%s is writable by others (mode %04o); chmod go-w it", filepath.Base(folder), found.Mode().Perm())
	}
	return nil
}

// safeAbove returns an error if another user could replace a folder of the path. folder has no links.
func safeAbove(folder string) error {
	for {
		found, err := os.Lstat(folder)
		if err != nil {
			return reason(err)
		}
		owner := int(found.Sys().(*syscall.Stat_t).Uid)
		// In a user namespace, the host's root has the user id of nobody.
		if owner != 0 && owner != os.Getuid() && owner != unmapped {
			return fmt.Errorf("%s above it belongs to user %d", folder, owner)
		}
		if found.Mode().Perm()&othersWrite != 0 && found.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("%s above it is writable by others (mode %04o)", folder, found.Mode().Perm())
		}
		if folder == "/" {
			return nil
		}
		folder = filepath.Dir(folder)
	}
}

// reason returns an error without its path, because the message names the path before the error.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
