"""The way into the worker: `python enter.py --job JOB.json --journal JOURNAL.jsonl`.

The workload under test must find its own modules, not ours. So this folder leaves sys.path, and the
package is loaded under a private name that no workload will ever import.
"""

from __future__ import annotations

import os
import sys

PACKAGE = "_ciwm_worker"


def _outside(entry: str, folders: set[str]) -> bool:
    """Whether a sys.path entry is none of the folders."""
    return os.path.realpath(entry or os.curdir) not in folders


def _run(arguments: list[str]) -> int:
    """Load the package and run it.

    PYTHONPATH is set aside while it loads: a `json.py` in a build must not become ours.
    """
    here = os.path.dirname(os.path.realpath(__file__))
    given = {os.path.realpath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p}
    theirs = [entry for entry in sys.path if _outside(entry, {here})]
    sys.path[:] = [entry for entry in theirs if _outside(entry, given)]
    import importlib.util  # noqa: PLC0415  found only now that the path is clean

    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(here, "__init__.py"), submodule_search_locations=[here]
    )
    if spec is None or spec.loader is None:
        raise ImportError("the worker's package is not beside " + __file__)
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    main = importlib.import_module(PACKAGE + ".main")
    sys.path[:] = theirs
    return int(main.main(arguments))


if __name__ == "__main__":  # a workload's spawned children import this file again
    sys.exit(_run(sys.argv[1:]))
