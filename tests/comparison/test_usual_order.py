"""The usual order of takes, worked out by hand, and against all orders tried one by one."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from compared_takes import kinds
from hypothesis import given
from hypothesis import strategies as st

from stepreel.comparison import usual_order
from stepreel.comparison.usual_order import find_usual_order


def order(*takes: str) -> str:
    return "".join(
        chr(65 + kind) for kind in find_usual_order([kinds(take) for take in takes]).kinds
    )


def test_the_order_of_most_takes_is_usual():
    assert order("ABCD", "ABCD", "ACBD") == "ABCD"
    assert order("ACBD", "ACBD", "ABCD") == "ACBD"


def test_a_step_of_at_least_half_of_the_takes_is_usual():
    assert order("ABC", "ABC", "AC", "AC") == "ABC"
    assert order("ABC", "AC", "AC", "AC") == "AC"


def test_a_kind_that_most_takes_do_twice_is_in_the_order_twice():
    assert order("ABAC", "ABAC", "ABC") == "ABAC"
    assert order("ABAC", "ABC", "ABC") == "ABC"


def test_each_pair_counts_so_no_take_needs_to_have_the_usual_order():
    # A before B, B before C and C before D in two of three takes each, but never all of them.
    assert order("BACD", "ACBD", "ABDC") == "ABCD"


def test_in_a_circle_the_first_take_decides():
    assert order("ABC", "BCA", "CAB") == "ABC"
    assert order("BCA", "ABC", "CAB") == "BCA"


def test_of_two_takes_the_first_decides():
    assert order("BA", "AB") == "BA"


def test_takes_without_steps_have_no_usual_order():
    assert order("", "") == ""


def disagreements(steps: tuple, takes: list[list[int]]) -> int:
    """Count pairs that takes do the other way round: plainly, one by one."""
    return sum(
        take.index(first) > take.index(second)
        for take in takes
        for first, second in combinations(steps, 2)
        if first in take and second in take
    )


partial_orders = st.lists(
    st.permutations(list(range(6))).flatmap(
        lambda order: st.integers(0, 6).map(lambda size: list(order[:size]))
    ),
    min_size=2,
    max_size=7,
)


@given(partial_orders)
def test_no_other_order_has_fewer_disagreements(takes):
    found = find_usual_order(takes).kinds
    fewest = min(disagreements(steps, takes) for steps in permutations(found))
    assert disagreements(tuple(found), takes) == fewest


@given(partial_orders)
def test_the_way_for_many_steps_is_hardly_worse(takes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usual_order, "MOST_EXACT", 1)
        found = find_usual_order(takes).kinds
    fewest = min(disagreements(steps, takes) for steps in permutations(found))
    assert disagreements(tuple(found), takes) <= fewest + 2


@given(st.lists(st.lists(st.integers(0, 4), max_size=9), min_size=2, max_size=6))
def test_what_kinds_are_called_does_not_matter(takes):
    renamed = {0: 7, 1: 3, 2: 9, 3: 0, 4: 1}
    there = find_usual_order([[renamed[kind] for kind in take] for take in takes]).kinds
    assert there == [renamed[kind] for kind in find_usual_order(takes).kinds]


def test_many_steps_in_all_orders_take_bounded_time():
    takes = [list(range(300)), list(range(300))[::-1], [*range(150, 300), *range(150)]]
    assert sorted(find_usual_order(takes).kinds) == list(range(300))
