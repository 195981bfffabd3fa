-- +goose Up

-- Times are microseconds since 1970 in UTC. Texts that are JSON say so. Hashes are lower-case hex.
-- Columns of the hot tables (items, attempts, verdicts) that change are in no index.

CREATE TABLE projects (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL UNIQUE, -- a project that is being deleted is called "deleted ID"
    settings   TEXT    NOT NULL,        -- JSON
    rekeying   INTEGER NOT NULL DEFAULT 0,
    deleting   INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
);

CREATE TABLE imports (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    file       TEXT    NOT NULL,
    format     TEXT    NOT NULL,
    by_whom    TEXT    NOT NULL,
    state      TEXT    NOT NULL, -- running, done, failed
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    bytes      INTEGER NOT NULL DEFAULT 0,
    new        INTEGER NOT NULL DEFAULT 0,
    changed    INTEGER NOT NULL DEFAULT 0,
    unchanged  INTEGER NOT NULL DEFAULT 0,
    rejected   INTEGER NOT NULL DEFAULT 0,
    repaired   INTEGER NOT NULL DEFAULT 0,
    labels     INTEGER NOT NULL DEFAULT 0,
    error      TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX imports_project ON imports (project_id, id);

CREATE TABLE rejects (
    import_id INTEGER NOT NULL REFERENCES imports (id),
    no        INTEGER NOT NULL, -- from 1
    line      INTEGER NOT NULL,
    place     TEXT    NOT NULL, -- inside the line
    reason    TEXT    NOT NULL,
    excerpt   TEXT    NOT NULL,
    PRIMARY KEY (import_id, no)
) WITHOUT ROWID;

-- A session's head: everything but the body, as of its present content.
CREATE TABLE sessions (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id    INTEGER NOT NULL REFERENCES projects (id),
    content_id    INTEGER NOT NULL, -- present content; 0 only inside the transaction that makes it
    user_id       TEXT    NOT NULL,
    session_id    TEXT    NOT NULL,
    day           TEXT    NOT NULL,
    arm           TEXT    NOT NULL,
    started_at    INTEGER,
    last_turn_at  INTEGER,
    settle_from   INTEGER,
    arrived_at    INTEGER NOT NULL,
    empty         INTEGER NOT NULL,
    case_key      TEXT    NOT NULL,
    source_url    TEXT    NOT NULL,
    agent_version TEXT    NOT NULL,
    source        TEXT    NOT NULL,
    turns         INTEGER NOT NULL,
    messages      INTEGER NOT NULL,
    tool_calls    INTEGER NOT NULL,
    repaired      INTEGER NOT NULL,
    metadata      TEXT, -- JSON
    UNIQUE (project_id, user_id, session_id)
);
-- Lists page in this order; planning reads nothing but this index.
CREATE INDEX sessions_frame ON sessions
    (project_id, day, user_id, session_id, arm, started_at, settle_from, arrived_at, empty, content_id);

CREATE TABLE contents (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_key INTEGER NOT NULL REFERENCES sessions (id),
    hash        TEXT    NOT NULL,
    version     INTEGER NOT NULL, -- from 1 per session
    arrived_at  INTEGER NOT NULL,
    import_id   INTEGER NOT NULL, -- 0: none
    bytes       INTEGER NOT NULL, -- of the canonical JSON
    UNIQUE (session_key, version)
);

CREATE TABLE bodies (
    content_id INTEGER PRIMARY KEY REFERENCES contents (id),
    body       BLOB NOT NULL -- zstd
);

CREATE TABLE sets (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (project_id, name)
);

CREATE TABLE set_members (
    set_id      INTEGER NOT NULL REFERENCES sets (id),
    session_key INTEGER NOT NULL,
    PRIMARY KEY (set_id, session_key)
) WITHOUT ROWID;

CREATE TABLE labels (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id        INTEGER NOT NULL REFERENCES projects (id),
    content_id        INTEGER NOT NULL REFERENCES contents (id),
    criterion         TEXT    NOT NULL,
    criterion_version TEXT    NOT NULL,
    rater             TEXT    NOT NULL,
    value             TEXT    NOT NULL, -- JSON scalar
    blind             INTEGER NOT NULL,
    probability       REAL    NOT NULL,
    created_at        INTEGER NOT NULL,
    UNIQUE (content_id, criterion, criterion_version, rater)
);
CREATE INDEX labels_project ON labels (project_id, id);

CREATE TABLE judge_versions (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    hash       TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    unit       TEXT    NOT NULL,
    criteria   TEXT    NOT NULL, -- JSON
    alias      INTEGER NOT NULL,
    canonical  TEXT    NOT NULL, -- JSON
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, hash)
);

CREATE TABLE judges (
    project_id  INTEGER NOT NULL REFERENCES projects (id),
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    version     TEXT    NOT NULL,
    settings    TEXT, -- JSON
    source      TEXT    NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (project_id, name)
);

CREATE TABLE judge_changes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name       TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    applied_at INTEGER NOT NULL
);
CREATE INDEX judge_changes_name ON judge_changes (project_id, name, id);

-- A small number for (project, judge version), so that items and their index stay narrow.
CREATE TABLE version_keys (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    hash       TEXT    NOT NULL,
    UNIQUE (project_id, hash)
);

CREATE TABLE runs (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id          INTEGER NOT NULL REFERENCES projects (id),
    kind                TEXT    NOT NULL,
    state               TEXT    NOT NULL,
    phase               TEXT    NOT NULL DEFAULT '',
    reason              TEXT    NOT NULL DEFAULT '',
    sentence            TEXT    NOT NULL DEFAULT '',
    by_whom             TEXT    NOT NULL DEFAULT '',
    retry_of            INTEGER NOT NULL DEFAULT 0,
    epoch               INTEGER NOT NULL DEFAULT 0,
    revision            INTEGER NOT NULL DEFAULT 1,
    concurrency         INTEGER NOT NULL,
    stalls              INTEGER NOT NULL DEFAULT 0,
    partial             INTEGER NOT NULL DEFAULT 0,
    as_of               INTEGER NOT NULL,
    created_at          INTEGER NOT NULL,
    started_at          INTEGER,
    ended_at            INTEGER,
    heartbeat_at        INTEGER,
    progress_at         INTEGER,
    wake_at             INTEGER,
    cancel_requested_at INTEGER,
    cancel_now          INTEGER NOT NULL DEFAULT 0,
    pause_requested_at  INTEGER,
    end_requested_at    INTEGER,
    sampled             INTEGER NOT NULL DEFAULT 0, -- sessions
    planned             INTEGER NOT NULL DEFAULT 0, -- items
    left_unsettled      INTEGER NOT NULL DEFAULT 0,
    left_undated        INTEGER NOT NULL DEFAULT 0,
    left_empty          INTEGER NOT NULL DEFAULT 0,
    left_late           INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_project ON runs (project_id, id);
CREATE INDEX runs_active ON runs (id) WHERE state IN ('queued', 'running', 'paused');

-- Apart from runs, because a heartbeat rewrites the whole row.
CREATE TABLE run_specs (
    run_id INTEGER PRIMARY KEY REFERENCES runs (id),
    spec   TEXT NOT NULL -- JSON
);

CREATE TABLE run_judges (
    run_id      INTEGER NOT NULL REFERENCES runs (id),
    judge       INTEGER NOT NULL, -- index into the spec's judges
    name        TEXT    NOT NULL,
    version_key INTEGER NOT NULL REFERENCES version_keys (id),
    PRIMARY KEY (run_id, judge)
) WITHOUT ROWID;

-- One active run per key: written with the run, removed with its terminal state.
CREATE TABLE run_keys (
    project_id INTEGER NOT NULL,
    key        TEXT    NOT NULL,
    run_id     INTEGER NOT NULL REFERENCES runs (id),
    PRIMARY KEY (project_id, key)
) WITHOUT ROWID;
CREATE INDEX run_keys_run ON run_keys (run_id);

CREATE TABLE idempotency (
    project_id INTEGER NOT NULL,
    route      TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    body_hash  TEXT    NOT NULL,
    run_id     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, route, key)
) WITHOUT ROWID;

CREATE TABLE strata (
    run_id   INTEGER NOT NULL REFERENCES runs (id),
    stratum  INTEGER NOT NULL,
    day      TEXT    NOT NULL,
    arm      TEXT    NOT NULL,
    eligible INTEGER NOT NULL,
    sampled  INTEGER NOT NULL,
    PRIMARY KEY (run_id, stratum)
) WITHOUT ROWID;

CREATE TABLE items (
    run_id      INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    content_id  INTEGER NOT NULL,
    session_key INTEGER NOT NULL,
    version_key INTEGER NOT NULL,
    judge       INTEGER NOT NULL,
    repeat      INTEGER NOT NULL,
    stratum     INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    class       TEXT    NOT NULL DEFAULT '',
    pass        INTEGER, -- 0, 1 or unknown
    counted     INTEGER NOT NULL DEFAULT 0,
    crashes     INTEGER NOT NULL DEFAULT 0,
    alone       INTEGER NOT NULL DEFAULT 0,
    not_before  INTEGER,
    origin_run  INTEGER, -- the verdict that it adopted
    origin_seq  INTEGER,
    ended_at    INTEGER,
    error       TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;
-- Unique (run, content, judge, repeat), and the way to a content's items: reuse, retry, sessions.
CREATE UNIQUE INDEX items_content ON items (content_id, version_key, repeat, run_id, judge);

CREATE TABLE attempts (
    run_id      INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    n           INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    status      TEXT    NOT NULL, -- open, done, unknown
    class       TEXT    NOT NULL DEFAULT '',
    alone       INTEGER NOT NULL,
    late        INTEGER NOT NULL DEFAULT 0,
    opened_at   INTEGER NOT NULL,
    wait        INTEGER NOT NULL, -- nanoseconds
    call_at     INTEGER,
    ended_at    INTEGER,
    http_status INTEGER NOT NULL DEFAULT 0,
    retry_after INTEGER NOT NULL DEFAULT 0, -- nanoseconds
    usage_known INTEGER NOT NULL DEFAULT 0,
    input       INTEGER NOT NULL DEFAULT 0,
    cached      INTEGER NOT NULL DEFAULT 0,
    output      INTEGER NOT NULL DEFAULT 0,
    reasoning   INTEGER NOT NULL DEFAULT 0,
    cost_micros INTEGER,
    model       TEXT    NOT NULL DEFAULT '',
    fingerprint TEXT    NOT NULL DEFAULT '',
    error       TEXT    NOT NULL DEFAULT '',
    raw         TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (run_id, seq, n)
) WITHOUT ROWID;
-- As small as what is in flight: takeovers and counts look nowhere else.
CREATE INDEX attempts_open ON attempts (run_id, epoch) WHERE status = 'open';

-- One row per criterion of a unit's answer. An answer without findings is one row whose criterion
-- is ''. unit_pass repeats on the rows of a unit.
CREATE TABLE verdicts (
    run_id    INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    unit      TEXT    NOT NULL,
    criterion TEXT    NOT NULL,
    unit_no   INTEGER NOT NULL, -- order as answered
    no        INTEGER NOT NULL, -- order within the unit
    unit_pass INTEGER,
    value     TEXT, -- JSON scalar
    applies   INTEGER NOT NULL,
    abstained INTEGER NOT NULL,
    reason    TEXT    NOT NULL,
    evidence  TEXT, -- JSON
    PRIMARY KEY (run_id, seq, unit, criterion)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE verdicts;
DROP TABLE attempts;
DROP TABLE items;
DROP TABLE strata;
DROP TABLE idempotency;
DROP TABLE run_keys;
DROP TABLE run_judges;
DROP TABLE run_specs;
DROP TABLE runs;
DROP TABLE version_keys;
DROP TABLE judge_changes;
DROP TABLE judges;
DROP TABLE judge_versions;
DROP TABLE labels;
DROP TABLE set_members;
DROP TABLE sets;
DROP TABLE bodies;
DROP TABLE contents;
DROP TABLE sessions;
DROP TABLE rejects;
DROP TABLE imports;
DROP TABLE projects;
