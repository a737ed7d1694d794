package picture

import (
	"fmt"
	"math"
	"strings"
)

// palette are the colours that CloudWatch gives to lines, in turn.
var palette = []string{"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd"}

// graph draws lines over time with their axes, threshold and legend.
func (c *canvas) graph(frame area, w widget) error {
	lines, err := w.lines()
	if err != nil {
		return err
	}
	plot := area{frame.x + 52, frame.y + 46, frame.width - 68, frame.height - 96}
	top, step := scale(lines, w)
	c.text("", "start", frame.x+12, frame.y+37, w.Properties.YAxis.Left.Label)
	c.axes(plot, top, step)
	for _, limit := range w.Properties.Annotations.Horizontal {
		y := plot.y + plot.height*(1-limit.Value/top)
		c.add(`<line class="limit" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, plot.x, plot.x+plot.width, y, y)
		c.text("over", "end", plot.x+plot.width, y-4, limit.Label)
	}
	x := plot.x
	for i, line := range lines {
		c.line(plot, line, top, palette[i])
		c.add(`<rect x="%.1f" y="%.1f" width="9" height="9" fill="%s"/>`, x, frame.y+frame.height-19, palette[i])
		c.text("", "start", x+13, frame.y+frame.height-11, line.label)
		x += 30 + 6.2*float64(len(line.label))
	}
	return nil
}

// scale is where the y axis ends, and the distance of its marks.
func scale(lines []line, w widget) (top, step float64) {
	greatest := 1.0
	for _, line := range lines {
		for _, value := range line.values {
			if value > greatest { // NaN is not
				greatest = value
			}
		}
	}
	for _, limit := range w.Properties.Annotations.Horizontal {
		greatest = max(greatest, limit.Value)
	}
	step = math.Pow(10, math.Floor(math.Log10(greatest)))
	for _, part := range []float64{0.25, 0.5} {
		if greatest/step < part*8 {
			step *= part
			break
		}
	}
	return math.Ceil(greatest*1.05/step) * step, step
}

// axes are marked on the left, and each half hour below.
func (c *canvas) axes(plot area, top, step float64) {
	for value := 0.0; value <= top; value += step {
		y := plot.y + plot.height*(1-value/top)
		class := "grid"
		if value == 0 {
			class = "axis"
		}
		c.add(`<line class="%s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, class, plot.x, plot.x+plot.width, y, y)
		c.text("", "end", plot.x-6, y+4, short(value))
	}
	for minute := 0; minute <= minutes; minute += 30 {
		x := plot.x + plot.width*float64(minute)/minutes
		c.text("", "middle", x, plot.y+plot.height+15, fmt.Sprintf("%02d:%02d", 9+minute/60, minute%60))
	}
}

// line connects the values that are there.
func (c *canvas) line(plot area, l line, top float64, colour string) {
	var points []string
	for minute, value := range l.values {
		if !math.IsNaN(value) {
			points = append(points, fmt.Sprintf("%.1f,%.1f", plot.x+plot.width*float64(minute)/minutes, plot.y+plot.height*(1-value/top)))
		}
	}
	if len(points) > 0 {
		c.add(`<polyline stroke="%s" points="%s"/>`, colour, strings.Join(points, " "))
	}
}

// short is a number as an axis has it: 1.5k for 1500.
func short(value float64) string {
	switch {
	case value >= 1_000_000:
		return fmt.Sprintf("%gM", value/1_000_000)
	case value >= 1000:
		return fmt.Sprintf("%gk", value/1000)
	default:
		return fmt.Sprintf("%g", value)
	}
}
