"""Observers of the workload map: what a workload runs, seen in a process that never times.

Each stage is a module with `observe(job, emit)`; `stages.py` names them. `job` says which workload
(see `subject.py`) with which options, `emit` writes one JSON object to the journal.
"""
