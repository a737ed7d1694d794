package eventbridge

import "outboxrelay/internal/outbox"

// Pack walks the events once and keeps one request open for each bus, so that full requests come of mixed buses too. A request
// is closed when the next event of its bus does not fit, also if a later one would: within a bus the order stays.
func (p *Publisher) Pack(events []outbox.Event) ([]outbox.Request, []outbox.Outcome) {
	packing := packing{maxEntries: p.config.MaxEntries, maxBytes: p.config.MaxBytes, open: map[string]openRequest{}}
	for i := range events {
		if entry, fault := p.entry(&events[i]); fault != nil {
			packing.poison = append(packing.poison, fault.outcome(&events[i]))
		} else {
			packing.add(entry, len(events)-i)
		}
	}
	return packing.requests, packing.poison
}

type packing struct {
	maxEntries, maxBytes int

	open     map[string]openRequest // by bus
	requests []outbox.Request
	poison   []outbox.Outcome
}

// openRequest may take further entries.
type openRequest struct {
	index int // in packing.requests
	size  int // bytes of its entries
}

// add puts an entry into a request; left is how many events are still to come, with this one.
func (p *packing) add(entry outbox.Entry, left int) {
	bus := entry.Event.Bus

	request, ok := p.open[bus]
	if !ok || entry.Event.Alone || !p.fits(request, entry) {
		request = p.begin(bus, min(left, p.maxEntries))
	}

	entries := &p.requests[request.index].Entries
	*entries = append(*entries, entry)
	request.size += entry.Size
	p.open[bus] = request
	if entry.Event.Alone {
		delete(p.open, bus)
	}
}

func (p *packing) fits(request openRequest, entry outbox.Entry) bool {
	return len(p.requests[request.index].Entries) < p.maxEntries && request.size+entry.Size <= p.maxBytes
}

func (p *packing) begin(bus string, room int) openRequest {
	p.requests = append(p.requests, outbox.Request{Bus: bus, Entries: make([]outbox.Entry, 0, room)})
	return openRequest{index: len(p.requests) - 1}
}
