package main

import (
	"time"

	"github.com/dustin/go-humanize"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// bytesBar shows how much of a file was sent.
type bytesBar struct {
	app      *app
	name     string
	size     int64
	at       time.Time
	progress *mpb.Progress // nil where stderr is no terminal
	bar      *mpb.Bar
}

func (a *app) newBytesBar(name string, size int64) *bytesBar {
	b := &bytesBar{app: a, name: name, size: size, at: time.Now()}
	if a.JSON || !terminal(a.err) {
		return b
	}
	b.progress = mpb.New(mpb.WithOutput(a.err), mpb.WithWidth(100), mpb.WithAutoRefresh())
	b.bar = b.progress.AddBar(size, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(clean(short(name, 40))+" ")),
		mpb.AppendDecorators(decor.Counters(decor.SizeB1000(0), " % .1f / % .1f"), decor.AverageSpeed(decor.SizeB1000(0), "  % .1f"), decor.AverageETA(decor.ET_STYLE_GO)),
	)
	return b
}

// set is called from the goroutine that sends, one call at a time.
func (b *bytesBar) set(sent int64) {
	switch {
	case b.bar != nil:
		b.bar.SetCurrent(sent)
	case !b.app.JSON && time.Since(b.at) >= lineEvery:
		b.at = time.Now()
		b.app.say("%s: %s of %s read", b.name, humanize.Bytes(uint64(sent)), b.sizeText())
	}
}

func (b *bytesBar) sizeText() string {
	if b.size == 0 {
		return "?"
	}
	return humanize.Bytes(uint64(b.size))
}

func (b *bytesBar) end() {
	if b.bar != nil {
		b.bar.Abort(true)
		b.progress.Wait()
	}
}
