package daemontest

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// Account is the user a server runs as. The zero value is the current user.
type Account struct{ credential *syscall.Credential }

// Unprivileged returns the current user, or another one for root: PostgreSQL and PgBouncer refuse to run as root.
func Unprivileged() (Account, error) {
	if os.Geteuid() != 0 {
		return Account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if found, err := user.Lookup(name); err == nil {
			return accountOf(found)
		}
	}
	return Account{}, errors.New("a server cannot run as root, and there is no user postgres or nobody to run it as")
}

// accountOf parses ids as 64 bits and cuts them: nobody is -2 on macOS, which becomes 4294967294.
func accountOf(found *user.User) (Account, error) {
	uid, err := strconv.ParseInt(found.Uid, 10, 64)
	if err != nil {
		return Account{}, fmt.Errorf("user %s: %w", found.Username, err)
	}
	gid, err := strconv.ParseInt(found.Gid, 10, 64)
	if err != nil {
		return Account{}, fmt.Errorf("user %s: %w", found.Username, err)
	}
	return Account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil //nolint:gosec // cut on purpose, see above
}

// Attributes start a process as this user, in a session of its own: an interrupt from the terminal has to reach the
// test only, whose end then ends the server in good order.
func (a Account) Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Credential: a.credential}
}

// Own gives the files to this user.
func (a Account) Own(paths ...string) error {
	if a.credential == nil {
		return nil
	}
	for _, path := range paths {
		if err := os.Chown(path, int(a.credential.Uid), int(a.credential.Gid)); err != nil {
			return err
		}
	}
	return nil
}
