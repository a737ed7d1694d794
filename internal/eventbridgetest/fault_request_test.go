package eventbridgetest_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"outboxrelay/internal/eventbridgetest"
)

func TestRequestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  eventbridgetest.Fault
		status int
		code   string
	}{
		"Throttling":           {eventbridgetest.Throttle(), http.StatusBadRequest, "ThrottlingException"},
		"AnInternalException":  {eventbridgetest.InternalException(), http.StatusInternalServerError, "InternalException"},
		"Unavailability":       {eventbridgetest.Unavailable(), http.StatusServiceUnavailable, "ServiceUnavailable"},
		"AnExpiredToken":       {eventbridgetest.ExpiredToken(), http.StatusBadRequest, "ExpiredTokenException"},
		"DeniedAccess":         {eventbridgetest.AccessDenied(), http.StatusBadRequest, "AccessDeniedException"},
		"AnInvalidSignature":   {eventbridgetest.InvalidSignature(), http.StatusForbidden, "InvalidSignatureException"},
		"ABare413":             {eventbridgetest.TooLarge(), http.StatusRequestEntityTooLarge, "UnknownError"},
		"WhateverIsAskedFor":   {eventbridgetest.Refuse(418, "Teapot", "short"), http.StatusTeapot, "Teapot"},
		"ARefusalWithAddition": {eventbridgetest.Both(nil, eventbridgetest.Refuse(502, "Bad", "")), http.StatusBadGateway, "Bad"},
	} {
		t.Run("Answer"+name+"Once", func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t)
			srv.Script(c.fault)
			_, err := put(t, srv, entry())
			requireRefused(t, err, c.status, c.code, "")
			require.Empty(t, srv.Accepted())
			require.Equal(t, c.status, srv.Requests()[0].Status)

			mustPut(t, srv, entry())
			require.Len(t, srv.Accepted(), 1)
			require.Equal(t, 1, srv.Stats().Refused)
		})
	}

	t.Run("ComeBeforeAWSsOwnRules", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Script(eventbridgetest.Throttle())
		_, err := put(t, srv, events(11)...)
		requireRefused(t, err, http.StatusBadRequest, "ThrottlingException", "Rate exceeded")
		require.Equal(t, "ThrottlingException", srv.Requests()[0].ErrorCode)
	})

	t.Run("MayCarryAHeader", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Script(eventbridgetest.Both(eventbridgetest.Throttle(), eventbridgetest.Header("X-Amz-Retry-After", "1500")))
		require.Equal(t, "1500", post(t, srv, signed(), "{}").header.Get("X-Amz-Retry-After"))
	})
}

func TestLostReplies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault    eventbridgetest.Fault
		accepted int
		outcome  eventbridgetest.Outcome
	}{
		"DroppedConnectionsAcceptNothing":   {eventbridgetest.Drop(), 0, eventbridgetest.Dropped},
		"AcceptThenDropAccepts":             {eventbridgetest.AcceptThenDrop(), 1, eventbridgetest.Dropped},
		"BreakMidBodyAccepts":               {eventbridgetest.BreakMidBody(), 1, eventbridgetest.Dropped},
		"BreakMidBodyAcceptsNothingIfAsked": {eventbridgetest.Both(eventbridgetest.BreakMidBody(), eventbridgetest.WithoutAccepting()), 0, eventbridgetest.Dropped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t)
			srv.Script(c.fault)
			_, err := put(t, srv, entry())
			requireNoReply(t, err)
			require.Len(t, srv.Accepted(), c.accepted)
			require.Equal(t, c.outcome, srv.Requests()[0].Outcome)
			require.Zero(t, srv.Requests()[0].Status)

			mustPut(t, srv, entry())
		})
	}
	for name, c := range map[string]struct {
		fault    eventbridgetest.Fault
		accepted int
	}{
		"HangBeforeHeaders": {eventbridgetest.Hang(), 0},
		"AcceptThenHang":    {eventbridgetest.AcceptThenHang(), 1},
		"HangMidBody":       {eventbridgetest.HangMidBody(), 1},
		"SlowAccept":        {eventbridgetest.SlowAccept(time.Hour), 0},
		"Latency":           {eventbridgetest.Latency(time.Hour), 1},
	} {
		t.Run(name+"EndsWhenTheClientGoesAway", func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t)
			srv.Script(c.fault)
			ctx, leave := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() {
				_, err := putTo(ctx, newClient(srv), entry())
				failed <- err
			}()

			require.NoError(t, srv.WaitRequests(t.Context(), 1))
			require.NoError(t, srv.WaitAccepted(t.Context(), c.accepted))
			require.Equal(t, eventbridgetest.InFlight, srv.Requests()[0].Outcome)
			leave()
			require.ErrorIs(t, <-failed, context.Canceled)

			require.NoError(t, srv.WaitIdle(t.Context()))
			require.Equal(t, eventbridgetest.Abandoned, srv.Requests()[0].Outcome)
			require.Len(t, srv.Accepted(), c.accepted)
		})

		t.Run(name+"EndsWhenTheServerCloses", func(t *testing.T) {
			t.Parallel()
			srv := eventbridgetest.New(t)
			srv.Script(c.fault)
			failed := make(chan error, 1)
			go func() {
				_, err := putTo(t.Context(), newClient(srv), entry())
				failed <- err
			}()

			require.NoError(t, srv.WaitRequests(t.Context(), 1))
			require.NoError(t, srv.WaitAccepted(t.Context(), c.accepted))
			srv.Close()
			requireNoReply(t, <-failed)
		})
	}

	t.Run("AreRetriedByTheSDKAndAcceptedAgain", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Script(eventbridgetest.Repeat(2, eventbridgetest.AcceptThenDrop())...)
		out, err := putTo(t.Context(), newClient(srv, attempts(3)), event("a"))
		require.NoError(t, err)
		require.Equal(t, []string{""}, codes(out))
		require.Len(t, srv.AcceptedByID()["a"], 3)
		require.Contains(t, srv.Requests()[2].Attempt, "attempt=3")
	})
}

func TestLatency(t *testing.T) {
	t.Parallel()

	t.Run("AddsUp", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t, eventbridgetest.WithLatency(10*time.Millisecond))
		srv.Always(eventbridgetest.Latency(10 * time.Millisecond))
		srv.Script(eventbridgetest.Latency(10 * time.Millisecond))
		mustPut(t, srv, entry())
		request := srv.Requests()[0]
		require.GreaterOrEqual(t, request.Ended.Sub(request.Arrived), 30*time.Millisecond)
	})

	t.Run("HoldsNobodyElseUp", func(t *testing.T) {
		t.Parallel()
		const waiting = 200
		srv := eventbridgetest.New(t)
		srv.Always(eventbridgetest.Latency(time.Hour))
		client := newClient(srv)
		var group sync.WaitGroup
		for range waiting {
			group.Go(func() { _, _ = putTo(t.Context(), client, entry()) })
		}

		require.NoError(t, srv.WaitAccepted(t.Context(), waiting))
		require.Equal(t, waiting, srv.MaxInFlight())
		srv.Clear()
		mustPut(t, srv, entry())
		srv.Close()
		group.Wait()
	})

	t.Run("MayLieBetweenTwo", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Script(eventbridgetest.LatencyBetween(7, 10*time.Millisecond, 10*time.Millisecond))
		mustPut(t, srv, entry())
		request := srv.Requests()[0]
		require.GreaterOrEqual(t, request.Ended.Sub(request.Arrived), 10*time.Millisecond)
	})
}

func TestStaleDate(t *testing.T) {
	t.Parallel()

	t.Run("MisleadsTheSDKUntilATrueDateCorrectsIt", func(t *testing.T) {
		t.Parallel()
		srv := eventbridgetest.New(t)
		srv.Script(eventbridgetest.StaleDate(10 * time.Minute))
		client := newClient(srv)
		_, err := putTo(t.Context(), client, entry())
		require.NoError(t, err)
		_, err = putTo(t.Context(), client, entry())
		requireRefused(t, err, http.StatusForbidden, "InvalidSignatureException", "Signature expired")
		require.Len(t, srv.Accepted(), 1)
		_, err = putTo(t.Context(), client, entry())
		require.NoError(t, err)
		require.Len(t, srv.Accepted(), 2)
		require.WithinDuration(t, time.Now().Add(-10*time.Minute), srv.Requests()[1].SignedAt, time.Minute)
	})
}
