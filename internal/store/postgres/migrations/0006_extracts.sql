-- +goose Up

-- What was made of the items of a run that has ended, one row a judge: a cache.
CREATE TABLE extracts (
    run_id  BIGINT NOT NULL,
    judge   BIGINT NOT NULL, -- index into the spec's judges
    format  BIGINT NOT NULL,
    made_at BIGINT NOT NULL,
    kept    BYTEA   NOT NULL,
    PRIMARY KEY (run_id, judge)
);

-- +goose Down
DROP TABLE extracts;
