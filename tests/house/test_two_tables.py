"""What the documents say of the order of methods in two tables."""

from docs.blocks.two_tables import change_of_order

OLD = {"a": [30.0, 31.0, 30.5], "b": [20.0, 21.0, 20.5], "c": [20.2, 20.8, 20.3]}


def test_a_pair_is_turned_round_only_if_it_is_significant_both_times():
    new = {"a": [25.0, 26.0, 25.5], "b": [35.0, 36.0, 35.5], "c": [20.2, 20.8, 20.3]}
    assert change_of_order(OLD, new, ("before", "after")) == (
        "of 3 pairs of methods, 1 significantly in the opposite order (b above a); 1 significantly in the same order"
        " in both (a above c); 1 significant after alone (b above c); 0 significant before"
        " alone"
    )
