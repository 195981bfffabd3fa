package client

import (
	"context"
	"net/http"

	"assay/internal/api"
)

// ApplySchedules stores the schedules of a file, all or none.
func (c *Client) ApplySchedules(ctx context.Context, name string, f api.DefinitionFile) (a api.AppliedSchedules, err error) {
	return a, c.do(ctx, call{method: http.MethodPut, path: project(name, "schedules"), body: f}, &a)
}

// Schedules lists a project's schedules.
func (c *Client) Schedules(ctx context.Context, name string) ([]api.ScheduleView, error) {
	var out api.Page[api.ScheduleView]
	err := c.do(ctx, call{method: http.MethodGet, path: project(name, "schedules")}, &out)
	return out.Items, err
}

// Schedule returns one schedule with its text.
func (c *Client) Schedule(ctx context.Context, name, schedule string) (v api.ScheduleView, err error) {
	return v, c.do(ctx, call{method: http.MethodGet, path: project(name, "schedules", schedule)}, &v)
}

// PauseSchedule keeps a schedule from starting anything.
func (c *Client) PauseSchedule(ctx context.Context, name, schedule string) (v api.ScheduleView, err error) {
	return v, c.do(ctx, call{method: http.MethodPost, path: project(name, "schedules", schedule, "pause")}, &v)
}

// ResumeSchedule lets it go on with its next tick.
func (c *Client) ResumeSchedule(ctx context.Context, name, schedule string) (v api.ScheduleView, err error) {
	return v, c.do(ctx, call{method: http.MethodPost, path: project(name, "schedules", schedule, "resume")}, &v)
}

// RunSchedule starts now what a schedule starts. With the same key (NewKey makes one, "" means none) a second call
// answers with the same run.
func (c *Client) RunSchedule(ctx context.Context, name, schedule, by, key string) (r api.SuiteRun, err error) {
	return r, c.do(ctx, call{method: http.MethodPost, path: project(name, "schedules", schedule, "run"), body: api.ScheduleRunRequest{By: by}, key: key}, &r)
}

// DeleteSchedule removes a schedule; its runs stay.
func (c *Client) DeleteSchedule(ctx context.Context, name, schedule string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: project(name, "schedules", schedule)}, nil)
}
