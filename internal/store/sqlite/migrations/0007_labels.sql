-- +goose Up

ALTER TABLE labels ADD COLUMN decided INTEGER NOT NULL DEFAULT 0;
ALTER TABLE labels ADD COLUMN note    TEXT    NOT NULL DEFAULT '';
ALTER TABLE labels ADD COLUMN use     TEXT    NOT NULL DEFAULT 'measure';
ALTER TABLE labels ADD COLUMN draw    INTEGER NOT NULL DEFAULT 0; -- 0: none; probability 0 is not known
CREATE INDEX labels_criterion ON labels (project_id, criterion, content_id);

-- Contents chosen to be labelled, and with what probability.
CREATE TABLE draws (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    run_id     INTEGER NOT NULL REFERENCES runs (id),
    judge      TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    criterion  TEXT    NOT NULL,
    method     TEXT    NOT NULL,
    seed       TEXT    NOT NULL,
    frame      INTEGER NOT NULL, -- graded sessions that it was drawn from
    by_whom    TEXT    NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX draws_project ON draws (project_id, id);

CREATE TABLE draw_members (
    draw_id     INTEGER NOT NULL REFERENCES draws (id),
    no          INTEGER NOT NULL, -- from 1
    content_id  INTEGER NOT NULL,
    day         TEXT    NOT NULL,
    arm         TEXT    NOT NULL,
    probability REAL    NOT NULL, -- 0: not known
    PRIMARY KEY (draw_id, no)
) WITHOUT ROWID;
CREATE UNIQUE INDEX draw_members_content ON draw_members (draw_id, content_id);

-- +goose Down
DROP TABLE draw_members;
DROP TABLE draws;
DROP INDEX labels_criterion;
ALTER TABLE labels DROP COLUMN draw;
ALTER TABLE labels DROP COLUMN use;
ALTER TABLE labels DROP COLUMN note;
ALTER TABLE labels DROP COLUMN decided;
