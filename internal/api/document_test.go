package api

import "testing"

func TestDocumentBuilds(t *testing.T) {
	doc, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes\n%s", len(doc), doc[:3000])
}
func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		New(Services{})
	}
}
