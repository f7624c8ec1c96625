"""The workload map: what runs, on what, and what must be written."""
