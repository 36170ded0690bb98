"""Where a run is among the published runs of its own settings, with known truth."""

import json

import numpy as np
import pytest

from lra.runs.convergence import convergence_step
from lra.runs.reference_curves import place_among, place_of, published_curves, references_of
from tests.tables.records import make_record, with_setting

EVERY, LAST = 50, 5000


def curve(step, until=LAST):
    """A curve that leaves the majority class at a step; None: it does not."""
    steps = list(range(EVERY, until + 1, EVERY))
    return {"step": steps, "accuracy": [0.35 if step is not None and at >= step else 0.17 for at in steps]}


def reference(step, seed):
    record = make_record(seed=seed, accuracy=0.17 if step is None else 0.37)
    record["outcome"] |= {"dev_curve": curve(step), "dev_examples": 2000}
    return record


def references(*steps):
    return [reference(step, seed) for seed, step in enumerate(steps, start=10)]


NINE = references(*range(1200, 3300, 250))  # the last at 3,200


def test_a_run_that_has_not_converged_is_told_how_many_had():
    eight = [*NINE[:-1], reference(None, 99)]
    place = place_among(curve(None, 4000), eight)
    assert place == "8 of 9 reference seeds had converged by step 2,950; this run has not at 4,000"
    assert place_among(curve(None, 1000), NINE).startswith("0 of 9 ")


def test_a_run_that_has_converged_is_told_how_many_had_by_then():
    assert place_among(curve(2000, 4000), NINE) == "converged at step 2,000; 4 of 9 reference seeds had by then"
    assert place_among(curve(2000), []) == place_among(curve(2000, 0), NINE) == ""


def test_references_have_the_same_settings_and_data_and_other_seeds(tmp_path):
    own = reference(2000, 10)
    others = [with_setting(NINE[1], "recipe.batch_size", 64), NINE[2] | {"provenance": NINE[2]["provenance"] | {
        "data_sha256": {"tokens": "1" * 64}}}]  # fmt: skip
    (tmp_path / "published").mkdir()
    lines = [json.dumps(record) for record in (*NINE[:1], *others, *NINE[3:], make_record(seed=50))]
    (tmp_path / "published/a.jsonl").write_text("\n".join(lines) + "\n")
    published = published_curves(tmp_path)
    provenance = own["provenance"]
    chosen = references_of(published, provenance["config_hash"], provenance["data_sha256"], 10)
    assert [record["identity"]["seed"] for record in chosen] == [13, 14, 15, 16, 17, 18]
    assert place_of(own, published) == place_among(curve(2000), NINE[3:]) != ""
    assert place_of(make_record(seed=10), published) == "", "it has no curve"
    assert published_curves(tmp_path / "none") == []
    of_settings = published_curves(tmp_path, own["provenance"]["config_hash"])
    assert 0 < len(of_settings) < len(published)
    assert place_of(own, of_settings) == place_of(own, published)


def test_of_runs_in_two_files_those_of_the_larger_file_are_references_also_of_one_run(tmp_path):
    (tmp_path / "published").mkdir()
    others = [make_record(seed=seed, attention="full") for seed in range(5)]
    when = {"finished_at": "2030-01-01T00:00:00+00:00"}
    later = [record | {"provenance": record["provenance"] | when} for record in references(900, 950)]
    for name, records in (("a", later), ("b", [*references(2000, 2050), *others])):
        (tmp_path / f"published/{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    for settings_hash in ("", NINE[0]["provenance"]["config_hash"]):
        published = published_curves(tmp_path, settings_hash)
        assert sorted(map(convergence_step, published)) == [2000, 2050]


@pytest.mark.slow
def test_the_place_of_a_run_of_the_same_distribution_is_uniform():
    generator, times, seeds = np.random.default_rng(1), 1500, 4
    counts = np.zeros(seeds + 1)
    for _ in range(times):
        steps = EVERY * np.ceil(generator.lognormal(7.0, 0.4, seeds + 1).clip(max=LAST) / EVERY)
        place = place_among(curve(int(steps[0])), references(*map(int, steps[1:])))
        counts[int(place.split("; ")[1][0])] += 1
    assert np.abs(counts / times - 1 / (seeds + 1)).max() < 0.05, "ties move it a little"
