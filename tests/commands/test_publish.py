"""Records on their way: published beside the code, imported from another machine."""

import json

import pytest

from tests.tables.records import make_record


def lay(folder, record):
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(record))
    (folder / "metrics.csv").write_text("step\n1\n")


@pytest.fixture
def other(tmp_path):
    """The folder of runs of another machine."""
    for seed in range(2):
        lay(tmp_path / f"other/table/listops/nystrom/x/seed{seed}", make_record(seed=seed))
    return tmp_path / "other"


@pytest.fixture
def cells(result_of):
    """The cells of `lra table show`, without marks of the data's origin."""

    def read(*words):
        (made,) = result_of("table", "show", *words).tables
        return [cell.rstrip("‡") for row in made.table.rows for cell in row]

    return read


def test_import_copies_runs_checks_them_and_is_repeatable(home, other, result_of, cells):
    (other / "table/broken").mkdir()
    (other / "table/broken/result.json").write_text("{")
    first, again = (result_of("import", str(other)) for _ in range(2))
    assert (first.copied, first.were_here, first.left_out, len(first.problems)) == (2, 0, 1, 1)
    assert (again.copied, again.were_here) == (0, 2)
    assert len(list(home.rglob("seed?/metrics.csv"))) == 2
    assert "37.00 ± 0.00 (2)" in cells()


def test_one_cell_in_two_run_groups_is_two_runs(home, other, result_of):
    alike = make_record(seed=0)
    alike["identity"]["run_group"] = "compare"
    alike["provenance"]["finished_at"] = "2030-01-01T00:00:00+00:00"
    lay(other / "compare/listops/nystrom/x/seed0", alike)
    apart, together = result_of("import", str(other)), result_of("import", str(other), "into=both")
    assert (apart.copied, apart.left_out) == (3, 0)
    assert (together.copied, together.left_out) == (2, 1)


def test_import_keeps_what_is_here_when_the_results_differ(home, other, result_of, cells):
    assert result_of("import", str(other)).copied == 2
    path = other / "table/listops/nystrom/x/seed0/result.json"
    path.write_text(json.dumps(make_record(seed=0, accuracy=0.99)))
    imported = result_of("import", str(other))
    assert (imported.copied, imported.were_here, imported.left_out) == (0, 1, 1)
    (kept,) = home.glob("table/listops/nystrom/*/seed0")
    assert str(kept) in imported.problems[0]
    assert "37.00 ± 0.00 (2)" in cells()


def test_a_record_may_not_choose_a_place_on_the_disk(home, other, refused):
    record = make_record()
    record["identity"]["run_group"] = "../../elsewhere"
    lay(other / "evil/seed0", record)
    error = refused("import", str(other / "evil"))
    assert (error.kind, error.key) == ("no_records", str(other / "evil"))
    assert (error.__cause__.kind, error.__cause__.value) == ("bad_name", "../../elsewhere")


def test_publish_appends_what_is_new_and_the_file_can_be_imported(home, other, result_of, cells):
    result_of("import", str(other))
    counts = [result_of("publish", "run_group=table", "name=listops") for _ in range(2)]
    assert [(each.appended, each.were_there) for each in counts] == [(2, 0), (0, 2)]
    published = home / "published/listops.jsonl"
    assert len(published.read_text().splitlines()) == 2
    assert "37.00 ± 0.00 (2)" in cells("run_group=published")
    assert result_of("import", str(published), "into=again").copied == 2


def test_a_file_that_is_no_text_is_not_appended_to(home, other, result_of, refused):
    result_of("import", str(other))
    (home / "published").mkdir()
    (home / "published/x.jsonl").write_bytes(b"\xff\xfe\n")
    assert refused("publish", "run_group=table", "name=x").kind == "no_text"
    assert (home / "published/x.jsonl").read_bytes() == b"\xff\xfe\n"


@pytest.mark.slow
def test_records_of_a_changed_checkout_are_not_published_unasked(home, other, result_of, refused):
    record = make_record(seed=5)
    record["provenance"]["git_commit"] = "0" * 40 + "-dirty"
    lay(other / "table/dirty/seed5", record)
    result_of("import", str(other))
    error = refused("publish", "run_group=table", "name=x")
    assert (error.kind, error.key, error.value) == ("dirty", "dirty", record["provenance"]["git_commit"])
    assert result_of("publish", "run_group=table", "name=x", "dirty=true").appended == 3
