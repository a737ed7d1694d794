package picture

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

// Pixels of a column and a row of CloudWatch's grid, and between widgets.
const (
	column = 50
	row    = 40
	gap    = 8
)

// style has the colours of a light page, and those of a dark one.
const style = `<style>
text{font-family:"Amazon Ember","Helvetica Neue",Helvetica,Arial,sans-serif;font-size:11px;fill:#414d5c}
.page{fill:#f2f3f3}.card{fill:#fff;stroke:#d5dbdb}.title{font-size:13px;font-weight:bold;fill:#16191f}
.grid{stroke:#e9ebed}.axis{stroke:#aab7b8}.limit{stroke:#d62728;stroke-dasharray:5 3}.over{fill:#d62728}
.ok{fill:#2ca02c}.rings{fill:#d62728}.chip{fill:#fafafa;stroke:#d5dbdb}
polyline{fill:none;stroke-width:1.5;stroke-linejoin:round}
@media (prefers-color-scheme: dark){
text{fill:#b6bec9}.page{fill:#0f141a}.card{fill:#161d26;stroke:#424650}.title{fill:#ebebf0}
.grid{stroke:#2a323d}.axis{stroke:#656871}.limit{stroke:#ff6b6b}.over{fill:#ff6b6b}
.ok{fill:#3dbb52}.rings{fill:#ff6b6b}.chip{fill:#1b232d;stroke:#424650}
}
</style>
`

// canvas collects SVG.
type canvas struct{ strings.Builder }

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

func (c *canvas) text(class, anchor string, x, y float64, text string) {
	c.add(`<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, html.EscapeString(text))
}

// Draw returns the SVG of a dashboard, given its body in JSON. An alarm is called
// as it is in its list. A metric that has no sample data is an error.
func Draw(definition string) (string, error) {
	var parsed body
	if err := json.Unmarshal([]byte(definition), &parsed); err != nil {
		return "", fmt.Errorf("draw dashboard: %w", err)
	}
	width, height := 0, 0
	for _, widget := range parsed.Widgets {
		width = max(width, (widget.X+widget.Width)*column)
		height = max(height, (widget.Y+widget.Height)*row)
	}
	var c canvas
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d">`, width+gap, height+gap)
	c.WriteString(style)
	c.add(`<rect class="page" width="100%%" height="100%%"/>`)
	for _, widget := range parsed.Widgets {
		if err := c.widget(widget); err != nil {
			return "", fmt.Errorf("draw widget %q: %w", widget.Properties.Title, err)
		}
	}
	c.add("</svg>")
	return c.String(), nil
}

func (c *canvas) widget(w widget) error {
	frame := area{
		x: float64(w.X*column + gap), y: float64(w.Y*row + gap),
		width: float64(w.Width*column - gap), height: float64(w.Height*row - gap),
	}
	c.add(`<rect class="card" rx="4" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, frame.x, frame.y, frame.width, frame.height)
	c.text("title", "start", frame.x+12, frame.y+20, w.Properties.Title)
	if w.Type == "alarm" {
		c.alarms(frame, w.Properties.Alarms)
		return nil
	}
	return c.graph(frame, w)
}

// area is a rectangle.
type area struct{ x, y, width, height float64 }

const chipsInRow = 6

// alarms are drawn as CloudWatch does, each with a mark that is green or red.
func (c *canvas) alarms(frame area, names []string) {
	width := (frame.width - 24 - (chipsInRow-1)*gap) / chipsInRow
	for i, name := range names {
		x := frame.x + 12 + float64(i%chipsInRow)*(width+gap)
		y := frame.y + 32 + float64(i/chipsInRow)*(30+gap)
		class, state := "ok", "OK"
		if ringing[name] {
			class, state = "rings", "In alarm"
		}
		c.add(`<rect class="chip" rx="3" x="%.1f" y="%.1f" width="%.1f" height="30"/>`, x, y, width)
		c.add(`<rect class="%s" rx="2" x="%.1f" y="%.1f" width="5" height="30"/>`, class, x, y)
		c.text("", "start", x+14, y+19, name)
		c.text(class, "end", x+width-10, y+19, state)
	}
}
