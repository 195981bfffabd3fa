package page

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// drawing collects SVG; texts of others go through text only.
type drawing struct{ strings.Builder }

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(d, format, args...) }

func (d *drawing) text(x, y float64, anchor, s string) {
	d.add(`<text class="label" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, template.HTMLEscapeString(Clean(s)))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	d.add(`<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

// share is where x lies from low to high, from 0 to 1.
func share(x, low, high float64) float64 {
	if s := (x - low) / (high - low); s > 0 { // not of what is no number
		return min(s, 1)
	}
	return 0
}

const markWidth = 150.0

// ends is the head over the marks: the ends of their scale, where the table says them.
func ends(t Table) template.HTML {
	if t.Say == nil {
		return ""
	}
	low, high := t.scale()
	var d drawing
	d.add(`<svg width="%.0f" height="16" viewBox="0 0 %.0f 16" aria-hidden="true">`, markWidth, markWidth)
	d.text(4, 13, "start", t.Say(low))
	d.text(markWidth-4, 13, "end", t.Say(high))
	d.add(`</svg>`)
	return template.HTML(d.String())
}

// mark is a row's value and interval as a small drawing.
func mark(t Table, r Row) template.HTML {
	const width, height = markWidth, 20.0
	if r.Mark == nil {
		return ""
	}
	low, high := t.scale()
	at := func(x float64) float64 { return 4 + share(x, low, high)*(width-8) }
	var d drawing
	d.add(`<svg width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" aria-hidden="true">`, width, height, width, height)
	d.line("axis", 4, height/2, width-4, height/2)
	if t.Zero && low <= 0 && high >= 0 {
		d.line("zero", at(0), 2, at(0), height-2)
	}
	if m := r.Mark; m.Low != nil && m.High != nil {
		d.line("whisker", at(*m.Low), height/2, at(*m.High), height/2)
		d.line("whisker", at(*m.Low), height/2-4, at(*m.Low), height/2+4)
		d.line("whisker", at(*m.High), height/2-4, at(*m.High), height/2+4)
	}
	d.add(`<circle class="dot" cx="%.1f" cy="%.1f" r="3.5"/></svg>`, at(r.Mark.Value), height/2)
	return template.HTML(d.String())
}

// plot is a chart as SVG, with its values as its title for those who cannot see it.
func plot(c Chart) template.HTML {
	if c.Kind == Bars {
		return barPlot(c)
	}
	return intervalPlot(c)
}

func (c Chart) scale() (low, high float64) {
	low, high = c.Low, c.High
	if low >= high {
		return 0, 1
	}
	return low, high
}

// described is what a chart shows, in words.
func (c Chart) described() string {
	parts := make([]string, 0, len(c.Points))
	for _, p := range c.Points {
		switch {
		case p.Value == nil:
			parts = append(parts, p.Name+": "+p.Why)
		case p.Low != nil && p.High != nil:
			parts = append(parts, fmt.Sprintf("%s: %s (%s to %s)", p.Name, c.say(*p.Value), c.say(*p.Low), c.say(*p.High)))
		default:
			parts = append(parts, p.Name+": "+c.say(*p.Value))
		}
	}
	return template.HTMLEscapeString(Clean(c.Title + ". " + strings.Join(parts, "; ")))
}

// intervalPlot has names along the bottom and values upwards.
func intervalPlot(c Chart) template.HTML {
	const left, right, top, bottom, height = 56.0, 12.0, 12.0, 34.0, 240.0
	step := min(max(900/float64(max(len(c.Points), 1)), 18), 90)
	width := left + right + step*float64(max(len(c.Points), 1))
	low, high := c.scale()
	y := func(x float64) float64 {
		return height - bottom - share(x, low, high)*(height-top-bottom)
	}
	var d drawing
	d.add(`<svg role="img" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f"><title>%s</title>`, width, height, width, height, c.described())
	for _, x := range ticks(low, high) {
		d.line("axis", left, y(x), width-right, y(x))
		d.text(left-8, y(x)+4, "end", c.say(x))
	}
	every := max(1, int(72/step))
	for i, p := range c.Points {
		x := left + step*(float64(i)+0.5)
		if i%every == 0 {
			d.text(x, height-bottom+18, "middle", short(p.Name))
		}
		if p.Value == nil {
			d.text(x, height-bottom-4, "middle", "–")
			continue
		}
		if p.Low != nil && p.High != nil {
			d.line("whisker", x, y(*p.Low), x, y(*p.High))
			d.line("whisker", x-4, y(*p.Low), x+4, y(*p.Low))
			d.line("whisker", x-4, y(*p.High), x+4, y(*p.High))
		}
		d.add(`<circle class="dot" cx="%.1f" cy="%.1f" r="4"/>`, x, y(*p.Value))
	}
	d.add(`</svg>`)
	return template.HTML(d.String())
}

// ticks are round values from low to high, about five.
func ticks(low, high float64) (out []float64) {
	if !(high > low) || math.IsInf(high-low, 0) {
		return nil
	}
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	step := unit
	for _, times := range [...]float64{2, 2.5, 5, 10} {
		if (high-low)/step > 5 {
			step = unit * times
		}
	}
	first := math.Ceil(low/step - 1e-9)
	for i := 0.0; i < 8; i++ {
		if x := (first + i) * step; x <= high+1e-9*step {
			out = append(out, x)
		}
	}
	return out
}

// short is the end of a long name: of dates, month and day.
func short(name string) string {
	if len(name) == len("2006-01-02") && name[4] == '-' && name[7] == '-' {
		return name[5:]
	}
	if r := []rune(name); len(r) > 12 {
		return string(r[:11]) + "…"
	}
	return name
}

func barPlot(c Chart) template.HTML {
	const left, right, row, length = 150.0, 70.0, 22.0, 420.0
	low, high := c.scale()
	width, height := left+length+right, row*float64(len(c.Points))+8
	var d drawing
	d.add(`<svg role="img" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f"><title>%s</title>`, width, height, width, height, c.described())
	d.line("axis", left, 0, left, height)
	for i, p := range c.Points {
		y := 4 + row*float64(i)
		name := []rune(p.Name)
		if len(name) > 22 {
			name = append(name[:21], '…')
		}
		d.text(left-8, y+14, "end", string(name))
		if p.Value == nil {
			d.text(left+8, y+14, "start", p.Why)
			continue
		}
		size := share(*p.Value, low, high) * length
		d.add(`<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2"/>`, left, y+2, size, row-8)
		d.text(left+size+8, y+14, "start", c.say(*p.Value))
	}
	d.add(`</svg>`)
	return template.HTML(d.String())
}
