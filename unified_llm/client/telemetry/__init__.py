"""Telemetry of the client: hooks, log records, OpenTelemetry spans and metrics, all from the same events."""
