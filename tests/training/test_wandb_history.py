"""The points in a `.wandb` file, whole or as a kill left it."""

import json
import struct
import time
from threading import Thread
from types import SimpleNamespace

import pytest

from lra.training import loggers
from lra.training.wandb_server_and_files import points_in_wandb, wait_until_written

pb = pytest.importorskip("wandb.proto.wandb_internal_pb2")


def row(**values):
    items = [pb.HistoryItem(nested_key=[key.replace("__", "/")], value_json=json.dumps(v)) for key, v in values.items()]
    return pb.Record(history=pb.HistoryRecord(item=items)).SerializeToString()


def piece(kind: int, text: bytes) -> bytes:
    return struct.pack("<IHB", 0, len(text), kind) + text


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "wandb/offline-run-20260101_000000-abc/run-abc.wandb"
    path.parent.mkdir(parents=True)
    return path


START = b":W&B\xde\xc5\x00"
FIRST = row(trainer__global_step=1, train__loss=0.5)
SECOND = row(trainer__global_step=2, dev__loss=0.5)
POINTS = {(1, "trainer/global_step"), (1, "train/loss")}
BOTH = POINTS | {(2, "trainer/global_step"), (2, "dev/loss")}


def test_records_in_pieces_and_across_blocks(tmp_path, file):
    filled = START + piece(1, FIRST)
    other = pb.Record(summary=pb.SummaryRecord(update=[pb.SummaryItem(key="x" * 40000)])).SerializeToString()
    room = 32768 - len(filled) - 7
    filled += piece(2, other[:room]) + piece(3, b"") + piece(4, other[room:])
    short = 32768 - len(filled) % 32768 - 7 - 3  # three bytes are left in the block, too few for a piece
    filled += piece(1, pb.Record(uuid="y" * (short - 4)).SerializeToString())
    filled += b"\0" * (-len(filled) % 32768) + piece(2, SECOND[:9]) + piece(4, SECOND[9:])
    file.write_bytes(filled)
    assert points_in_wandb(tmp_path, "abc") == BOTH
    assert points_in_wandb(tmp_path, "abd") == set()


@pytest.mark.parametrize(
    "end",
    [
        *(piece(1, SECOND)[:cut] for cut in (3, 7, 12, len(SECOND) + 6)),
        piece(2, SECOND[:9]),
        piece(1, b"\xff" * 20),
        b"\0" * 100,
    ],
)
def test_what_a_kill_has_cut_off_is_not_there(tmp_path, file, end):
    file.write_bytes(START + piece(1, FIRST) + end)
    assert points_in_wandb(tmp_path, "abc") == POINTS


def test_the_end_of_a_run_is_waited_for_also_before_its_file_is_there(file):
    end = piece(1, pb.Record(exit=pb.RunExitRecord()).SerializeToString())

    def write() -> None:
        for written in (START, START + piece(1, FIRST) + end):
            time.sleep(0.1)
            file.write_bytes(written)

    Thread(target=write).start()
    assert wait_until_written(file)


@pytest.mark.parametrize("written", [None, START, START + piece(1, FIRST)])
def test_an_end_that_does_not_come_is_told(monkeypatch, capsys, file, written):
    if written:
        file.write_bytes(written)
    monkeypatch.setattr(loggers, "wait_until_written", lambda path: wait_until_written(path, seconds=0.1))
    logger = loggers.CurvesInWandb.__new__(loggers.CurvesInWandb)
    logger._experiment = SimpleNamespace(settings=SimpleNamespace(sync_file=str(file)), finish=lambda exit_code: None)
    loggers.finish_wandb([logger])
    assert f"has not written the end of {file} yet" in capsys.readouterr().err
