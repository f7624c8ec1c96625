"""Which of the kernels that an operator reached its check is a check of."""

from __future__ import annotations

import pytest

from ciwm.worker.opmap.reached import _meant


@pytest.mark.parametrize(
    ("reached", "names", "meant"),
    [
        # the one that is called so, whatever else is needed
        ({"aten::mul", "aten::sum", "aten::view"}, {"mul"}, {"aten::mul"}),
        ({"aten::_softmax"}, {"softmax"}, {"aten::_softmax"}),
        # no name fits: the only one that computes
        ({"aten::gelu_backward", "aten::view", "aten::clone"}, set(), {"aten::gelu_backward"}),
        # several compute: a wrong result could be any one's
        ({"aten::mul", "aten::sum"}, {"norm"}, set()),
        # a move is meant only where it is called so
        ({"aten::clone"}, {"clone"}, {"aten::clone"}),
        ({"aten::clone"}, {"contiguous"}, set()),
    ],
)
def test_a_check_is_of_the_kernel_called_so_or_of_the_only_one(
    reached: set[str], names: set[str], meant: set[str]
) -> None:
    assert _meant(reached, names) == meant
