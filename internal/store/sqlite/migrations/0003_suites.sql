-- +goose Up

CREATE TABLE suites (
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name       TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    definition TEXT    NOT NULL, -- JSON
    source     TEXT    NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, name)
);

CREATE TABLE suite_changes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name       TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    definition TEXT    NOT NULL, -- JSON
    applied_at INTEGER NOT NULL
);
CREATE INDEX suite_changes_name ON suite_changes (project_id, name, id);

-- What suite and external runs have beside their row: apart from runs, because a heartbeat rewrites the
-- whole row, and what was asked apart from the facts, because these are rewritten several times a second.
CREATE TABLE suite_runs (
    run_id     INTEGER PRIMARY KEY REFERENCES runs (id),
    project_id INTEGER NOT NULL REFERENCES projects (id),
    suite      TEXT    NOT NULL,
    spec       TEXT    NOT NULL -- JSON
);
-- The newest run of each suite is found by steps from name to name.
CREATE INDEX suite_runs_newest ON suite_runs (project_id, suite, run_id);

-- What is known of the harness: "harness" of a run in JSON, assay.Harness in Go.
CREATE TABLE suite_facts (
    run_id INTEGER PRIMARY KEY REFERENCES suite_runs (run_id),
    facts  TEXT NOT NULL -- JSON
);

-- What a case has beside its item. detail is JSON, compressed with zstd where it is long.
CREATE TABLE cases (
    run_id   INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    case_key TEXT    NOT NULL,
    repeat   INTEGER NOT NULL,
    model    TEXT    NOT NULL DEFAULT '',
    detail   BLOB    NOT NULL,
    PRIMARY KEY (run_id, seq),
    UNIQUE (run_id, case_key, repeat)
);

CREATE TABLE points (
    run_id INTEGER NOT NULL,
    name   TEXT    NOT NULL,
    n      INTEGER NOT NULL, -- grows over all metrics of the run
    value  REAL    NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (run_id, name, n)
) WITHOUT ROWID;

CREATE TABLE schedules (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    name       TEXT    NOT NULL,
    definition TEXT    NOT NULL, -- JSON
    source     TEXT    NOT NULL,
    paused     INTEGER NOT NULL,
    next_at    INTEGER, -- the tick that it owes; unknown: never again
    last       TEXT,    -- JSON
    updated_at INTEGER NOT NULL,
    UNIQUE (project_id, name)
);
CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL AND NOT paused;

-- +goose Down
DROP TABLE schedules;
DROP TABLE points;
DROP TABLE cases;
DROP TABLE suite_facts;
DROP TABLE suite_runs;
DROP TABLE suite_changes;
DROP TABLE suites;

-- Runs of suites are not known there: one that waits would be taken for a grade run.
DELETE FROM verdicts WHERE run_id IN (SELECT id FROM runs WHERE kind IN ('suite', 'external'));
DELETE FROM items WHERE run_id IN (SELECT id FROM runs WHERE kind IN ('suite', 'external'));
DELETE FROM run_judges WHERE run_id IN (SELECT id FROM runs WHERE kind IN ('suite', 'external'));
DELETE FROM run_specs WHERE run_id IN (SELECT id FROM runs WHERE kind IN ('suite', 'external'));
DELETE FROM run_keys WHERE run_id IN (SELECT id FROM runs WHERE kind IN ('suite', 'external'));
DELETE FROM idempotency WHERE run_id IN (SELECT id FROM runs WHERE kind IN ('suite', 'external'));
DELETE FROM runs WHERE kind IN ('suite', 'external');
DELETE FROM version_keys WHERE id NOT IN (SELECT version_key FROM run_judges);
