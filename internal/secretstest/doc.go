// Package secretstest is a stand-in for AWS Secrets Manager: an HTTP server on loopback that answers the real SDK's
// GetSecretValue from secrets a test sets, stages versions as a rotation does, counts calls, and fails when told to.
//
//	srv := secretstest.New(t)
//	srv.Set(arn, `{"username":"relay","password":"first"}`)
//	srv.Script(secretstest.Repeat(2, secretstest.Throttle())...)
package secretstest
