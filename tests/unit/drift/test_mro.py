"""Our C3 against Python's own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ciwm.upstream.drift.mro import c3


@given(st.lists(st.lists(st.integers(0, 7), max_size=3, unique=True), min_size=1, max_size=8))
def test_the_order_is_that_of_python(bases: list[list[int]]) -> None:
    classes: list[type] = []
    orders: list[tuple[str, ...]] = []
    for number, chosen in enumerate(bases):
        above = [index for index in chosen if index < number]
        try:
            made = type(f"C{number}", tuple(classes[index] for index in above) or (object,), {})
        except TypeError:  # an order Python refuses: ours only has to end
            c3(f"C{number}", [orders[index] for index in above])
            above = []
            made = type(f"C{number}", (object,), {})
        classes.append(made)
        orders.append(c3(f"C{number}", [orders[index] for index in above]))
        assert orders[number] == tuple(cls.__name__ for cls in made.__mro__[:-1])
