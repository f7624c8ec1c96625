"""Amounts in records: below zero is nonsense, and so is what no machine could have counted."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

LARGEST_COUNT = 2**53  # the last whole number that every reader of JSON keeps exactly
LARGEST_AMOUNT = 1e30

Count = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
Number = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]  # of ranks or devices, or a place in order
Amount = Annotated[float, Field(ge=0, le=LARGEST_AMOUNT)]
Distance = Annotated[float, Field(ge=0)]  # between two results: as large as a number can be
