"""The experiments of `covey bench`: each module has one `EXPERIMENT`; see `experiment` for what that is."""
