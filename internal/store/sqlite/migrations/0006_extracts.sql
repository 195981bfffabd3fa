-- +goose Up

-- What was made of the items of a run that has ended, one row a judge: a cache.
CREATE TABLE extracts (
    run_id  INTEGER NOT NULL,
    judge   INTEGER NOT NULL, -- index into the spec's judges
    format  INTEGER NOT NULL,
    made_at INTEGER NOT NULL,
    kept    BLOB    NOT NULL,
    PRIMARY KEY (run_id, judge)
);

-- +goose Down
DROP TABLE extracts;
