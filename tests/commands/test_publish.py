"""Records on their way: published beside the code, imported from another machine."""

import json

import pytest

from lra.cli import main
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


def run(capsys, *words):
    capsys.readouterr()
    code = main(list(words))
    return code, *capsys.readouterr()


def test_import_copies_runs_checks_them_and_is_repeatable(home, other, capsys):
    (other / "table/broken").mkdir()
    (other / "table/broken/result.json").write_text("{")
    code, out, _ = run(capsys, "import", str(other))
    assert code == 0
    assert "2 runs imported, 0 were here, 1 left out" in out
    assert "left out" in out
    assert len(list(home.rglob("seed?/metrics.csv"))) == 2
    assert "0 runs imported, 2 were here" in run(capsys, "import", str(other))[1]
    assert "37.00 ± 0.00 (2)" in run(capsys, "table", "show")[1]


def test_one_cell_in_two_run_groups_is_two_runs(home, other, capsys):
    alike = make_record(seed=0)
    alike["identity"]["run_group"] = "compare"
    alike["provenance"]["finished_at"] = "2030-01-01T00:00:00+00:00"
    lay(other / "compare/listops/nystrom/x/seed0", alike)
    assert "3 runs imported, 0 were here, 0 left out" in run(capsys, "import", str(other))[1]
    assert "2 runs imported, 0 were here, 1 left out" in run(capsys, "import", str(other), "into=both")[1]


def test_import_keeps_what_is_here_when_the_results_differ(home, other, capsys):
    run(capsys, "import", str(other))
    path = other / "table/listops/nystrom/x/seed0/result.json"
    path.write_text(json.dumps(make_record(seed=0, accuracy=0.99)))
    assert "with another result" in run(capsys, "import", str(other))[1]
    assert "99" not in run(capsys, "table", "show")[1]


def test_a_record_may_not_choose_a_place_on_the_disk(home, other, refused):
    record = make_record()
    record["identity"]["run_group"] = "../../elsewhere"
    lay(other / "evil/seed0", record)
    assert "group=../../elsewhere " in str(refused("import", str(other / "evil")))


def test_publish_appends_what_is_new_and_the_file_can_be_imported(home, other, capsys):
    run(capsys, "import", str(other))
    assert "2 records appended" in run(capsys, "publish", "run_group=table", "name=listops")[1]
    assert "0 records appended, 2 were there" in run(capsys, "publish", "run_group=table", "name=listops")[1]
    published = home / "published/listops.jsonl"
    assert len(published.read_text().splitlines()) == 2
    assert "37.00 ± 0.00 (2)" in run(capsys, "table", "show", "run_group=published")[1]
    assert "2 runs imported" in run(capsys, "import", str(published), "into=again")[1]


def test_a_file_that_is_no_text_is_not_appended_to(home, other, capsys, refused):
    run(capsys, "import", str(other))
    (home / "published").mkdir()
    (home / "published/x.jsonl").write_bytes(b"\xff\xfe\n")
    assert refused("publish", "run_group=table", "name=x").kind == "no_text"
    assert (home / "published/x.jsonl").read_bytes() == b"\xff\xfe\n"


@pytest.mark.slow
def test_records_of_a_changed_checkout_are_not_published_unasked(home, other, capsys):
    record = make_record(seed=5)
    record["provenance"]["git_commit"] = "0" * 40 + "-dirty"
    lay(other / "table/dirty/seed5", record)
    run(capsys, "import", str(other))
    code, _, err = run(capsys, "publish", "run_group=table", "name=x")
    assert code == 2
    assert "of a changed checkout" in err
    assert run(capsys, "publish", "run_group=table", "name=x", "dirty=true")[0] == 0
