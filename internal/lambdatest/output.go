package lambdatest

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"sync"
)

// output collects the lines of one stream of the emulator's process.
type output struct {
	read, write *os.File
	ended       chan struct{} // closed when nothing more will come
	take        func(line string)

	mu    sync.Mutex
	marks int
	seen  map[string]chan struct{}
}

// mark is no text that a function prints.
const mark = "\x00mark "

func newOutput(take func(line string)) (*output, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}

	o := &output{read: read, write: write, take: take, ended: make(chan struct{}), seen: map[string]chan struct{}{}}
	go o.collect()
	return o, nil
}

func (o *output) collect() {
	defer close(o.ended)

	lines := bufio.NewReader(o.read)
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		text, number, marked := strings.Cut(line, mark)
		if text != "" || (!marked && err == nil) {
			o.take(text)
		}
		if marked {
			o.reach(number)
		}
		if err != nil {
			return
		}
	}
}

// sync returns when everything is taken that was written before: it writes a
// mark of its own into the pipe and waits for it at the other end.
func (o *output) sync() {
	number, seen := o.expect()
	if _, err := o.write.WriteString(mark + number + "\n"); err != nil { // closed
		<-o.ended
		return
	}
	select {
	case <-seen:
	case <-o.ended:
	}
}

func (o *output) expect() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.marks++
	number, seen := strconv.Itoa(o.marks), make(chan struct{})
	o.seen[number] = seen
	return number, seen
}

func (o *output) reach(number string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if seen, ok := o.seen[number]; ok {
		close(seen)
		delete(o.seen, number)
	}
}

// close ends the stream, once no process writes to it anymore.
func (o *output) close() {
	o.write.Close()
	<-o.ended
	o.read.Close()
}
