// Package eventbridge publishes events to Amazon EventBridge, to the classic event buses. It implements outbox.Publisher:
// what an event looks like on a bus, what fits into one request, and what EventBridge's answers mean for a row.
//
// # From a row to an entry
//
// Pack checks each event against the rules by which EventBridge fails an entry or, worse, a whole request, so that one bad row
// costs its neighbours nothing. An event that breaks one comes back as Poison with a code and a message in AWS's style:
//
//	EventTooLarge                    larger than a request may be, or so large that the store did not transfer it
//	MalformedDetail                  the payload is NULL, empty or no JSON, or holds an integer beyond 64 bits, or nests
//	                                 too deep; raw: it is no object; the headers are neither a JSON object nor null
//	InvalidArgument                  the event type is empty or over 128 characters, the id empty, the bus no name or
//	                                 ARN, created_at infinite or outside the years 0 to 9999
//	NotAuthorizedForSourceException  the source begins with "aws."
//
// The rules are the same in all envelopes, also where the headers are not part of the detail: changing the envelope does not
// change which rows are good. JSON null as headers counts as no headers.
//
// The payload and the headers are checked by one scan and then embedded as they are, byte for byte: decoding them would round
// numbers and reorder keys. No message quotes them; a flaw is named by its offset.
//
// # One layer of retries
//
// The relay decides what is sent again, so the SDK's retries are off and a call is one attempt. The SDK still corrects its
// signing clock by the Date of each reply. A wrong Date costs the next request, which is refused with the right Date and so
// sets the clock again; such refusals are Unavailable and cost no row anything.
//
// # A bus that does not exist
//
// PutEvents answers success for it and drops the events. CheckBus therefore asks DescribeEventBus, at most once a minute and
// bus. Only good answers are kept: a bus that was missing is asked for again, so that a run that finds it created publishes.
//
// With a global endpoint the question goes to the function's own Region and by the bus's name, which the endpoint has in both
// Regions. There BusWarn publishes when no answer comes: a Region that does not answer is what the endpoint is for. BusRequire
// insists on the answer, and so gives that up.
package eventbridge
