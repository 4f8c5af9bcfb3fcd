// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
)

// mostNamed is how many series have their names below a plot.
const mostNamed = 8

// palette are the colours of series.
var palette = []color.RGBA{
	{R: 0x1f, G: 0x77, B: 0xb4, A: 0xff},
	{R: 0xff, G: 0x7f, B: 0x0e, A: 0xff},
	{R: 0x2c, G: 0xa0, B: 0x2c, A: 0xff},
	{R: 0x94, G: 0x67, B: 0xbd, A: 0xff},
	{R: 0x8c, G: 0x56, B: 0x4b, A: 0xff},
	{R: 0xe3, G: 0x77, B: 0xc2, A: 0xff},
	{R: 0x17, G: 0xbe, B: 0xcf, A: 0xff},
	{R: 0xbc, G: 0xbd, B: 0x22, A: 0xff},
}

// linesOn draws series over time.
func linesOn(c vgdraw.Canvas, p panel) error {
	drawn := plot.New()
	drawn.BackgroundColor = nil
	drawn.X.Tick.Marker = clock{}
	drawn.Y.Tick.Marker = ticks{p.FieldConfig.Defaults.Unit}
	drawn.X.Tick.Label.Font, drawn.Y.Tick.Label.Font = font.From(sans, vg.Points(8)), font.From(sans, vg.Points(8))
	highest := 0.0
	for i, s := range p.series {
		for _, piece := range pieces(s.points) {
			line, err := plotter.NewLine(piece)
			if err != nil {
				return fmt.Errorf("series %s: %w", s.name, err)
			}
			line.Color, line.Width = palette[i%len(palette)], vg.Points(1.2)
			if p.FieldConfig.Defaults.Custom.LineInterpolation == "stepAfter" {
				line.StepStyle = plotter.PostStep
			}
			drawn.Add(line)
			for _, xy := range piece {
				highest = max(highest, xy.Y)
			}
		}
	}
	drawn.Y.Min = 0
	if drawn.Y.Max = highest * 1.1; highest == 0 {
		drawn.Y.Max = 1
	}
	limits(drawn, p)
	names, high := legend(c, p.series)
	drawn.Draw(vgdraw.Crop(c, 0, 0, high, 0))
	for _, n := range names {
		write(c, n.at, n.words, legendSize, n.in, left)
	}
	return nil
}

// legendLine is the height of a line with names of series, below their plot, of which there are two at most.
const legendLine = 12 * vg.Length(1)

// name is where that of a series stands.
type name struct {
	words string
	at    vg.Point
	in    color.Color
}

// legend are the names of the series in the colours of their lines, as many as there is room for; high is what they need.
func legend(c vgdraw.Canvas, all []series) (names []name, high vg.Length) {
	x, line := vg.Length(0), 1
	for i, s := range all {
		wide := styled(legendSize, ink, left).Width(s.name) + 3*gap
		if x+wide > c.Max.X-c.Min.X && x > 0 {
			x, line = 0, line+1
		}
		rest := fmt.Sprintf("and %d more", len(all)-i)
		room := c.Max.X - c.Min.X - styled(legendSize, faint, left).Width(rest)
		if line == 2 && i < len(all)-1 && x+wide > room || line > 2 || i >= mostNamed {
			return placed(append(names, name{rest, vg.Point{X: x, Y: vg.Length(min(line, 2))}, faint}), c, min(line, 2))
		}
		names = append(names, name{s.name, vg.Point{X: x, Y: vg.Length(line)}, palette[i%len(palette)]})
		x += wide
	}
	return placed(names, c, line)
}

// legendSize is that of their letters.
const legendSize = 8

// placed turns lines into places.
func placed(names []name, c vgdraw.Canvas, lines int) ([]name, vg.Length) {
	for i, n := range names {
		names[i].at = vg.Point{X: c.Min.X + n.at.X, Y: c.Min.Y + (vg.Length(lines)-n.at.Y+0.5)*legendLine}
	}
	return names, vg.Length(lines) * legendLine
}

// clock has ticks at round times.
type clock struct{}

// mostTicks is how many times fit below a narrow plot.
const mostTicks = 6

// Ticks are the marks between two times, in seconds since 1970.
func (clock) Ticks(least, most float64) []plot.Tick {
	every, format := 60.0, "15:04"
	for _, each := range []float64{60, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800} {
		if every = each; (most-least)/every <= mostTicks {
			break
		}
	}
	if every >= 43200 {
		format = "01-02 15:04"
	}
	var all []plot.Tick
	for at := math.Ceil(least/every) * every; at <= most; at += every {
		all = append(all, plot.Tick{Value: at, Label: time.Unix(int64(at), 0).UTC().Format(format)})
	}
	return all
}

// limits are the thresholds within the plot, dashed.
func limits(drawn *plot.Plot, p panel) {
	for _, s := range p.FieldConfig.Defaults.Thresholds.Steps {
		if s.Value == nil || *s.Value > drawn.Y.Max || colours[s.Color] == nil {
			continue
		}
		at := plotter.NewFunction(func(float64) float64 { return *s.Value })
		at.Color, at.Width, at.Dashes = colours[s.Color], vg.Points(0.75), []vg.Length{vg.Points(4), vg.Points(3)}
		at.XMin, at.XMax = drawn.X.Min, drawn.X.Max
		drawn.Add(at)
	}
}

// pieces are the points of a series without gaps: a value that is no number, or infinite, ends one.
func pieces(points []model.SamplePair) []plotter.XYs {
	var all []plotter.XYs
	var piece plotter.XYs
	for _, point := range points {
		value := float64(point.Value)
		if math.IsNaN(value) || math.IsInf(value, 0) {
			if len(piece) > 0 {
				all = append(all, piece)
			}
			piece = nil
			continue
		}
		piece = append(piece, plotter.XY{X: float64(point.Timestamp) / 1000, Y: value})
	}
	if len(piece) > 0 {
		all = append(all, piece)
	}
	return all
}

// ticks are those of the axis of values, in their unit.
type ticks struct{ unit string }

// Ticks are the marks between two values.
func (t ticks) Ticks(least, most float64) []plot.Tick {
	all := plot.DefaultTicks{}.Ticks(least, most)
	for i := range all {
		if all[i].Label != "" {
			all[i].Label = shownAs(all[i].Value, t.unit)
		}
	}
	return all
}

// tableOn writes a row for each series: its labels, and its value if that has a unit.
func tableOn(c vgdraw.Canvas, p panel) {
	const size, line = 9, 14
	var names []model.LabelName
	for _, s := range p.series {
		for name := range s.labels {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	wide := len(names)
	unit := p.FieldConfig.Defaults.Unit
	if unit != "" {
		wide++
	}
	column := (c.Max.X - c.Min.X) / vg.Length(max(wide, 1))
	at := func(i, row int) vg.Point {
		return vg.Point{X: c.Min.X + vg.Length(i)*column, Y: c.Max.Y - vg.Length(row)*vg.Points(line) - vg.Points(line)/2}
	}
	for i, name := range names {
		write(c, at(i, 0), string(name), size, faint, left)
	}
	fits := int((c.Max.Y-c.Min.Y)/vg.Points(line)) - 2
	for row, s := range p.series {
		if row == fits {
			write(c, at(0, row+1), fmt.Sprintf("and %d more", len(p.series)-fits), size, faint, left)
			return
		}
		for i, name := range names {
			write(c, at(i, row+1), string(s.labels[name]), size, ink, left)
		}
		if unit != "" {
			write(c, at(len(names), row+1), shownAs(last(s), unit), size, ink, left)
		}
	}
}

// shownAs is a value in its unit, in a few characters.
func shownAs(value float64, unit string) string {
	switch unit {
	case "percentunit":
		return digits(value*100) + " %"
	case "bytes":
		return scaled(value, 1024, "B", "KiB", "MiB", "GiB", "TiB")
	case "s":
		return duration(value)
	case "ops":
		return scaled(value, 1000, "/s", "k/s", "M/s")
	}
	return scaled(value, 1000, "", "k", "M", "G")
}

func scaled(value, by float64, units ...string) string {
	i := 0
	for math.Abs(value) >= by && i < len(units)-1 {
		value /= by
		i++
	}
	number := digits(value)
	if units[i] == "" {
		return number
	}
	return number + " " + units[i]
}

func duration(seconds float64) string {
	size := math.Abs(seconds)
	if size == 0 {
		return "0 s"
	}
	for _, unit := range []struct {
		name  string
		least float64
	}{{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}, {"ms", 0.001}} {
		if size >= unit.least {
			return digits(seconds/unit.least) + " " + unit.name
		}
	}
	return digits(seconds*1e6) + " µs"
}

// digits are three that count, or all before the point.
func digits(value float64) string {
	const whole = 100
	if value >= whole || value <= -whole {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}
