package tokens

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const sharedData = "../../../../shared/data"

// recorded is up to size bytes of all strings in one source's recorded sessions, in a fixed order.
func recorded(t testing.TB, source string, size int) string {
	var out strings.Builder
	var gather func(v any)
	gather = func(v any) {
		switch x := v.(type) {
		case string:
			out.WriteString(x)
			out.WriteByte('\n')
		case []any:
			for _, e := range x {
				gather(e)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(x)) {
				gather(x[k])
			}
		}
	}
	err := filepath.WalkDir(filepath.Join(sharedData, source), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || out.Len() > size || !slices.Contains([]string{".json", ".jsonl", ".traj"}, filepath.Ext(path)) {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for decoder := json.NewDecoder(bytes.NewReader(body)); out.Len() <= size; {
			var v any
			if decoder.Decode(&v) != nil {
				break // the end, or a damaged line: some are damaged on purpose
			}
			gather(v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text := out.String()
	return strings.ToValidUTF8(text[:min(len(text), size)], "")
}

func sources(t testing.TB) []string {
	entries, err := os.ReadDir(sharedData)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no recorded sessions: %v", err)
		}
		t.Skipf("no recorded sessions beside the module: %v", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestGuessOnRecordedSessions(t *testing.T) {
	tried := 0
	for _, source := range sources(t) {
		text := recorded(t, source, 500_000)
		if len(text) < 4000 {
			continue
		}
		tried++
		counted := o200kCounter.Count(text)
		ratio := float64(Guess(text)) / float64(counted)
		t.Logf("%-26s %7d bytes %7d tokens: guess %.2f, bytes/4 %.2f, cl100k_base %.2f times that",
			source, len(text), counted, ratio, float64(len(text))/4/float64(counted), float64(cl100kCounter.Count(text))/float64(counted))
		if ratio < 0.95 || ratio > 1.3 {
			t.Errorf("%s: the guess is %.2f times o200k_base's count", source, ratio)
		}
	}
	if tried < 10 {
		t.Errorf("only %d sources were tried", tried)
	}
}

// The first article of the Universal Declaration of Human Rights, and what is in transcripts besides prose.
func TestGuessOnOtherScripts(t *testing.T) {
	for name, text := range map[string]string{
		"English":  "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.",
		"French":   "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.",
		"German":   "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
		"Spanish":  "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
		"Russian":  "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства.",
		"Greek":    "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης.",
		"Chinese":  "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
		"Japanese": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。",
		"Korean":   "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다.",
		"Arabic":   "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء.",
		"Hebrew":   "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחווה.",
		"Hindi":    "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।",
		"Thai":     "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ",
		"emoji":    "Great job 🎉🎉 thanks 😀👍 ❤️ see you 👩‍👩‍👧",
		"a hash":   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"Go":       "func (b *bpe) Count(text string) (n int64) {\n\tif text == \"\" {\n\t\treturn 0\n\t}\n\ttext = sent(text)\n",
		"JSON":     `{"role": "assistant", "tool_calls": [{"id": "call_9f2", "function": {"name": "get_user_details", "arguments": "{\"user_id\": \"mia_li_3668\"}"}}]}`,
		"base64":   "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==",
	} {
		least := 0.75
		if name == "base64" {
			least = 0.55 // its pieces look like words
		}
		counted := o200kCounter.Count(text)
		ratio := float64(Guess(text)) / float64(counted)
		t.Logf("%-9s %3d tokens: guess %.2f, bytes/4 %.2f times that", name, counted, ratio, float64(len(text))/4/float64(counted))
		if ratio < least || ratio > 1.3 {
			t.Errorf("%s: the guess is %.2f times o200k_base's count", name, ratio)
		}
	}
}

func TestGuessIsSome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(texts(), rapid.String()).Draw(t, "text")
		if n := Guess(text); n < 0 || (n == 0) != (text == "") {
			t.Fatalf("the guess for %q is %d", text, n)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	sources(b)
	for _, source := range []string{"tau-bench", "swe-agent", "openhands", "sharegpt-openai-chat"} {
		text := recorded(b, source, 500_000)
		for _, c := range []*bpe{o200kCounter, cl100kCounter} {
			b.Run(source+"/"+c.name, func(b *testing.B) {
				c.Count("")
				c.ranks()
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					c.Count(text)
				}
			})
		}
		b.Run(source+"/guess", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Guess(text)
			}
		})
	}
}

// What the first count of a process pays.
func BenchmarkVocabulary(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		readO200k()
	}
}
