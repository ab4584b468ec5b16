"""What takes do differently: hand-worked, and properties of the alignment."""

from __future__ import annotations

import pytest
from compared_takes import compare_letters, found, order_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stepreel.comparison.sentences import Words

USUAL = "ABCDE"


def only_departure(*orders: str):
    (departure,) = compare_letters(*orders).departures
    return departure


@pytest.mark.parametrize(
    ("last", "type", "letters", "visits", "sentence"),
    [
        ("ABDCE", "swapped", "DC", [3, 4], "take4 does D before C; the others do C first."),
        ("ACDE", "skipped", "B", [1, 2], "take4 skips B; the others do it."),
        ("BCDE", "skipped", "A", [1], "take4 skips A; the others do it."),
        (
            *("ABCADE", "repeated", "A", [4]),
            "take4 repeats A (twice in all); the others do it less often.",
        ),
        ("ABCDEF", "added", "F", [6], "take4 adds F, which no other take has."),
        ("AFBCDFE", "added", "F", [2, 6], "take4 adds F (twice), which no other take has."),
        (
            *("EABCD", "moved", "EA", [1]),
            "take4 does E earlier, before A; the others do it after A.",
        ),
        (
            *("BCDAE", "moved", "AD", [4]),
            "take4 does A later, after D; the others do it before D.",
        ),
    ],
)
def test_one_departure_is_found_and_said(last, type, letters, visits, sentence):
    comparison = compare_letters(USUAL, USUAL, USUAL, last)
    assert order_of(comparison) == USUAL
    assert found(comparison) == [("take4", type, letters)]
    assert comparison.departures[0].visits == visits
    assert comparison.departures[0].sentence == sentence
    assert comparison.departures[0].certainty == "clear"


def test_others_that_do_the_same_are_counted():
    comparison = compare_letters("ABC", "ABC", "ABC", "AC", "AC")
    assert [d.sentence for d in comparison.departures] == [
        "take4 skips B; 3 of the 4 others do it.",
        "take5 skips B; 3 of the 4 others do it.",
    ]
    comparison = compare_letters("ABC", "ABC", "ABC", "ABCD", "ABCD")
    assert comparison.departures[0].sentence == "take4 adds D, which 1 of the 4 others has too."


def test_a_kind_that_is_usually_done_twice_can_be_done_once():
    comparison = compare_letters("ABAC", "ABAC", "ABAC", "ABC")
    assert order_of(comparison) == "ABAC"
    assert found(comparison) == [("take4", "fewer", "A")]
    assert comparison.departures[0].sentence == "take4 does A once; the others do it more often."


def test_two_takes_of_opposite_orders_have_no_usual_one():
    comparison = compare_letters("ABC", "BAC")
    assert comparison.departures == []
    (either,) = comparison.either_order
    assert (either.first, either.second, either.takes_each) == (0, 1, 1)


def test_neighbouring_steps_of_a_kind_are_one_visit():
    assert compare_letters("AABBC", "ABC", "ABCC").departures == []
    assert compare_letters("AAB", "AB").takes[0].visits[0].steps == [1, 2]


def test_of_two_visits_the_longer_one_is_the_usual_one():
    comparison = compare_letters("ABC", "ABC", "ABCB", take3={"seconds": [4, 1, 4, 9]})
    # B may be either visit; the one that keeps more steps in their place counts more than length.
    assert [visit.role for visit in comparison.takes[2].visits] == [
        *("usual", "usual", "usual", "repeated"),
    ]
    comparison = compare_letters("AB", "AB", "ABCB", take3={"seconds": [4, 1, 4, 9]})
    roles = [visit.role for visit in comparison.takes[2].visits]
    assert roles == ["usual", "repeated", "added", "usual"]


def test_what_rests_on_unclear_steps_is_uncertain():
    unclear = {"take4": {"unclear": "C"}}
    swapped = compare_letters(USUAL, USUAL, USUAL, "ABDCE", **unclear)
    assert [d.certainty for d in swapped.departures] == ["uncertain"]
    skipped = compare_letters(USUAL, USUAL, USUAL, "ACDE", **unclear)
    assert [d.certainty for d in skipped.departures] == ["uncertain"]
    elsewhere = compare_letters(USUAL, USUAL, USUAL, "ACDE", take4={"unclear": "E"})
    assert [d.certainty for d in elsewhere.departures] == ["clear"]
    others = {f"take{n}": {"unclear": "B"} for n in (1, 2, 3)}
    assert compare_letters(USUAL, USUAL, USUAL, "ACDE", **others).departures[0].certainty == (
        "uncertain"
    )


def test_a_visit_more_is_not_a_step_moved():
    comparison = compare_letters("AB", "BAB")
    assert [(d.type, d.take) for d in comparison.departures] == [("fewer", "take1")]


def test_a_title_that_a_person_gave_names_the_kind():
    titled = {f"take{n}": {"titles": ["Open", "Fold", "Close"]} for n in (1, 2)}
    comparison = compare_letters("ABC", "ABC", "AC", **titled)
    assert comparison.departures[0].sentence == "take3 skips “Fold” (B); the others do it."
    assert [kind.title for kind in comparison.kinds] == ["Open", "Fold", "Close"]


def test_transitions_count_takes_and_include_start_and_end():
    comparison = compare_letters("ABC", "ABC", "ACABC")
    counted = {(t.before, t.after): (t.takes, t.is_usual) for t in comparison.transitions}
    assert counted == {
        (None, 0): (3, True),
        (0, 1): (3, True),
        (1, 2): (3, True),
        (2, None): (3, True),
        (0, 2): (1, False),
        (2, 0): (1, False),
    }


orders = st.lists(st.sampled_from("ABCDEF"), min_size=1, max_size=10).map("".join)


@settings(max_examples=30)
@given(orders, st.integers(2, 5))
def test_identical_takes_do_not_depart(letters, count):
    comparison = compare_letters(*[letters] * count)
    assert comparison.departures == []
    assert [take.distance for take in comparison.takes] == [0.0] * count
    assert not any(take.is_outlier for take in comparison.takes)


@settings(max_examples=30)
@given(st.permutations("ABCDEFGH"), st.data())
def test_one_skipped_step_is_exactly_that(order, data):
    letters = "".join(order[: data.draw(st.integers(2, 8))])
    skipped = data.draw(st.sampled_from(letters))
    comparison = compare_letters(letters, letters, letters, letters.replace(skipped, ""))
    assert found(comparison) == [("take4", "skipped", skipped)]


@settings(max_examples=30)
@given(st.permutations("ABCDEFGH"), st.data())
def test_one_exchange_of_neighbours_is_exactly_that(order, data):
    letters = "".join(order[: data.draw(st.integers(2, 8))])
    place = data.draw(st.integers(0, len(letters) - 2))
    first, second = letters[place : place + 2]
    exchanged = letters[:place] + second + first + letters[place + 2 :]
    comparison = compare_letters(letters, letters, letters, exchanged)
    assert found(comparison) == [("take4", "swapped", second + first)]


@settings(max_examples=50)
@given(st.lists(orders, min_size=2, max_size=5), st.permutations("ABCDEF"))
def test_renaming_kinds_changes_nothing_but_names(takes, names):
    renamed = dict(zip("ABCDEF", names, strict=True))
    there = compare_letters(*("".join(renamed[one] for one in take) for take in takes))
    here = compare_letters(*takes)
    assert found(there) == [
        (take, type, "".join(renamed[one] for one in letters))
        for take, type, letters in found(here)
    ]
    assert order_of(there) == "".join(renamed[one] for one in order_of(here))
    for mine, other in zip(here.takes, there.takes, strict=True):
        assert (mine.distance, mine.is_outlier) == pytest.approx((other.distance, other.is_outlier))
        assert [v.role for v in mine.visits] == [v.role for v in other.visits]


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.sampled_from("ABCDEF"), max_size=10).map("".join), min_size=2, max_size=5)
)
def test_every_visit_and_every_usual_step_is_accounted_for(takes):
    assume(any(takes))
    comparison = compare_letters(*takes)
    for take in comparison.takes:
        places = [visit.usual_place for visit in take.visits if visit.usual_place]
        assert len(places) == len(set(places))
        missing = [
            d for d in comparison.departures if d.take == take.folder and d.type == "skipped"
        ]
        kinds = {visit.cluster for visit in take.visits}
        assert {d.cluster for d in missing} == set(comparison.usual_order) - kinds
        for visit in take.visits:
            assert (visit.usual_place is None) == (visit.role in ("repeated", "added"))
            assert (visit.role == "added") == (visit.cluster not in comparison.usual_order)
    assert type(comparison).model_validate_json(comparison.to_json()) == comparison


def test_where_a_missing_step_would_be_is_said_by_its_neighbours():
    comparison = compare_letters("ABCD", "ABCD", "ABCD", "ABD", "BCD", "ABC")
    words, visits = Words({}, {}), {take.folder: take.visits for take in comparison.takes}
    assert [words.place_of(one, visits[one.take]) for one in comparison.departures] == [
        "C would be here, after B (0:04) and before D (0:08)",
        "A would be here, before B (0:00)",
        "D would be here, after C (0:08)",
    ]


def test_what_is_not_missing_has_no_place():
    comparison = compare_letters("ABCD", "ABCD", "ACBD")
    (swapped,) = comparison.departures
    assert Words({}, {}).place_of(swapped, comparison.takes[2].visits) == ""
