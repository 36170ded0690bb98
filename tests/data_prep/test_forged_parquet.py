"""A damaged or forged parquet file is refused in a line; nothing is half written, and memory stays small."""

import io
import struct
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.data_prep.parquet_files import IMAGES, images, png, texts
from tests.data_prep.peak_memory import code_and_peak_bytes

TRAIN = "train-00000-of-00001.parquet"
GOOD_TEXT = texts([(b"dull", 0), (b"moving", 1)] * 20)
PLANES = np.random.default_rng(0).integers(0, 256, (20, 3, 32, 32), dtype=np.uint8)
GOOD_IMAGE = images(PLANES, np.arange(20) % 10)
PNG = png(PLANES[0].transpose(1, 2, 0))


def packed(table: pa.Table, **how: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **how)
    return file.getvalue()


WHOLE, WHOLE_IMAGE = packed(GOOD_TEXT), packed(GOOD_IMAGE)
FOOTER_BYTES = struct.unpack("<I", WHOLE[-8:-4])[0]
OFTEN = pa.DictionaryArray.from_arrays(pa.array([0] * 4000, pa.int32()), pa.array(["b" * 900_000]))


def text_with(name: str, column: object) -> bytes:
    columns = {field: GOOD_TEXT[field] for field in GOOD_TEXT.column_names if field != name}
    return packed(pa.table({**columns, name: column}))


def pngs_with(content: bytes | None) -> bytes:
    column = pa.array([{"bytes": PNG, "path": "0.png"}] * 19 + [{"bytes": content, "path": None}], IMAGES)
    return packed(pa.table({"img": column, "label": GOOD_IMAGE["label"]}))


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_of(side: int, *between: bytes, raw: bytes = b"") -> bytes:
    """A PNG whose head says `side`, with further chunks, and data that unpack to `raw`."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(between) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def footer_with(old: bytes, new: bytes, times: int = -1) -> bytes:
    """The whole file with other bytes in its description of itself: everywhere, or the first `times`."""
    footer = WHOLE[-8 - FOOTER_BYTES : -8]
    assert old in footer
    changed = footer.replace(old, new, times)
    return WHOLE[: -8 - FOOTER_BYTES] + changed + struct.pack("<I", len(changed)) + b"PAR1"


def varint(number: int) -> bytes:
    number, encoded = number << 1, b""  # zigzag, as thrift's compact protocol has it
    while number > 127:
        encoded, number = encoded + bytes([number & 127 | 128]), number >> 7
    return encoded + bytes([number])


LONG_LABELS = pa.array([0] * 40, pa.int64())
ROW_COUNT = b"\x16" + varint(40)  # a field of 64 bits
FORGED_TEXT = {
    # damaged
    "nothing": b"",
    "the first half": WHOLE[: len(WHOLE) // 2],
    "the second half": WHOLE[len(WHOLE) // 2 :],
    "without its end": WHOLE[:-1],
    "more after its end": WHOLE + b"x",
    "its marks alone": b"PAR1PAR1",
    "no parquet": b"text,label\nmoving,1\n",
    "a zip": b"PK\x03\x04" + b"x" * 100,
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 20979968\n",
    "zeros for content": WHOLE[:4] + bytes(60) + WHOLE[64:],
    "a footer of zeros": WHOLE[: -8 - FOOTER_BYTES] + bytes(FOOTER_BYTES) + WHOLE[-8:],
    "an encrypted footer": WHOLE[:-4] + b"PARE",
    # other columns, types and values
    "no text": packed(GOOD_TEXT.select(["label"])),
    "no label": packed(GOOD_TEXT.select(["text"])),
    "no columns": packed(pa.table({})),
    "other names": packed(GOOD_TEXT.rename_columns(["review", "sentiment"])),
    "text twice": packed(pa.table([GOOD_TEXT["text"]] * 2 + [GOOD_TEXT["label"]], names=["text", "text", "label"])),
    "labels as texts": text_with("label", pa.array(["neg", "pos"] * 20)),
    "labels as real numbers": text_with("label", pa.array([0.0, 1.0] * 20)),
    "labels as truth values": text_with("label", pa.array([False, True] * 20)),
    "labels in lists": text_with("label", pa.array([[0], [1]] * 20)),
    "numbers as texts": text_with("text", LONG_LABELS),
    "lists of texts": text_with("text", pa.array([["a"]] * 40)),
    "images as texts": packed(pa.table({"text": GOOD_IMAGE["img"], "label": GOOD_IMAGE["label"]})),
    "a third label": text_with("label", pa.array([0, 1] * 19 + [2, 0])),
    "a label below zero": text_with("label", pa.array([0, 1] * 19 + [-1, 0])),
    "a label of another day": text_with("label", pa.array([1 << 40] * 40)),
    "a label that is missing": text_with("label", pa.array([0, 1] * 19 + [None, 0])),
    "a text that is missing": text_with("text", pa.array(["a"] * 39 + [None])),
    "no rows": packed(GOOD_TEXT.slice(0, 0)),
    # sizes
    "a text of more than a megabyte": text_with("text", pa.array(["a"] * 39 + ["b" * (1 << 20) + "b"])),
    "a text that comes often": packed(
        pa.table({"text": OFTEN, "label": [0] * 4000}), compression="zstd", store_schema=False
    ),
    "more rows than there are": footer_with(ROW_COUNT, b"\x16" + varint(1 << 40)),
    "more rows in all than in its groups": footer_with(ROW_COUNT, b"\x16" + varint(41), 1),
    "fewer rows in all than in its groups": footer_with(ROW_COUNT, b"\x16" + varint(39), 1),
    "rows below zero": footer_with(ROW_COUNT, b"\x16\x03"),
}
FORGED_IMAGE = {
    "a PNG of another size": pngs_with(png(np.zeros((33, 33, 3), np.uint8))),
    "a PNG that says it is huge": pngs_with(png_of(1 << 30)),
    "a PNG of 20,000 pixels a side": pngs_with(png_of(20_000, raw=bytes(1 << 24))),
    "a PNG with too little in it": pngs_with(png_of(32, raw=b"\x00")),
    "a PNG with a text that unpacks to 256 MB": pngs_with(
        png_of(32, chunk(b"zTXt", b"x\x00\x00" + zlib.compress(bytes(1 << 28))), raw=bytes(97 * 32))
    ),
    "the half of a PNG": pngs_with(PNG[: len(PNG) // 2]),
    "no PNG": pngs_with(b"\xff\xd8\xff\xe0 JPEG"),
    "an empty PNG": pngs_with(b""),
    "a PNG that is missing": pngs_with(None),
    "images as texts": packed(pa.table({"img": ["a"] * 20, "label": GOOD_IMAGE["label"]})),
    "images without bytes": packed(pa.table({"img": pa.array([{"path": "0.png"}] * 20), "label": GOOD_IMAGE["label"]})),
    "an eleventh class": packed(pa.table({"img": GOOD_IMAGE["img"], "label": [10] * 20})),
    "the first half": WHOLE_IMAGE[: len(WHOLE_IMAGE) // 2],
}
FORGED = {("text", name): content for name, content in FORGED_TEXT.items()} | {
    ("image", name): content for name, content in FORGED_IMAGE.items()
}


@pytest.mark.some_fast(7)
@pytest.mark.parametrize("task, name", FORGED, ids=" ".join)
def test_each_is_refused_in_a_line_and_nothing_is_written(prepare, tmp_path, task, name):
    (tmp_path / "x").mkdir()
    whole = {"text": WHOLE, "image": WHOLE_IMAGE}[task]
    (tmp_path / "x" / TRAIN.replace("train", "test")).write_bytes(whole)
    (tmp_path / "x" / TRAIN).write_bytes(whole)
    prepare(task, f"source={tmp_path}/x", "verify=false")[0]
    (tmp_path / "x" / TRAIN).write_bytes(FORGED[task, name])
    store = tmp_path / "data/stores" / task / "tiny"
    before = {path: path.stat().st_mtime_ns for path in store.iterdir()}
    line = prepare(task, f"source={tmp_path}/x", "verify=false", "force=true")
    assert isinstance(line, str), "it is read"
    assert TRAIN in line or name == "no rows"
    assert len(line) < 700
    assert before == {path: path.stat().st_mtime_ns for path in store.iterdir()}
    assert [path.name for path in store.parent.iterdir() if not path.name.endswith(".lock")] == ["tiny"]


@pytest.mark.parametrize("missing", ["train-00001-of-00003.parquet", "train-00002-of-00003.parquet"])
def test_a_missing_file_is_named(prepare, tmp_path, missing):
    (tmp_path / "x").mkdir()
    names = [TRAIN.replace("train", "test"), *(f"train-{number:05}-of-00003.parquet" for number in range(3))]
    for name in set(names) - {missing}:
        (tmp_path / "x" / name).write_bytes(WHOLE)
    assert f"has no {missing}" in prepare("text", f"source={tmp_path}/x", "verify=false")


@pytest.mark.some_fast(3)
@pytest.mark.parametrize("at", range(0, len(WHOLE), 61))
def test_a_changed_byte_is_refused_or_changes_a_value(prepare, tmp_path, at):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / TRAIN.replace("train", "test")).write_bytes(WHOLE)
    (tmp_path / "x" / TRAIN).write_bytes(WHOLE[:at] + bytes([WHOLE[at] ^ 0xFF]) + WHOLE[at + 1 :])
    prepare("text", f"source={tmp_path}/x", "verify=false")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a text that comes often", "a text of more than a megabyte"])
def test_memory_stays_small(tmp_path, name):
    for split in ("train", "test"):
        (tmp_path / TRAIN.replace("train", split)).write_bytes(FORGED_TEXT[name])
    words = ("prepare", "task=text", f"source={tmp_path}", "verify=false")
    code, peak = code_and_peak_bytes(*words, folder=tmp_path, LRA_DATA_DIR=str(tmp_path / "data"))
    assert code == 2
    assert peak < 2**30
