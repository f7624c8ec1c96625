"""Why a graph breaks, in TorchDynamo's words without what differs from build to build."""

from __future__ import annotations

from ciwm.worker.opmap.inductor import _first_line

# as TorchDynamo of torch 2.13 says it
SKIPPED = """Attempted to call function marked as skipped
  Explanation: Dynamo developers have intentionally marked that the function `disable` in file \
`/builds/0f3a/venv/lib/python3.11/site-packages/torch/_dynamo/decorators.py` should not be traced.
  Hint: Avoid calling the function `disable`.

  Developer debug context: module: torch._dynamo.decorators, qualname: disable
"""
DISABLED = """Skip calling `torch.compiler.disable()`d function
  Explanation: Skip calling function `<function route.<locals>.<lambda> at 0x7f2c1d5a0e00>` since \
it was wrapped with `torch.compiler.disable` (reason: None)
  Hint: Remove the `torch.compiler.disable` call
"""


def test_a_reason_is_the_same_in_every_build_and_process() -> None:
    assert _first_line(SKIPPED) == (
        "Attempted to call function marked as skipped Explanation: Dynamo developers have "
        "intentionally marked that the function `disable` in file `_dynamo/decorators.py` should "
        "not be traced."
    )
    assert "`<function route.<locals>.<lambda> at 0x…>`" in _first_line(DISABLED)


def test_what_is_no_path_and_no_address_stays() -> None:
    assert _first_line("a/b or x / y at 0xfor") == "a/b or x / y at 0xfor"
