package main

import (
	"fmt"
	"strings"

	"assay/internal/assay"
)

// printTranscript prints a conversation for reading. Its text is somebody else's: every line is
// cleaned and indented, so that it can neither drive the terminal nor pass for our own output.
func (a *app) printTranscript(s assay.Session) {
	for i, t := range s.Turns {
		a.print("\n--- turn %d", i)
		if t.AgentVersion != "" {
			a.print("  agent %s", t.AgentVersion)
		}
		a.print("\n")
		for j := range t.Messages {
			a.printMessage(&t.Messages[j])
		}
	}
}

func (a *app) printMessage(m *assay.Message) {
	who := string(m.Role)
	if m.Name != "" {
		who += " " + m.Name
	}
	a.print("%s:\n", who)
	a.printText(m.Reasoning, "  (thinks) ")
	a.printText(m.Content, "  ")
	for _, c := range m.ToolCalls {
		a.print("  calls %s(%s)\n", c.Name, c.Arguments)
	}
	for _, p := range m.Parts {
		a.print("  [%s %s, %d bytes]\n", p.Kind, p.MediaType, len(p.Data))
	}
}

func (a *app) printText(text, indent string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintf(a.out, "%s%s\n", indent, clean(line))
	}
}
