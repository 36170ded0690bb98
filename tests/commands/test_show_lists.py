"""lra show runs, tasks and attentions: everything that there is, from the folders and the configuration."""

import json
import os
import time

import pytest

from lra.base.paths import conf_names, read_choice
from lra.cli import main
from lra.run import Run
from lra.runs.record import OtherVersionError
from lra.verbs.show_choices import differences
from tests.tables.records import make_record
from tests.test_conf_folders import write


def shown(capsys, *words: str) -> str:
    capsys.readouterr()
    assert main(["show", *words]) == 0
    return capsys.readouterr().out


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A finished run of two numbers of landmarks, a begun one, and a failed one."""
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path))
    for count in (16, 64):
        record = make_record(num_landmarks=count)
        folder = tmp_path / f"table/listops/nystrom/paper-full-5000steps-{record['provenance']['config_hash']}/seed0"
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps(record))
        (folder / "wandb/offline-run-1/files").mkdir(parents=True)
        (folder / "wandb/offline-run-1/files/config.yaml").write_text("a: 1\n")
    begun = tmp_path / "mine/text/full/paper-full-20000steps-0123abcd/seed1"
    begun.mkdir(parents=True)
    (begun / "config.yaml").write_text("seed: 1\n")
    (begun / "metrics.csv").write_text("step,train/loss\n50,1.0\n100,0.9\n")
    os.utime(begun / "config.yaml", (time.time() - 9000,) * 2)
    os.utime(begun / "metrics.csv", (time.time() - 7300,) * 2)
    Run(tmp_path / "mine/text/full/paper-full-20000steps-0123abcd/seed2").fail("out of memory")
    return tmp_path


def test_every_run_has_a_line_with_its_state(runs, result_of):
    made = result_of("show", "runs")
    assert len(made.lines) == len(made.table.rows) == 4
    rows = {tuple(row[:3]): dict(zip(made.table.columns, row, strict=True)) for row in made.table.rows}
    lines = {(row[0], *row[1:3]): line for line, row in zip(made.lines, made.table.rows, strict=True)}
    begun, failed = ("text/full", "0123abcd", "1"), ("text/full", "0123abcd", "2")
    folder = "mine/text/full/paper-full-20000steps-0123abcd"
    assert rows[begun].items() >= {"age": "2 h", "group": "mine", "folder": f"{folder}/seed1"}.items()
    assert (rows[begun]["settings"], rows[begun]["state"]) == ("paper-full-20000steps", lines[begun].state)
    assert all(number in lines[begun].state for number in ("step 100 ", "20,000"))
    assert (lines[begun].record, lines[begun].run.failure, lines[begun].run.last_step) == (None, None, 100)
    assert rows[failed].items() >= {"age": "now", "group": "mine", "folder": f"{folder}/seed2"}.items()
    assert (lines[failed].run.failure.error, lines[failed].run.last_step) == ("out of memory", 0)
    assert rows[failed]["state"].endswith("step 0 of 20,000: out of memory")
    finished = {key[0]: line for key, line in lines.items() if line.record is not None}
    assert finished.keys() == {f"listops/nystrom (num_landmarks={count})" for count in (16, 64)}
    for key, line in lines.items():
        if line.record is not None:
            assert (line.seed, line.record.test_accuracy, line.state) == (0, 0.37, line.record.finished_text)
            assert rows[key].items() >= {"age": "now", "group": "table", "state": line.state}.items()


@pytest.mark.parametrize("columns", [30, 60, 80, 120])
def test_the_hash_and_the_seed_name_a_run_at_every_width(runs, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert shown(capsys, "runs").count("0123abcd") >= 2


def test_a_group_is_chosen_and_a_running_run_is_known_by_its_lock(runs, result_of):
    folder = runs / "mine/text/full/paper-full-20000steps-0123abcd/seed1"
    before = result_of("show", "runs", "run_group=mine").lines
    with Run(folder).lock():
        lines = result_of("show", "runs", "run_group=mine").lines
        assert lines[0].run.locked
    assert [(line.task, line.seed) for line in lines] == [("text", 1), ("text", 2)]
    assert [line.state != old.state for line, old in zip(lines, before, strict=True)] == [True, False]
    assert all("step 100 of 20,000" in line.state for line in (lines[0], before[0]))


def test_a_folder_that_is_too_near_to_be_a_run_hides_no_other(runs, monkeypatch, refused):
    monkeypatch.setenv("LRA_RUNS_DIR", str(runs / "mine" / "text"))
    assert refused("show", "runs").kind == "no_records"


def test_a_broken_record_is_a_state_too(runs, result_of):
    path = next(runs.rglob("result.json"))

    def line():
        (line,) = (line for line in result_of("show", "runs", "run_group=table").lines if line.path == path.parent)
        assert line.record is None
        return line.state

    path.write_text("{")
    states = [line()]
    assert "result.json" in states[0]
    for version in (1, 99):
        path.write_text(f'{{"schema_version": {version}}}')
        with pytest.raises(OtherVersionError) as other:
            assert Run(path.parent).record
        states.append(line())
        assert other.value.advice in states[-1]
    assert len({*states}) == 3


@pytest.mark.slow
def test_every_attention_and_mixer_has_its_knobs_and_switches(result_of):
    rows = {choice: row for choice, *row in result_of("show", "attentions").table.rows}
    mixers = {f"mixer={name}" for name in conf_names("mixer") if name != "attention"}
    assert rows.keys() == {f"attention={name}" for name in conf_names("attention")} | mixers
    options, switches, cost, _ = rows["attention=nystrom"]
    assert "num_landmarks=64" in options.split("; ")
    assert "protocol.pinv_start" in switches.split("; ")
    assert cost.startswith("O(L")
    assert rows["attention=full"][3].startswith("Vaswani et al., NeurIPS 2017")
    assert rows["mixer=s4d"][2] == "O(L log L)"


def test_how_attentions_and_mixers_differ_from_their_papers_is_shown(capsys):
    there = differences()
    assert {"attention=skyformer", "attention=longformer", "attention=bigbird", "mixer=s4d"} <= there.keys()
    assert there.keys() <= {f"{group}={name}" for group in ("attention", "mixer") for name in conf_names(group)}
    lines = [line for choice, text in there.items() for line in (choice, *(f"  {each}" for each in text.split("; ")))]
    assert shown(capsys, "attentions").splitlines()[-len(lines) :] == lines


def test_a_file_of_ones_own_needs_no_description(home, tmp_path, monkeypatch, result_of):
    text = "# Mine. Cost in L: O(L).\nname: mine\n_target_: lra.attention.none.NoAttention\n_partial_: true\n"
    task = "# A task.\ndefaults: [listops]\nname: mine\nsizes: {full: {train: 5}}\n"
    folder = write(tmp_path / "own", attention__mine=text, task__mine=task)
    monkeypatch.setenv("LRA_CONF_PATH", str(folder))
    rows = {choice: row for choice, *row in result_of("show", "attentions").table.rows}
    assert rows["attention=mine"] == ["–"] * 4
    rows = {name: row for table in result_of("show", "tasks").tables for name, *row in table.rows}
    prepare = "lra prepare task=mine size=full"
    classes, length, counts, here, *others = rows["mine"]
    assert (classes, length, counts, others) == ("10", "2,048", "5 / 2,000 / 2,000", ["–", "–"])
    assert here.endswith(prepare)
    assert main(["show", "model", "attention=mine", "size=tiny"]) == 0


@pytest.mark.slow
def test_every_task_says_whether_its_data_is_here(home, result_of):
    rows = {name: row for table in result_of("show", "tasks", "size=tiny").tables for name, *row in table.rows}
    assert rows.keys() == set(conf_names("task"))
    classes, length, counts, here, *_ = rows["listops"]
    assert (classes, length, counts, here) == ("10", "256", "256 / 32 / 64", "yes, generated")
    assert rows["text"][3] == "no; lra prepare task=text size=tiny"
    assert rows["retrieval"][1] == "2 × 256"
    assert "the archive names no licence" in rows["image"][4]


def test_80_columns_keep_what_a_task_is(home, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    shown_words = set(shown(capsys, "tasks").split())
    for task in conf_names("task"):
        assert set(str(read_choice("task", task)["about"]).split()) <= shown_words


@pytest.mark.slow
def test_a_task_without_this_size_says_so(home, result_of):
    rows = {name: row for table in result_of("show", "tasks", "size=short").tables for name, *row in table.rows}
    assert rows["pathx"][3] == "it has no size=short"
    assert rows["pathfinder"][2] == "40,000 together"
