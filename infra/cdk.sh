#!/bin/sh
# Runs the CDK. What the app says of wrong settings comes last, and not before what
# go and the CDK say of the app, which is only that it failed.
problems=$(mktemp) || exit
trap 'rm -f "$problems"' EXIT INT TERM
OUTBOXRELAY_PROBLEMS=$problems node_modules/.bin/cdk "$@"
status=$?
cat "$problems" >&2
exit $status
