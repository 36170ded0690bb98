"""What an offline W&B run holds, read back from its file."""

from __future__ import annotations

import json
import struct

from lra.cli import main


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


def test_the_offline_run_holds_identity_settings_curves_and_the_result(home, capsys):
    assert main(["train", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "callbacks.log_every_steps=1"]) == 0
    (path,) = home.rglob("wandb/offline-run-*/*.wandb")
    found = list(records(path))
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
