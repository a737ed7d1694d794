// Package outbox moves events from an outbox to their buses. It knows neither
// PostgreSQL nor AWS: those are behind Store and Publisher.
//
// # A run
//
// Relay.Run starts workers. Each has a session of its own and does, while there
// is time: claim a batch, publish it, settle it. The claim's transaction stays
// open while the batch is published, so the rows of a relay that dies are free
// again as soon as the store notices; nothing has to be repaired. Settling
// records what became of each row and claims the next batch in the same round
// trip.
//
// # What is sent again
//
// A row is marked published only after the bus has said that it accepted this
// very entry. Where that could not be recorded, the row is sent again, with the
// same id. The publisher never retries: what failed goes back to the store, and
// the relay decides when it is claimed again.
//
//   - An entry that was refused for now waits for its retry_at (Transient).
//   - A request that failed as a whole writes nothing to its rows, so that an
//     outage costs none of them an attempt. If its bus took other requests, the
//     rows come back one to a request; else the bus rests, longer each time.
//   - A bus that needs an operator is left out for the rest of the run.
//
// # The floor
//
// Published rows leave dead entries in the index until they can be vacuumed,
// and a long transaction anywhere keeps them. A claim therefore starts after
// the last claimed row, the floor, and walks none of them. Rows that commit
// late or come back are behind the floor: a scan from the front finds them, at
// intervals that grow with what such a scan costs.
//
// # Handing over
//
// A run that polls overlaps with the next one, so that there is always one at
// work. It takes a number once it has claimed, which is when the next one is at
// work too, and looks with each claim at the number that was taken last: once that
// is ahead by as many as are to be at work at once, it finishes what it has
// claimed and ends. A run that starts and cannot claim takes no number, so the
// older one goes on.
//
// # The cleanup
//
// Cleaner.Run sweeps one table after the other. It deletes in batches, each of
// which is a transaction of its own that holds its locks for a fifth of a second
// at the most: a batch that was too much for that is undone and comes again in
// halves, down to a single row, which gets one patient try and is then left to
// the next run. A batch goes on where the last one ended, for the same reason as
// a claim starts at the floor. Only the search for the first row walks what
// earlier runs have left behind, and it holds no locks.
//
// # The lag
//
// LagProbe.Measure needs nothing of the relay's, so that it tells of one that has
// stopped, and it has an error where it could not measure, never a zero. It has
// a floor of its own, from one measurement to the next.
package outbox
