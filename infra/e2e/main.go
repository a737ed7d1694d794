// Command e2e deploys the outbox relay as a user does, by the CDK's command line,
// into an emulator of AWS on this machine, and sees it work against a real
// PostgreSQL: the deployed schedule moves events through a bus and a rule into a
// queue. Then a migration that fails has to fail its deployment, and at last
// nothing may be left of what was deployed.
//
// The emulator is MiniStack, a Python package, in a virtual environment of this
// project. What it cannot show is in docs/e2e.md.
package main

import "os"

func main() { os.Exit(run(os.Stdout, os.Stderr)) }
