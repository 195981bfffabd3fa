package store

import (
	"context"
	"time"

	"assay/internal/assay"
)

// NewSession is one session on its way in: its head (keys, version and ArrivedAt unset) and its
// body, compressed and hashed by Bodies' codec already, so that no transaction waits for that.
type NewSession struct {
	Head   assay.Head
	Body   []byte // compressed, see EncodeBody
	Labels []assay.Label
}

// PutResult says what became of one session.
type PutResult int

const (
	PutNew       PutResult = iota // first content of this session
	PutChanged                    // a new content version
	PutUnchanged                  // the same content is stored already; nothing written
)

// Sessions are heads: everything but the body.
type Sessions interface {
	// Put stores a batch in one transaction and answers for each in order. A session that repeats
	// inside the batch is taken in order. A content that an older version of the session had becomes
	// the present one again (PutChanged, the old content row is reused, so its verdicts are current again);
	// the head is then that of what was put and arrived now. Labels are stored for unchanged content too,
	// once per (content, criterion, criterion version, rater): a rater's new value replaces the old one.
	Put(ctx context.Context, project assay.ProjectID, importID int64, batch []NewSession, now time.Time) ([]PutResult, error)
	Get(ctx context.Context, project assay.ProjectID, user, id string) (assay.Head, error)
	// Contents lists the content versions of a session, newest first.
	Contents(ctx context.Context, key assay.SessionKey) ([]Content, error)
	// List pages through heads in (day, user, session) order; match, where given, is applied to each
	// head while scanning, and the page is filled with matches.
	List(ctx context.Context, project assay.ProjectID, q SessionQuery, p Page) (heads []assay.Head, next string, err error)
	// Scan calls f for every session of a frame, in no order that callers may rely on. It reads a
	// narrow index unless q.Match is set, which needs whole heads. f must not keep the row.
	Scan(ctx context.Context, project assay.ProjectID, q SessionQuery, f func(*FrameRow) error) error
	// Rekey recomputes day, arm and case of up to limit sessions after key and returns the last key
	// done, or 0 when there are no more.
	Rekey(ctx context.Context, project assay.ProjectID, after assay.SessionKey, limit int, f func(*assay.Head)) (assay.SessionKey, error)
	// Count returns how many sessions, contents and body bytes a project holds.
	Count(ctx context.Context, project assay.ProjectID) (Totals, error)
}

// SessionQuery selects sessions. Zero fields select all.
type SessionQuery struct {
	From, To *time.Time // session start in [From, To)
	Undated  bool       // with a window: also those without any time
	Set      int64      // only members of this set
	Labelled bool       // only sessions whose present content has a label
	Match    func(*assay.Head) bool
}

// FrameRow is what planning needs of a session.
type FrameRow struct {
	Key        assay.SessionKey
	Content    assay.ContentKey
	UserID     string
	SessionID  string
	Day        string
	Arm        string
	Undated    bool
	Empty      bool
	SettleFrom int64 // microseconds; 0: settled at once
	ArrivedAt  int64 // microseconds; when the present content was stored
}

// Content is one stored version of a session.
type Content struct {
	Key       assay.ContentKey `json:"-"`
	Hash      assay.Hash       `json:"content_hash"`
	Version   int              `json:"version"`
	ArrivedAt time.Time        `json:"arrived_at"`
	Import    int64            `json:"import,omitempty"`
	Bytes     int64            `json:"bytes"`
	Current   bool             `json:"current"`
}

// Totals of a project.
type Totals struct {
	Sessions int64 `json:"sessions"`
	Contents int64 `json:"contents"`
	Bytes    int64 `json:"bytes"`
	Labels   int64 `json:"labels"`
}

// Bodies are the compressed texts of contents.
type Bodies interface {
	// Get returns the compressed body and its hash; CodeNotFound when it was erased.
	Get(ctx context.Context, key assay.ContentKey) (body []byte, hash assay.Hash, err error)
	// Load reads many at once, in one query, and stops after the one that passes limit bytes. What is
	// erased and what came after the limit is not in the answer: ask for it with Get.
	Load(ctx context.Context, keys []assay.ContentKey, limit int) (map[assay.ContentKey]Body, error)
	// Seen returns a transcript as a judge of the project was shown it (zstd); CodeNotFound when there is
	// none of that hash, or it was erased.
	Seen(ctx context.Context, project assay.ProjectID, hash assay.Hash) ([]byte, error)
}

// Body is a compressed text and its hash.
type Body struct {
	Text []byte
	Hash assay.Hash
}

// Imports

type Import struct {
	ID        int64      `json:"import"`
	File      string     `json:"file"`
	Format    string     `json:"format"`
	By        string     `json:"by,omitempty"`
	State     string     `json:"state"` // running, done, failed; running with a dead owner reads as interrupted
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Bytes     int64      `json:"bytes"`
	New       int64      `json:"new"`
	Changed   int64      `json:"changed"`
	Unchanged int64      `json:"unchanged"`
	Rejected  int64      `json:"rejected"`
	Repaired  int64      `json:"repaired"`
	Labels    int64      `json:"labels"`
	Error     string     `json:"error,omitempty"`
}

// Reject is one piece of a file that did not become a session. Excerpt is at most 500 bytes.
type Reject struct {
	Line    int64  `json:"line"`            // from 1; of its first byte
	Where   string `json:"where,omitempty"` // inside the line, e.g. /3/traj/5
	Reason  string `json:"reason"`
	Excerpt string `json:"excerpt,omitempty"`
}

type Imports interface {
	Start(ctx context.Context, project assay.ProjectID, file, format, by string, now time.Time) (int64, error)
	// Progress stores the running totals and appends rejects (at most MaxRejects are kept per import;
	// the count goes on).
	Progress(ctx context.Context, id int64, totals Import, rejects []Reject) error
	Finish(ctx context.Context, id int64, totals Import, now time.Time) error
	List(ctx context.Context, project assay.ProjectID, p Page) (imports []Import, next string, err error)
	Rejects(ctx context.Context, project assay.ProjectID, id int64, p Page) (rejects []Reject, next string, err error)
	// Interrupt marks every running import as failed ("interrupted"): a new owner calls it at start.
	Interrupt(ctx context.Context, now time.Time) (int64, error)
}

// MaxRejects is how many rejects of one import are kept.
const MaxRejects = 10_000

// Sets

type Set struct {
	ID        int64     `json:"-"`
	Name      string    `json:"name"`
	Members   int64     `json:"members"`
	CreatedAt time.Time `json:"created_at"`
}

type Sets interface {
	Create(ctx context.Context, project assay.ProjectID, name string, now time.Time) (Set, error)
	Get(ctx context.Context, project assay.ProjectID, name string) (Set, error)
	List(ctx context.Context, project assay.ProjectID) ([]Set, error)
	// Add adds members; those already in are left. It returns how many were added.
	Add(ctx context.Context, set int64, keys []assay.SessionKey) (int64, error)
}

// Judges

type Judges interface {
	// Apply stores the version (if new) and points the name at it, together. It says whether the
	// name's version changed.
	Apply(ctx context.Context, project assay.ProjectID, j assay.Judge, v assay.JudgeVersion, now time.Time) (changed bool, err error)
	Get(ctx context.Context, project assay.ProjectID, name string) (assay.Judge, assay.JudgeVersion, error)
	List(ctx context.Context, project assay.ProjectID) ([]assay.Judge, error)
	Version(ctx context.Context, project assay.ProjectID, id assay.Hash) (assay.JudgeVersion, error)
	// History lists the versions that a name has meant, newest first.
	History(ctx context.Context, project assay.ProjectID, name string) ([]JudgeChange, error)
}

type JudgeChange struct {
	Version   assay.Hash `json:"version"`
	AppliedAt time.Time  `json:"applied_at"`
}

// LateStamp is how long a write of sessions may wait for the database before they are stamped anew.
const LateStamp = time.Second

// Stamp is the arrival of sessions that were put at a time and whose write begins only now. A plan takes for
// stored what arrived some seconds before it, so a stamp must not be much older than its write.
func Stamp(at, called time.Time) time.Time {
	if waited := time.Since(called); waited > LateStamp {
		return at.Add(waited)
	}
	return at
}
