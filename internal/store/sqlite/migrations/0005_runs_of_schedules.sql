-- +goose Up

-- The schedule that a run was started by, or for. A grade schedule goes on from its newest run.
ALTER TABLE runs ADD COLUMN schedule TEXT;
CREATE INDEX runs_schedule ON runs (project_id, schedule, id) WHERE schedule IS NOT NULL;

-- Of older runs the record by which a tick starts at most one run tells.
UPDATE runs SET schedule = substr(i.route, 10) FROM idempotency i WHERE i.run_id = runs.id AND i.route LIKE 'schedule %';

-- +goose Down
DROP INDEX runs_schedule;
ALTER TABLE runs DROP COLUMN schedule;
