// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"strings"

	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Sizes, in points: of one of the 24 columns of Grafana, of one of its rows, of the title, and of the gap between panels.
const (
	columns     = 24
	columnWidth = 44 * vg.Length(1)
	rowHeight   = 24 * vg.Length(1)
	heading     = 30 * vg.Length(1)
	gap         = 4 * vg.Length(1)
	dpi         = 96
)

// draw writes the picture.
func draw(file, title string, panels []panel, shown prometheus.Range) error {
	lowest := 0
	for _, p := range panels {
		lowest = max(lowest, p.GridPos.Y+p.GridPos.H)
	}
	width, height := columns*columnWidth, vg.Length(lowest)*rowHeight+heading
	var picture vg.CanvasWriterTo = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))}
	if strings.HasSuffix(file, ".svg") {
		picture = vgsvg.New(width, height)
	}
	page := vgdraw.New(picture)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	write(page, vg.Point{X: 2 * gap, Y: height - heading/2}, title+", until "+shown.End.UTC().Format("2006-01-02 15:04 UTC"), 14, ink, left)
	for _, p := range panels {
		if err := panelOn(place(page, p), p); err != nil {
			return fmt.Errorf("panel %s: %w", p.Title, err)
		}
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := picture.WriteTo(out); err != nil {
		_ = out.Close() // the first error says more
		return fmt.Errorf("write %s: %w", file, err)
	}
	return out.Close()
}

// place is the part of the page where a panel is.
func place(page vgdraw.Canvas, p panel) vgdraw.Canvas {
	x, y := vg.Length(p.GridPos.X)*columnWidth, vg.Length(p.GridPos.Y)*rowHeight+heading
	w, h := vg.Length(p.GridPos.W)*columnWidth, vg.Length(p.GridPos.H)*rowHeight
	top := page.Max.Y - y
	return vgdraw.Canvas{Canvas: page.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: x + gap, Y: top - h + gap}, Max: vg.Point{X: x + w - gap, Y: top - gap},
	}}
}

func panelOn(c vgdraw.Canvas, p panel) error {
	if p.Type == "row" {
		write(c, vg.Point{X: c.Min.X + gap, Y: (c.Min.Y + c.Max.Y) / 2}, p.Title, 12, ink, left)
		return nil
	}
	c.SetColor(frame)
	c.SetLineWidth(vg.Points(0.75))
	c.SetLineDash(nil, 0) // the plot before may have left one
	c.Stroke(c.Rectangle.Path())
	write(c, vg.Point{X: c.Min.X + 2*gap, Y: c.Max.Y - 3*gap}, p.Title, 10, ink, left)
	inner := vgdraw.Crop(c, 2*gap, -2*gap, gap, -5*gap)
	switch {
	case len(p.series) == 0:
		write(inner, middle(inner), "no data", 10, faint, centre)
	case p.Type == "stat":
		value := last(p.series[0])
		write(inner, middle(inner), shownAs(value, p.FieldConfig.Defaults.Unit), 22, colourOf(value, p.FieldConfig.Defaults.Thresholds.Steps),
			centre)
	case p.Type == "table":
		tableOn(inner, p)
	default:
		return linesOn(inner, p)
	}
	return nil
}

// last is the newest value of a series that is a number.
func last(s series) float64 {
	for i := len(s.points) - 1; i >= 0; i-- {
		if value := float64(s.points[i].Value); !math.IsNaN(value) {
			return value
		}
	}
	return math.NaN()
}

func middle(c vgdraw.Canvas) vg.Point {
	return vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: (c.Min.Y + c.Max.Y) / 2}
}

// Where a text stands to its point.
const (
	left   = text.XLeft
	centre = text.XCenter
)

func write(c vgdraw.Canvas, at vg.Point, words string, size float64, in color.Color, align text.XAlignment) {
	c.FillText(styled(size, in, align), at, words)
}

func styled(size float64, in color.Color, align text.XAlignment) text.Style {
	return text.Style{
		Color: in, Font: font.From(sans, vg.Points(size)), XAlign: align, YAlign: text.YCenter, Handler: plot.DefaultTextHandler,
	}
}

// sans is the font of all that is written.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

// Colours of what is no series.
var (
	ink   = color.RGBA{R: 0x20, G: 0x22, B: 0x26, A: 0xff}
	faint = color.RGBA{R: 0x90, G: 0x94, B: 0x9a, A: 0xff}
	frame = color.RGBA{R: 0xd8, G: 0xda, B: 0xde, A: 0xff}
)

// colours of thresholds, by the names that Grafana has for them.
var colours = map[string]color.Color{
	"green":  color.RGBA{R: 0x37, G: 0x87, B: 0x2d, A: 0xff},
	"orange": color.RGBA{R: 0xfa, G: 0x64, A: 0xff},
	"red":    color.RGBA{R: 0xc4, G: 0x16, B: 0x2a, A: 0xff},
}

// colourOf a value is that of the last threshold that it reaches.
func colourOf(value float64, steps []threshold) color.Color {
	var in color.Color = ink
	for _, s := range steps {
		if s.Value == nil || value >= *s.Value {
			in = colours[s.Color]
		}
	}
	if in == nil {
		return ink
	}
	return in
}
