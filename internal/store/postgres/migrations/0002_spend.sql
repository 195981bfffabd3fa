-- +goose Up

-- Sums of money are billionths of a US dollar.
ALTER TABLE attempts RENAME COLUMN cost_micros TO cost;
ALTER TABLE attempts
    ALTER COLUMN cost TYPE bigint USING cost * 1000,
    ADD COLUMN reserved    bigint, -- the most that the call can cost; unknown: no price is known
    ADD COLUMN cache_write bigint NOT NULL DEFAULT 0,
    ADD COLUMN request_id  text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN seen        text COLLATE "C" NOT NULL DEFAULT ''; -- the hash of a row of seen, which need not be there

-- Of a graded item: its judge saw the transcript with a part left out.
ALTER TABLE items ADD COLUMN cut boolean NOT NULL DEFAULT false;

ALTER TABLE runs ADD COLUMN budget bigint; -- unknown: none

-- What people said about models, for all projects.
CREATE TABLE models (
    endpoint   text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    settings   text COLLATE "C" NOT NULL, -- JSON
    updated_at bigint NOT NULL,
    PRIMARY KEY (endpoint, model)
);

-- Transcripts as judges were shown them. They come in the random order of their hashes: the texts fill
-- pages one after the other, and only the narrow index is written all over.
CREATE TABLE seen (
    project_id bigint NOT NULL REFERENCES projects (id),
    hash       bytea NOT NULL, -- the 32 bytes of it
    text       bytea NOT NULL, -- zstd
    PRIMARY KEY (project_id, hash)
) WITH (toast_tuple_target = 8160); -- as bodies
ALTER TABLE seen ALTER COLUMN text SET STORAGE EXTERNAL;

-- +goose Down
DROP TABLE seen;
DROP TABLE models;
ALTER TABLE runs DROP COLUMN budget;
ALTER TABLE items DROP COLUMN cut;

-- Answers about units of items that are not graded are not known there.
DELETE FROM verdicts v USING items i WHERE i.run_id = v.run_id AND i.seq = v.seq AND i.state <> 'graded';

ALTER TABLE attempts
    ALTER COLUMN cost TYPE bigint USING cost / 1000,
    DROP COLUMN reserved,
    DROP COLUMN cache_write,
    DROP COLUMN request_id,
    DROP COLUMN seen;
ALTER TABLE attempts RENAME COLUMN cost TO cost_micros;
