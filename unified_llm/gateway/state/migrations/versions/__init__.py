"""One module a version, in the order of `down_revision`."""
