"""Which methods are no better than a model that mixes no tokens."""

from __future__ import annotations

from lra.results.accuracy_table import accuracy_table
from lra.results.floor import above_floor, not_above_floor, not_judged
from tests.results.records import make_record, with_setting


def seeds(attention, *accuracies, task="text"):
    records = [
        make_record(attention="full", task=task, seed=seed, accuracy=each) for seed, each in enumerate(accuracies)
    ]
    for record in records:
        record["identity"]["attention"] = record["settings"]["attention"]["name"] = attention
    return records


BATCH = ("recipe.batch_size", 64)
FLOOR = seeds("none", 0.58, 0.59, 0.60)


def test_only_what_is_above_it_beyond_noise_is_left_out():
    clear, noisy, lower = ("full", 0.63, 0.64, 0.65), ("nystrom", 0.58, 0.60, 0.66), ("linformer", 0.50, 0.50, 0.50)
    records = FLOOR + seeds(*clear) + seeds(*noisy) + seeds(*lower)
    assert {task: sorted(names) for task, names in not_above_floor(above_floor(records)).items()} == {
        "text": ["linformer", "nystrom"]
    }
    short = [record | {"identity": record["identity"] | {"size": "short"}} for record in records]
    (note,) = [note for note in accuracy_table(short, reference="paper").notes if "attention=none" in note]
    assert note.endswith("(paired t, 95 %, each for itself): text linformer, nystrom.")


def test_with_too_few_seeds_or_without_the_floor_nothing_is_judged():
    few = FLOOR[:2] + seeds("full", 0.5, 0.5, 0.5)
    assert (not_above_floor(above_floor(few)), not_judged(above_floor(few))) == ({}, {"text": ["full"]})
    short = [record | {"identity": record["identity"] | {"size": "short"}} for record in few]
    (note,) = [note for note in accuracy_table(short, reference="paper").notes if "attention=none" in note]
    assert (
        note == "Not compared with attention=none, for fewer than 3 seeds in common with the same settings: text full."
    )
    assert not_judged(above_floor(seeds("full", 0.5, 0.5, 0.5))) == {}
    assert not_above_floor(above_floor(seeds("full", 0.5, 0.5, 0.5))) == {}
    assert not_above_floor(above_floor(seeds("none", 0.5, 0.5, 0.5, task="image") + seeds("full", 0.5, 0.5, 0.5))) == {}


def test_a_row_has_the_tables_name_and_the_floor_its_settings():
    longer = [with_setting(record, *BATCH) for record in seeds("none", 0.70, 0.71, 0.72)]
    late = [with_setting(record, *BATCH) for record in seeds("full", 0.68, 0.69, 0.70)]
    swept = [
        with_setting(record, "attention.num_landmarks", count)
        for task, count in (("text", 8), ("image", 64))
        for record in seeds("nystrom", 0.5, 0.5, 0.5, task=task)
    ]
    records = FLOOR + seeds("linear", 0.5, 0.5, 0.5) + longer + late + swept
    rows = accuracy_table(records, reference="paper").numbers
    names = {row[next(iter(row))] for row in rows}
    said = not_above_floor(above_floor(records))["text"]
    assert sorted(said) == ["full (recipe.batch_size=64)", "linear", "nystrom (num_landmarks=8)"]
    assert names.issuperset(said)
    assert not_judged(above_floor(FLOOR + late)) == {"text": ["full (recipe.batch_size=64)"]}
