"""Where the page draws timelines and arrows, worked out by hand."""

from __future__ import annotations

from compared_takes import compare_letters

from stepreel.comparison.graph import lay_out_graph
from stepreel.comparison.lanes import lay_out_lanes
from stepreel.comparison.matrix import lay_out_matrix


def columns(comparison) -> list[str]:
    """Write the aligned timelines as text: a letter per column, a dot for a usual step missing."""
    lanes = lay_out_lanes(comparison)
    width = 100 / lanes.n_columns
    lines = []
    for lane in lanes.lanes:
        line = [" "] * lanes.n_columns
        for hole in lane.holes:
            line[int(hole.by_step.middle / width)] = "."
        for bar in lane.bars:
            place = int(bar.by_step.middle / width)
            assert line[place] == " ", "two steps in one column"
            line[place] = bar.kind.letter
        lines.append("".join(line).rstrip())
    return lines


def test_aligned_steps_are_below_each_other_and_others_between_them():
    comparison = compare_letters("ABCD", "ABCD", "ABD", "ABCAD", "EABCD", "ABDC", "ABCDE")
    # Before A and after D there is a column for E or C, after C one for the second A.
    assert columns(comparison) == [
        *(" ABC D", " ABC D", " AB. D", " ABCAD", "EABC D", " AB. DC", " ABC DE"),
    ]


def test_times_are_percent_of_the_longest_take_or_of_the_own():
    comparison = compare_letters("AB", "AB", take2={"seconds": [8, 8]})
    first, second = lay_out_lanes(comparison).lanes
    assert first.length == 50
    assert (first.bars[1].by_time.x, first.bars[1].by_time.width) == (25, 25)
    assert (first.bars[1].by_share.x, first.bars[1].by_share.width) == (50, 50)
    assert (second.bars[1].by_time.x, second.bars[1].by_time.width) == (50, 50)


def test_a_cell_shows_the_visit_in_its_place():
    comparison = compare_letters("ABC", "ABC", "ABCB", take3={"seconds": [4, 2, 4, 9]})
    cell = lay_out_matrix(comparison).rows[1].cells[2]
    assert [place for place, _ in cell.visits] == [1, 3]
    assert cell.main[0] == 1
    assert cell.seconds == 11
    assert not lay_out_matrix(compare_letters("AB", "AB", "A")).rows[1].cells[2].visits


def test_arrows_past_other_steps_do_not_share_a_lane_where_they_overlap():
    graph = lay_out_graph(compare_letters("ABCDE", "ABCDE", "ACDE", "ADE", "AE", "ABCAE"))
    beside = [arrow for arrow in graph.arrows if "Q" in arrow.path]
    places = [(arrow.x, arrow.y) for arrow in beside]
    assert len(set(places)) == len(places)
    assert all(
        0 <= arrow.x <= graph.width and 0 <= arrow.y <= graph.height for arrow in graph.arrows
    )


def test_of_many_transitions_the_rare_ones_are_only_listed():
    comparison = compare_letters("ABCDEFG", "ABCDEFG", "GFEDCBA", "ADGCFBE", "CAEBGDF", "FCAGEBD")
    graph = lay_out_graph(comparison)
    assert graph.n_hidden > 0
    assert len(graph.arrows) + graph.n_hidden == len(comparison.transitions)
    n_usual = sum(transition.is_usual for transition in comparison.transitions)
    assert sum(arrow.is_usual for arrow in graph.arrows) == n_usual > 0
