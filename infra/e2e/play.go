package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"
)

const (
	// deliveryWait is how long the schedule and what follows it may take: the
	// schedule is of a minute, and the emulator looks at it every ten seconds.
	deliveryWait = 3 * time.Minute
	// batchSize is a setting that changes with each deployment.
	batchSize = "RELAY_BATCH_SIZE"
	// refusal is what migrate says to tables of a newer release.
	refusal = "have version 99, this program knows versions up to"
)

// migrationID is what the migration is called in the stack.
var migrationID = regexp.MustCompile(`OutboxMigration[0-9A-F]{8}`)

// play is the whole story.
func (s *stage) play(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.deployIdle(ctx); err != nil {
		return err
	}
	consumer, err := openConsumer(ctx, s.aws.config())
	if err != nil {
		return err
	}
	if err := s.turnOn(ctx); err != nil {
		return err
	}
	if err := s.deliver(ctx, consumer); err != nil {
		return err
	}
	failed, err := s.refuse(ctx)
	if err != nil {
		return err
	}
	if err := s.recover(ctx, failed); err != nil {
		return err
	}
	s.say("destroying: make destroy")
	if err := consumer.close(ctx); err != nil {
		return err
	}
	return s.destroy(ctx)
}

// prepare does what is there before anybody deploys.
func (s *stage) prepare(ctx context.Context) error {
	secrets, err := createSecrets(ctx, s.aws.config(), s.database)
	if err != nil {
		return err
	}
	s.deployed.configure(secrets)
	s.say("bootstrapping: cdk bootstrap")
	return s.deployed.bootstrap(ctx)
}

// deploy returns what the command line has printed, also if it failed.
func (s *stage) deploy(ctx context.Context) (output string, err error) {
	alarms, err := s.deployed.synthesize(ctx)
	if err != nil {
		return "", err
	}
	s.say("make deploy, without the alarms that MiniStack does not know: %v", alarms)
	return s.deployed.deploy(ctx)
}

// deployIdle deploys with the schedules off, as before a cut-over: migrate makes
// tables and roles, and then the logins of the functions are given their roles.
func (s *stage) deployIdle(ctx context.Context) error {
	s.say("deploying with the schedules off")
	s.deployed.settings["scheduled"] = false
	if _, err := s.deploy(ctx); err != nil {
		return err
	}
	tables, err := s.database.count(ctx, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'outbox%' AND tableowner = '`+
		s.database.logins["migrate"].Name+`'`)
	if err != nil {
		return err
	}
	s.say("migrate has made %d tables", tables)
	return s.database.grantRoles(ctx)
}

// turnOn deploys once more, with the schedules and a setting changed, which has to
// run migrate again: it mends an index.
func (s *stage) turnOn(ctx context.Context) error {
	if err := s.database.execute(ctx, "postgres", "DROP INDEX public.outbox_published"); err != nil {
		return err
	}
	s.say("deploying with the schedules on and another setting")
	s.deployed.settings["scheduled"], s.deployed.settings[batchSize] = true, "400"
	if _, err := s.deploy(ctx); err != nil {
		return err
	}
	indexes, err := s.database.count(ctx, "SELECT count(*) FROM pg_indexes WHERE schemaname = 'public' AND indexname = 'outbox_published'")
	if err != nil {
		return err
	}
	if indexes != 1 {
		return errors.New("migrate was not run again: the index that was dropped is still missing")
	}
	s.say("migrate was run again")
	return s.expectSetting(ctx, "400")
}

// deliver writes events and waits until the deployed schedule has brought them to
// the consumer. Nothing here invokes the relay.
func (s *stage) deliver(ctx context.Context, consumer *consumer) error {
	committed := newEvents(1, eventCount)
	if err := s.database.write(ctx, newEvents(eventCount+1, 3), false); err != nil {
		return err
	}
	if err := s.database.write(ctx, committed, true); err != nil {
		return err
	}
	s.say("%d events are committed, 3 were rolled back; waiting for the schedule", eventCount)
	ledger := &ledger{committed: committed, seen: map[string]bool{}}
	if err := s.await(ctx, consumer, ledger); err != nil {
		return err
	}
	s.say("%d events arrived as they were written, each once", len(ledger.seen))
	return s.settled(ctx)
}

// await receives until the ledger is complete, and once more for what should not
// come.
func (s *stage) await(ctx context.Context, consumer *consumer, ledger *ledger) error {
	ctx, cancel := context.WithTimeoutCause(ctx, deliveryWait, errors.New("the time for it is over"))
	defer cancel()
	for {
		complete := ledger.complete()
		events, err := consumer.receive(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("wait for events: %w: %d of %d arrived, missing are %v",
				context.Cause(ctx), len(ledger.seen), len(ledger.committed), ledger.missing())
		}
		if err != nil {
			return err
		}
		for _, event := range events {
			if err := ledger.enter(event); err != nil {
				return err
			}
		}
		if complete && len(events) == 0 {
			return nil
		}
	}
}

// settled checks what the database and the function admin say now.
func (s *stage) settled(ctx context.Context) error {
	pending, err := s.database.count(ctx, "SELECT count(*) FROM public.outbox WHERE published_at IS NULL")
	if err != nil {
		return err
	}
	published, err := s.database.count(ctx, "SELECT count(*) FROM public.outbox WHERE published_at IS NOT NULL")
	if err != nil {
		return err
	}
	if pending != 0 || published != eventCount {
		return fmt.Errorf("after the delivery %d rows are pending and %d published: expected 0 and %d", pending, published, eventCount)
	}
	status, err := s.status(ctx)
	if err != nil {
		return err
	}
	if status != (adminStatus{}) {
		return fmt.Errorf("admin's status is %+v: expected an outbox with nothing to publish", status)
	}
	s.say("all rows are marked published, and admin says so")
	return nil
}

// refuse has migrate meet tables of a newer release: the deployment has to fail,
// say why, and leave the functions as they were. It returns what was printed.
func (s *stage) refuse(ctx context.Context) (output string, err error) {
	if err := s.database.execute(ctx, "migrate", "INSERT INTO public.outbox_schema (version) VALUES (99)"); err != nil {
		return "", err
	}
	s.say("deploying another setting where the tables are of a newer release, which has to fail")
	s.deployed.settings[batchSize] = "300"
	output, err = s.deploy(ctx)
	if err == nil {
		return "", errors.New("the deployment went well, although its migration could not")
	}
	if !said(output, refusal) {
		return "", fmt.Errorf("the deployment failed, but does not say %q: %w", refusal, err)
	}
	if err := s.expectSetting(ctx, "400"); err != nil {
		return "", err
	}
	s.say("it failed with what migrate says, and the functions have their settings of before")
	return output, nil
}

// recover has the rollback, which runs migrate too and fails for it, leave the
// migration out by its logical id, as docs/deployment.md has it.
func (s *stage) recover(ctx context.Context, failed string) error {
	if err := s.deployed.expectStatus(ctx, "UPDATE_ROLLBACK_FAILED"); err != nil {
		return err
	}
	migration := migrationID.FindString(failed)
	s.say("cdk rollback --orphan %s", migration)
	if err := s.deployed.rollBack(ctx, migration); err != nil {
		return err
	}
	return s.deployed.expectStatus(ctx, "UPDATE_ROLLBACK_COMPLETE")
}

// destroy deletes the stack and looks for what is left.
func (s *stage) destroy(ctx context.Context) error {
	if err := s.deployed.destroy(ctx); err != nil {
		return err
	}
	left, err := s.remains(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("the stack is destroyed, but these are left: %v", left)
	}
	s.say("no function, schedule, queue, bus or log group is left")
	return nil
}
