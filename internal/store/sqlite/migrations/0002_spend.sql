-- +goose Up

-- What is summed comes before the texts: what lies behind a long one is read through all of it. Sums
-- of money are billionths of a US dollar.
CREATE TABLE attempts_new (
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
    cache_write INTEGER NOT NULL DEFAULT 0,
    output      INTEGER NOT NULL DEFAULT 0,
    reasoning   INTEGER NOT NULL DEFAULT 0,
    reserved    INTEGER, -- the most that the call can cost; unknown: no price is known
    cost        INTEGER,
    model       TEXT    NOT NULL DEFAULT '',
    fingerprint TEXT    NOT NULL DEFAULT '',
    request_id  TEXT    NOT NULL DEFAULT '',
    seen        TEXT    NOT NULL DEFAULT '', -- the hash of a row of seen, which need not be there
    error       TEXT    NOT NULL DEFAULT '',
    raw         TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (run_id, seq, n)
) WITHOUT ROWID;
INSERT INTO attempts_new (run_id, seq, n, epoch, status, class, alone, late, opened_at, wait, call_at, ended_at, http_status,
    retry_after, usage_known, input, cached, output, reasoning, cost, model, fingerprint, error, raw)
SELECT run_id, seq, n, epoch, status, class, alone, late, opened_at, wait, call_at, ended_at, http_status,
    retry_after, usage_known, input, cached, output, reasoning, cost_micros * 1000, model, fingerprint, error, raw
FROM attempts ORDER BY run_id, seq, n;
DROP TABLE attempts;
ALTER TABLE attempts_new RENAME TO attempts;
-- As small as what is in flight: takeovers and counts look nowhere else.
CREATE INDEX attempts_open ON attempts (run_id, epoch) WHERE status = 'open';

-- Of a graded item: its judge saw the transcript with a part left out.
ALTER TABLE items ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;

ALTER TABLE runs ADD COLUMN budget INTEGER; -- unknown: none

-- What people said about models, for all projects.
CREATE TABLE models (
    endpoint   TEXT    NOT NULL,
    model      TEXT    NOT NULL,
    settings   TEXT    NOT NULL, -- JSON
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (endpoint, model)
) WITHOUT ROWID;

-- Transcripts as judges were shown them. They come in the random order of their hashes: the texts fill
-- pages one after the other, and only the narrow index is written all over.
CREATE TABLE seen (
    id         INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    hash       BLOB    NOT NULL, -- the 32 bytes of it
    text       BLOB    NOT NULL, -- zstd
    UNIQUE (project_id, hash)
);

-- +goose Down
DROP TABLE seen;
DROP TABLE models;
ALTER TABLE runs DROP COLUMN budget;
ALTER TABLE items DROP COLUMN cut;

-- Answers about units of items that are not graded are not known there.
DELETE FROM verdicts WHERE EXISTS (SELECT 1 FROM items i WHERE i.run_id = verdicts.run_id AND i.seq = verdicts.seq AND i.state <> 'graded');

CREATE TABLE attempts_old (
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
INSERT INTO attempts_old (run_id, seq, n, epoch, status, class, alone, late, opened_at, wait, call_at, ended_at, http_status,
    retry_after, usage_known, input, cached, output, reasoning, cost_micros, model, fingerprint, error, raw)
SELECT run_id, seq, n, epoch, status, class, alone, late, opened_at, wait, call_at, ended_at, http_status,
    retry_after, usage_known, input, cached, output, reasoning, cost / 1000, model, fingerprint, error, raw
FROM attempts ORDER BY run_id, seq, n;
DROP TABLE attempts;
ALTER TABLE attempts_old RENAME TO attempts;
CREATE INDEX attempts_open ON attempts (run_id, epoch) WHERE status = 'open';
