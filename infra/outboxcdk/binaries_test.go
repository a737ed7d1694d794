package outboxcdk_test

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
)

// scratch is removed by TestMain: templates are shared by tests.
var scratch = func() string {
	dir, err := os.MkdirTemp("", "outboxcdk-test-")
	if err != nil {
		panic(err)
	}
	return dir
}()

// placeholders is a directory of binaries that have a header and nothing else: to
// build the real ones would take longer than all tests.
func placeholders(machine elf.Machine) string {
	dir := filepath.Join(scratch, machine.String())
	for _, function := range []string{"relay", "cleanup", "lag", "migrate", "admin"} {
		path := filepath.Join(dir, function, "bootstrap")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(path, header(machine), 0o755); err != nil {
			panic(err)
		}
	}
	return dir
}

// header is that of a Linux binary for a machine.
func header(machine elf.Machine) []byte {
	bytes := make([]byte, 64)
	copy(bytes, elf.ELFMAG+string([]byte{byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}))
	binary.LittleEndian.PutUint16(bytes[16:], uint16(elf.ET_EXEC))
	binary.LittleEndian.PutUint16(bytes[18:], uint16(machine))
	binary.LittleEndian.PutUint32(bytes[20:], uint32(elf.EV_CURRENT))
	binary.LittleEndian.PutUint16(bytes[52:], 64)
	return bytes
}
