-- +goose Up
ALTER TABLE runs ADD COLUMN cancel_requested_by TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE runs DROP COLUMN cancel_requested_by;
