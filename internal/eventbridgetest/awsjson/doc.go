// Package awsjson holds what the stand-ins for AWS services have in common: the AWS JSON 1.1 protocol (operation in
// X-Amz-Target, error shape), a check of what can be checked of a signature without the secret key, and an HTTP server on
// loopback whose waiting requests end when it closes.
package awsjson
