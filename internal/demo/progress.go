package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	liveEvery  = 100 * time.Millisecond
	plainEvery = 2 * time.Second
	// liveWidth keeps the live line to one line of a usual terminal.
	liveWidth = 79
	// eraseLine returns to the start of the line and clears it.
	eraseLine = "\r\x1b[K"
)

// say tells of something that happens, in a line that stays.
type say func(format string, args ...any)

// counts are the numbers of the moment, of events.
type counts struct {
	committed, delivered, backlog, deleted int

	lag      time.Duration
	lagKnown bool
}

// text is aligned with that of other moments.
func (c counts) text() string {
	lag := "    ?" // what is not known is not 0
	if c.lagKnown {
		lag = fmt.Sprintf("%4.1fs", c.lag.Seconds())
	}
	return fmt.Sprintf("committed %4d  delivered %4d  backlog %4d  lag %s  deleted %4d",
		c.committed, c.delivered, c.backlog, lag, c.deleted)
}

// progress tells what goes on: on a terminal by a line that is rewritten in
// place, elsewhere by a line every two seconds.
type progress struct {
	out   io.Writer
	live  bool
	now   func() time.Time
	began time.Time

	mu    sync.Mutex
	doing string // what was said last
	drawn bool   // the live line is on the screen
}

func newProgress(out io.Writer) *progress {
	return &progress{out: out, live: isTerminal(out), now: time.Now, began: time.Now()}
}

// isTerminal is true for other devices too, which do not mind.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// say prints a line of its own above the live one, which then repeats it.
func (p *progress) say(format string, args ...any) {
	p.note(format, args...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doing = fmt.Sprintf(format, args...)
}

// note prints a line of its own above the live one.
func (p *progress) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintf(p.out, "%s  > %s\n", p.clock(), fmt.Sprintf(format, args...))
}

// show prints the numbers of now.
func (p *progress) show(c counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("%s  %s  %s", p.clock(), c.text(), p.doing)
	if !p.live {
		fmt.Fprintln(p.out, line)
		return
	}
	p.erase()
	fmt.Fprint(p.out, cut(line, liveWidth))
	p.drawn = true
}

// follow shows numbers until it is told to stop.
func (p *progress) follow(ctx context.Context, stop <-chan struct{}, sample func(context.Context) (counts, error)) error {
	every := plainEvery
	if p.live {
		every = liveEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		now, err := sample(ctx)
		if err != nil {
			return err
		}
		p.show(now)
	}
}

// end leaves no live line behind.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *progress) erase() {
	if p.drawn {
		fmt.Fprint(p.out, eraseLine)
		p.drawn = false
	}
}

func (p *progress) clock() string { return fmt.Sprintf("%5.1fs", p.now().Sub(p.began).Seconds()) }

// cut shortens a text to so many characters.
func cut(text string, width int) string {
	runes := []rune(text)
	return string(runes[:min(width, len(runes))])
}
