"""ListOps from `lra_release.gz`, packed or unpacked: the same as from its folder, or one line."""

import io
import tarfile
import zipfile

import pytest

from data_prep.archives import write_tar
from data_prep.listops import source, tsv
from lra.types import UserError
from tests.data_prep.test_listops_symbols import drawn

FOLDER = "lra_release/lra_release/listops-1000"
ROWS = {"train": drawn(60, 0), "dev": drawn(8, 1), "test": drawn(8, 2)}


def files(folder: str = FOLDER, rows=ROWS) -> dict[str, bytes]:
    made = {}
    for split, name in tsv.FILES.items():
        lines = ["Source\tTarget", *(f"{expression}\t{value}" for expression, value in rows[split])]
        made[f"{folder}/{name}"] = "\n".join([*lines, ""]).encode()
    return made


def unpacked(tmp_path, content: dict[str, bytes]):
    for name, raw in content.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(raw)
    return tmp_path


@pytest.mark.parametrize("folder", [FOLDER, "lra_release/listops-1000", "listops-1000", "."])
def test_the_archive_gives_the_same_as_its_folder(prepare, tmp_path, folder):
    wanted, _ = prepare("listops", f"source={unpacked(tmp_path, files('x'))}/x", "verify=false")
    other = {"lra_release/lra_release/tsv_data/new_aan_pairs.eval.tsv": b"x"}
    archive = write_tar(tmp_path / "lra_release.gz", {**files(folder), **other})
    packed, _ = prepare("listops", f"source={archive}", "verify=false", "force=true")
    assert packed["arrays"] == wanted["arrays"]
    assert packed["source"]["files"] == wanted["source"]["files"]


def test_the_unpacked_root_and_its_folders_give_the_same(prepare, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "BENCHMARK", {split: len(rows) for split, rows in ROWS.items()})
    unpacked(tmp_path / "elsewhere", files())
    (tmp_path / "elsewhere/lra_release/x").touch()
    found = [prepare("listops", "source=auto")[0]]
    for place in ("", "lra_release", "lra_release/lra_release", FOLDER):
        found.append(prepare("listops", f"source={tmp_path}/elsewhere/{place}", "force=true")[0])
    assert all(manifest["arrays"] == found[0]["arrays"] for manifest in found)
    assert {manifest["origin"] for manifest in found} == {"unverified"}


def test_the_inner_of_two_folders_is_read_in_any_order(tmp_path):
    other = files("lra_release/listops-1000", {split: drawn(5, 9) for split in ROWS})
    for content in ({**other, **files()}, {**files(), **other}):
        (tmp_path / "scratch").mkdir(exist_ok=True)
        found = tsv.find(write_tar(tmp_path / "x.gz", content), tmp_path / "scratch", lambda done, total: None)
        assert [tsv.count(path) for path in found.values()] == [60, 8, 8]


def packed(content: dict[str, bytes], *, links: dict[str, str] | None = None) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive:
        for name, raw in content.items():
            member = tarfile.TarInfo(name)
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return file.getvalue()


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, raw in files().items():
            archive.writestr(name, raw)
    return file.getvalue()


def with_train(change) -> bytes:
    train = f"{FOLDER}/basic_train.tsv"
    return packed({**files(), train: change(files()[train])})


WHOLE = packed(files())
DAMAGED = {
    **{f"cut at {tenth} tenths": WHOLE[: len(WHOLE) * tenth // 10] for tenth in range(10)},
    "cut at the last byte": WHOLE[:-1],
    "a changed byte": WHOLE[: len(WHOLE) // 2] + bytes([WHOLE[len(WHOLE) // 2] ^ 1]) + WHOLE[len(WHOLE) // 2 + 1 :],
    "a changed checksum": WHOLE[:-8] + bytes([WHOLE[-8] ^ 1]) + WHOLE[-7:],
    "a zip": zipped(),
    "a text": b"Source\tTarget\n[MAX 4 7 ]\t7\n",
    "no member": packed({}),
    "other files": packed({"lra_release/lra_release/tsv_data/x.tsv": b""}),
    "two files": packed(dict(list(files().items())[:2])),
    "two folders apart": packed({**files("a/listops-1000"), **files("b/listops-1000")}),
    "a link": packed({}, links={f"{FOLDER}/basic_train.tsv": "/etc/passwd"}),
    "a path upwards": packed(files("lra_release/../../listops-1000")),
    "a path from the root": packed(files("/lra_release/listops-1000")),
    "no header": with_train(lambda raw: raw.split(b"\n", 1)[1]),
    "an empty file": with_train(lambda raw: b""),
    "a header alone": with_train(lambda raw: b"Source\tTarget\n"),
    "commas": with_train(lambda raw: raw.replace(b"\t", b",")),
    "a third column": with_train(lambda raw: raw.replace(b"\n", b"\t1\n")),
    "another value": with_train(lambda raw: raw.rstrip()[:-1] + b"%d\n" % ((ROWS["train"][-1][1] + 1) % 10)),
    "another symbol": with_train(lambda raw: raw.replace(b"[MAX", b"[AVG")),
    "no closing brackets": with_train(lambda raw: raw.replace(b" ]", b"")),
    "a row that is cut": with_train(lambda raw: raw[:-20]),
    "an endless line": with_train(lambda raw: raw + b"[MAX " + b"4 " * 600_000),
    "bytes that are no text": with_train(lambda raw: raw.replace(b"4", b"\xff")),
}


@pytest.mark.some_fast(8)
@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_one_is_refused_in_a_line_and_leaves_nothing(prepare, tmp_path, content):
    (tmp_path / "lra_release.gz").write_bytes(content)
    line = prepare("listops", f"source={tmp_path}/lra_release.gz", "verify=false")
    assert any(said in line for said in ("basic_train.tsv", "lra_release.gz", "no train example"))
    assert len(line) < 500
    assert not [path for path in (tmp_path / "data/stores/listops").iterdir() if not path.name.endswith(".lock")]


def test_a_file_larger_than_it_can_be_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tsv, "LARGEST_FILE_BYTES", 100)
    with pytest.raises(UserError, match="at most 100 "):
        tsv.find(write_tar(tmp_path / "x.gz", files()), tmp_path, lambda done, total: None)


def test_links_are_followed_within_the_folder_alone(prepare, tmp_path):
    unpacked(tmp_path / "a", files("store"))
    (tmp_path / "a/listops-1000").symlink_to("store")
    assert prepare("listops", f"source={tmp_path}/a", "verify=false")[0]["splits"]["train"]["count"] == 60
    (tmp_path / "a/store").rename(tmp_path / "outside")
    (tmp_path / "a/listops-1000").unlink()
    (tmp_path / "a/listops-1000").symlink_to("../outside")
    line = prepare("listops", f"source={tmp_path}/a", "verify=false", "force=true")
    assert f"{tmp_path}/a/listops-1000 is a link" in line
    (tmp_path / "a/lra_release").symlink_to("../outside_too")
    unpacked(tmp_path / "outside_too", files("listops-1000"))
    (tmp_path / "a/listops-1000").unlink()
    assert f"{tmp_path}/a/lra_release is a link" in prepare("listops", f"source={tmp_path}/a", "force=true")
    (tmp_path / "a/lra_release").unlink()
    (tmp_path / "a/listops-1000").mkdir()
    for name in tsv.FILES.values():
        (tmp_path / "a/listops-1000" / name).symlink_to(tmp_path / "outside" / name)
    assert "basic_train.tsv is a link" in prepare("listops", f"source={tmp_path}/a", "verify=false", "force=true")
