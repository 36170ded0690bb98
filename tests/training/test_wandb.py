"""What an offline W&B run holds, read back from its file."""

from __future__ import annotations

import json
import struct
import time

from lra.cli import main
from lra.config import load_config
from lra.paths import conf_dir
from tests.results.records import make_record


def records(path):
    """The records of a .wandb file: a 7-byte header, then a LevelDB log of protobuf messages in 32 KiB blocks."""
    from wandb.proto.wandb_internal_pb2 import Record

    raw, at, part = path.read_bytes(), 7, b""
    assert raw[:4] == b":W&B"
    while at + 7 <= len(raw):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, size, kind = struct.unpack("<IHB", raw[at : at + 7])
        part += raw[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # a whole record, or the last piece of one
            record = Record()
            record.ParseFromString(part)
            yield record
            part = b""


def whole(path, seconds=30):
    """The records of a finished run; wandb's own process may still be writing the last ones."""
    end = time.monotonic() + seconds
    while True:
        found = list(records(path))
        if any(record.WhichOneof("record_type") == "exit" for record in found):
            return found
        assert time.monotonic() < end, f"{path} was never finished"
        time.sleep(0.1)


def test_the_offline_run_holds_identity_settings_curves_and_the_result(home, capsys):
    assert main(["train", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "callbacks.log_every_steps=1"]) == 0
    (path,) = home.rglob("wandb/offline-run-*/*.wandb")
    found = whole(path)
    (run,) = [r.run for r in found if r.WhichOneof("record_type") == "run"][:1]
    assert (run.display_name, run.run_group, run.job_type) == ("listops/nystrom/0", "default", "listops")
    assert set(run.tags) == {"listops", "nystrom", "paper", "tiny"}
    config = {item.key: json.loads(item.value_json) for r in found for item in [*r.run.config.update]}
    assert config["attention"]["num_landmarks"] == 64
    assert config["recipe"]["schedule"]["steps"] == 4, "interpolations are resolved"
    keys = {item.key or ".".join(item.nested_key) for r in found for item in r.history.item}
    for key in ("train/loss", "train/accuracy", "learning_rate", "tokens_per_second", "peak_memory_bytes"):
        assert key in keys
    for key in ("dev/accuracy", "dev/loss", "test/accuracy"):
        assert key in keys
    assert run.run_id == next(home.rglob("wandb_id")).read_text()
    summary = {item.key or item.nested_key[0] for r in found for item in r.summary.update}
    assert {"learning_curve", "test/confusion_table", "outcome/test_accuracy"} <= summary
    files = [
        path.relative_to(home).name for path in home.rglob("wandb/offline-run-*/files/media/**/*") if path.is_file()
    ]
    assert any(name.startswith("learning_curve") for name in files)
    (table,) = [path for path in home.rglob("wandb/offline-run-*/files/media/table/**/*.json")]
    counts = json.loads(table.read_text())
    assert counts["columns"] == ["Actual", "Predicted", "nPredictions"]
    assert sum(row[2] for row in counts["data"]) == 64


def test_a_table_and_its_figure_go_into_a_run_of_the_groups_own(home, capsys):
    folder = home / "compare"
    folder.mkdir(parents=True)
    lines = [json.dumps(make_record(attention=name, seed=0)) for name in ("nystrom", "full")]
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n")
    assert main(["compare", "show", "format=wandb"]) == 0
    assert "wandb sync" in capsys.readouterr().out
    (path,) = home.rglob("wandb/offline-run-*/*.wandb")
    found = whole(path)
    (run,) = [r.run for r in found if r.WhichOneof("record_type") == "run"][:1]
    assert (run.display_name, run.run_group, run.job_type) == ("compare-listops", "compare", "compare")
    (table,) = home.rglob("wandb/offline-run-*/files/media/table/*.json")
    assert [row[0] for row in json.loads(table.read_text())["data"]] == ["nystrom", "full"]
    assert list(home.rglob("wandb/offline-run-*/files/media/images/figures/compare-listops*.png"))


def test_the_sweep_for_wandbs_agents_names_what_there_is():
    import yaml

    sweep = yaml.safe_load((conf_dir() / "wandb_sweep.yaml").read_text())
    for group in ("task", "attention"):
        for value in sweep["parameters"][group]["values"]:
            assert (conf_dir() / group / f"{value}.yaml").exists()
    settings = [word for word in sweep["command"] if "=" in word]
    load_config("train", [*settings, "task=text", "attention=full", "seed=1"])
