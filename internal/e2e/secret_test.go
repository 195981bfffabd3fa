package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/internal/judge/llm/llmtest"
)

// Keys from the environment, from a file and from a program stand nowhere: not in the data folder, not in
// the database, not in what any command prints, although the server repeats them wherever it can.
func TestKeysAreNowhere(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		keys := map[string]string{
			"env":     `sk-env-0123/4567+89==ab&cd`,
			"file":    `sk-file-abcdef/gh+ij==kl`,
			"command": `sk-command-zyxwv"uts/rq+po&nm`,
		}
		file := filepath.Join(t.TempDir(), "key")
		program := filepath.Join(t.TempDir(), "print-key")
		for path, text := range map[string]string{file: keys["file"] + "\n", program: "#!/bin/sh\necho '" + keys["command"] + "'\n"} {
			if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		w.env = []string{"ASSAY_JUDGE_SECRET=" + keys["env"]}
		w.model.SetScript(func(r *llmtest.Request) llmtest.Step {
			key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			if key == "" {
				t.Error("a call without a key")
			}
			switch n := ticketOf(r); {
			case n == 0 && !r.Repeated():
				return llmtest.Text("I was asked with the key " + key)
			case n == 1:
				return llmtest.Refusal("not with " + key)
			case n == 2:
				return llmtest.Status(400, fmt.Sprintf(`{"error":{"message":%s,"type":"invalid_request_error"}}`, quoted("bad parameter from "+key)), "X-Request-Id", key)
			case n == 3:
				return llmtest.Page(200, key)
			case n == 4:
				return llmtest.Verdict(map[string]any{"ok": llmtest.Finding{Value: true, Reason: "the key is " + key, Quotes: []string{key}}})
			case n == 5:
				return llmtest.Status(307, "", "Location", "http://127.0.0.1:1/"+url.PathEscape(key))
			}
			return passing(r)
		})
		w.ok("import", w.sessions(8))
		sources := map[string]string{
			"env": "api_key_env: ASSAY_JUDGE_SECRET", "file": "api_key_file: " + file, "command": "api_key_command: [" + program + "]",
		}
		_, log := w.serve()
		var said strings.Builder
		say := func(args ...string) {
			r := w.run(args...)
			said.WriteString(r.out + r.err)
		}
		run := 0
		for name, line := range sources {
			say("judge", "apply", w.judge(name, line, "timeout: 5s"))
			say("judge", "show", name)
			say("judge", "show", name, "--json")
			say("provider", "check", name)
			say("plan", "--judge", name)
			w.ok("grade", "--judge", name, "--detach")
			run++
			id := fmt.Sprintf("r%d", run)
			slowly(t, 30*time.Second, "all but one item end", func() bool {
				v := w.view(id)
				return v.Counts.Total == 8 && v.Counts.Pending <= 1 || v.State.Terminal()
			})
			w.ok("cancel", id, "--now")
			say("runs", "show", id, "--json")
			say("runs", "errors", id)
			say("verdicts", id, "--json")
			for seq := 1; seq <= 8; seq++ {
				say("runs", "item", id, fmt.Sprint(seq), "--raw", []string{"--seen", "--json"}[(seq+run)%2])
			}
		}
		w.model.SetScript(func(r *llmtest.Request) llmtest.Step {
			return llmtest.BadKey(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		})
		for name := range sources {
			say("provider", "check", name)
			say("grade", "--judge", name, "--session", "u7/s000007", "--force")
			say("judge", "try", name, "u6/s000006")
		}
		say("models", "--json")
		say("spend", "--json")
		say("doctor")
		said.WriteString(log.err.String())
		if !strings.Contains(said.String(), "[key]") {
			t.Error("the server repeated the keys, and no output shows where one was")
		}
		for name, key := range keys {
			for form, text := range formsOf(key) {
				if i := strings.Index(said.String(), text); i >= 0 {
					t.Errorf("the key of %s is printed (%s): …%s…", name, form, said.String()[max(0, i-200):i])
				}
				if where := w.stored(t, text); where != "" {
					t.Errorf("the key of %s is stored (%s) in %s", name, form, where)
				}
			}
		}
		log.kill()
	})
}

// formsOf are spellings under which a key might be kept.
func formsOf(key string) map[string]string {
	return map[string]string{
		"plain": key, "JSON": strings.Trim(quoted(key), `"`), "JSON, &": strings.ReplaceAll(strings.Trim(quoted(key), `"`), `\u0026`, "&"), "query": url.QueryEscape(key), "path": url.PathEscape(key),
		"JSON, slashes": strings.ReplaceAll(strings.Trim(quoted(key), `"`), "/", `\/`),
		"base64":        base64.StdEncoding.EncodeToString([]byte(key)), "hex": hex.EncodeToString([]byte(key)),
		"its beginning": key[:12],
	}
}

// stored says where a text stands in the data folder or in the database.
func (w *world) stored(t *testing.T, text string) (where string) {
	t.Helper()
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			where = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.database == "" {
		return where
	}
	conn, err := pgx.Connect(t.Context(), w.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT quote_ident(table_name) FROM information_schema.tables WHERE table_schema = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 10 {
		t.Fatalf("%d tables (%v)", len(tables), err)
	}
	for _, table := range tables {
		var n int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` AS r WHERE strpos(r::text, $1) > 0`, text).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			where = "table " + table
		}
	}
	return where
}
