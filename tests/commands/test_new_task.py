"""lra new task writes the YAML file of a user's own data with its numbers; the task is prepared and trained."""

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import yaml
from PIL import Image

from lra.cli import main
from lra.data.store import open_store
from lra.types import TaskSpec

GOOD, BAD = "très good", "so bad"
TEXTS, NAMES = [GOOD, BAD] * 20, ["pos", "neg"] * 20
COUNTS = {"train": 32, "dev": 4, "test": 4}
PIXELS = np.arange(16, dtype=np.uint8).reshape(4, 4) * 16


def write_csv(path: Path, header: str, rows: list[str], encoding: str = "utf-8") -> None:
    path.write_text("\n".join([header, *rows]) + "\n", encoding)


def write_parquet(path: Path, **columns: object) -> None:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def write_images(folder: Path, image: Image.Image | None = None, classes: str = "ab", count: int = 20) -> None:
    for name in classes:
        (folder / name).mkdir(parents=True)
        for number in range(count):
            (image or Image.fromarray(PIXELS + (name == "b"))).save(folder / name / f"{number}.png")


def make(form: str) -> None:
    """Write the file of this name here."""
    path, rows = Path(form), [f"{text},{name}" for text, name in zip(TEXTS, NAMES, strict=True)]
    texts = [f"{text},{number % 2}" for number, text in enumerate(TEXTS)]
    ids = np.array([[1, 2, 0], [3, 2, 5]] * 20)
    square = Image.fromarray(PIXELS)
    files = {
        "my.csv": lambda: write_csv(path, "id,review,stars", [f"7,{row}" for row in rows]),
        "bom.csv": lambda: write_csv(path, "text,label", texts, "utf-8-sig"),
        "stars.csv": lambda: write_csv(path, "tokens,label", [f"a b,{n % 2 * 5 - 1}" for n in range(40)]),
        "plain.csv": lambda: write_csv(path, "tokens,label,split", ["7 8,0,train", "9,1,train", "7,1,test"]),
        "my.parquet": lambda: write_parquet(path, text=TEXTS, label=NAMES),
        "ids.parquet": lambda: write_parquet(path, input_ids=ids.tolist(), label=[0, 1] * 20),
        "my.npz": lambda: np.savez(path, tokens=ids, labels=np.array(NAMES)),
        "images": lambda: write_images(path),
        "splits": lambda: [write_images(path / split) for split in ("train", "test")],
        "colours": lambda: write_images(path, Image.new("RGB", (4, 4), (255, 0, 0))),
        # what cannot be a task
        "empty.csv": lambda: path.write_text(""),
        "header.csv": lambda: write_csv(path, "text,label", []),
        "semicolon.csv": lambda: write_csv(path, "text;label", ["a;0", "b;1"]),
        "one.csv": lambda: write_csv(path, "text,label", ["a,0"] * 40),
        "floats.csv": lambda: write_csv(path, "text,label", ["a,0.0", "b,1.0"] * 20),
        "nan.csv": lambda: write_csv(path, "text,label", [*texts, "a,nan"]),
        "unlabelled.csv": lambda: write_csv(path, "text,label", [*texts, "a,"]),
        "textless.csv": lambda: write_csv(path, "text,label", [*texts, ",1"]),
        "many.csv": lambda: write_csv(path, "text,label", [f"a,{n}" for n in range(400)]),
        "few.csv": lambda: write_csv(path, "text,label", ["a,0", "b,1"]),
        "latin.csv": lambda: write_csv(path, "text,label", texts, "latin-1"),
        "splits.csv": lambda: write_csv(path, "text,label,split", ["a,0,train", "b,1,train", "b,0,val"]),
        "untrained.csv": lambda: write_csv(path, "text,label,split", ["a,0,train", "b,1,train", "b,2,test"]),
        "ragged.npz": lambda: np.savez(path, tokens=np.array([[1], [1, 2]], object), labels=[0, 1]),
        "float.npz": lambda: np.savez(path, tokens=ids, labels=[0.0, 1.0] * 20),
        "null.parquet": lambda: write_parquet(path, text=["a", None] * 20, label=[0, 1] * 20),
        "floats.parquet": lambda: write_parquet(path, text=TEXTS, label=[0.0, 1.0] * 20),
        "negative.parquet": lambda: write_parquet(path, input_ids=[[-1]] * 40, label=[0, 1] * 20),
        "mixed.parquet": lambda: write_parquet(path, input_ids=[[1], None] * 20, label=[0, 1] * 20),
        "broken.parquet": lambda: path.write_bytes(b"PAR1 broken PAR1"),
        "oblong": lambda: write_images(path, square.resize((4, 5))),
        "sizes": lambda: [write_images(path), square.resize((5, 5)).save(path / "b/3.png")],
        "transparent": lambda: write_images(path, square.convert("RGBA")),
        "deep": lambda: write_images(path, Image.fromarray(PIXELS.astype(np.uint16) * 300)),
        "one": lambda: write_images(path, classes="a"),
        "flat": lambda: [write_images(path), square.save(path / "x.png")],
        "jpeg": lambda: [write_images(path), square.save(path / "a/3.png", format="JPEG")],
        "cut": lambda: [write_images(path), (path / "a/3.png").write_bytes((path / "a/3.png").read_bytes()[:40])],
        "others": lambda: [write_images(path), (path / "a/notes.txt").touch()],
        "nothing": path.mkdir,
        "text.tsv": path.touch,
    }
    files[form]()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    return tmp_path


def written(*words: str) -> dict:
    """The task's file, as lra new task writes it."""
    assert main(["new", "task", "mine", *words]) == 0
    return yaml.safe_load(Path("mine/mine/conf/task/mine.yaml").read_text())


@pytest.mark.parametrize(
    "words, vocab_size, full",
    [
        (
            "my.csv text=review label=stars",
            258,
            {"max_length": 10, "tokens": "bytes", "classes": ["neg", "pos"]} | COUNTS,
        ),
        ("bom.csv", 258, {"max_length": 10, "tokens": "bytes"} | COUNTS),
        ("bom.csv tokens=characters", 13, {"max_length": 9, "tokens": "characters"} | COUNTS),
        ("bom.csv tokens=words", 7, {"max_length": 2, "tokens": "words"} | COUNTS),
        ("bom.csv tokens=words max_length=1", 7, {"max_length": 1, "longer": "cut"} | COUNTS),
        ("stars.csv", 5, {"max_length": 2, "tokens": "words", "classes": ["-1", "4"]} | COUNTS),
        ("plain.csv", 11, {"max_length": 2, "tokens": "ids", "train": 2, "test": 1}),
        ("my.parquet", 258, {"max_length": 10, "tokens": "bytes", "classes": ["neg", "pos"]} | COUNTS),
        ("ids.parquet", 7, {"max_length": 3, "tokens": "ids"} | COUNTS),
        ("my.npz", 7, {"max_length": 3, "tokens": "ids", "classes": ["neg", "pos"]} | COUNTS),
        ("images", 257, {"max_length": 16, "tokens": "pixels", "classes": ["a", "b"]} | COUNTS),
        ("splits", 257, {"max_length": 16, "tokens": "pixels", "train": 40, "test": 40}),
    ],
)
def test_the_file_has_the_numbers_of_the_data(here, words, vocab_size, full):
    form = words.split()[0]
    make(form)
    task = written(f"source={words}".split()[0], *words.split()[1:])
    assert task["name"] == task["spec"]["name"] == "mine"
    assert task["spec"]["vocab_size"] == vocab_size, "the largest id, one for id 0, and one for a class token"
    assert task["spec"]["num_classes"] == 2
    found = task["sizes"]["full"]
    assert found["seq_len"] == found["max_length"]
    assert {key: found.get(key) for key in full} == full
    assert ("classes" in found) == ("classes" in full or form == "splits")
    assert task["dev_split"] == ("own" if "dev" in full else "held_out")
    assert task["open_source"]["file"] == str(here / form)


@pytest.mark.some_fast(3)
@pytest.mark.parametrize(
    "words, first, label",
    [
        ("my.csv text=review label=stars", [byte + 1 for byte in GOOD.encode()], 1),
        ("bom.csv tokens=words", [5, 3], 0),  # both words twice as often as none: by their names
        ("my.parquet tokens=words", [5, 3], 1),
        ("ids.parquet", [1, 2], 0),
        ("my.npz", [1, 2], 1),
        ("images", PIXELS.reshape(-1).tolist(), 0),
        ("colours", [76] * 16, 0),  # .299 of 255
    ],
)
def test_the_task_is_prepared_from_the_file_that_it_names(here, monkeypatch, words, first, label):
    make(words.split()[0])
    task = written(f"source={words}".split()[0], *words.split()[1:])
    monkeypatch.setenv("LRA_CONF_PATH", str(here / "mine/mine/conf"))
    assert main(["prepare", "task=mine", "size=tiny"]) == 0
    spec = {key: task["spec"][key] for key in ("vocab_size", "num_classes")}
    seq_len = task["sizes"]["full"]["seq_len"]
    store = open_store(here / "data/stores/mine/tiny", TaskSpec(name="mine", seq_len=seq_len, num_sequences=1, **spec))
    counts = {split: task["sizes"]["full"][split] for split in store.splits}
    assert {split: len(rows) for split, rows in store.splits.items()} == counts
    tokens, its_label = store.splits["train"].example(0)
    assert (tokens[0].tolist(), its_label) == (first, label)
    assert store.manifest["origin"] == "own"


def test_the_tokens_are_shown_as_what_they_are(here, monkeypatch, result_of):
    make("bom.csv")
    written("source=bom.csv", "tokens=characters")
    monkeypatch.setenv("LRA_CONF_PATH", str(here / "mine/mine/conf"))
    examples = result_of("show", "data", "task=mine", "size=tiny").examples
    assert any(GOOD in line for example in examples for line in example.lines)


def test_a_file_that_has_changed_names_all_numbers_that_are_wrong(here, monkeypatch, refused):
    make("plain.csv")
    written("source=plain.csv")
    monkeypatch.setenv("LRA_CONF_PATH", str(here / "mine/mine/conf"))
    write_csv(Path("plain.csv"), "tokens,label,split", ["7 8 20,0,train", "9,1,train", "7,2,train", "7,1,test"])
    error = refused("prepare", "task=mine", "size=tiny")
    assert error.kind == "wrong_sizes"
    assert error.right == {"num_classes": 3, "vocab_size": 21, "max_length": 3, "seq_len": 3, "train": 3}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["my.parquet", "images"])
def test_it_is_trained(here, monkeypatch, form):
    make(form)
    written(f"source={form}")
    monkeypatch.setenv("LRA_CONF_PATH", str(here / "mine/mine/conf"))
    words = ["recipe.steps=2", "recipe.eval_every=2", "logger=csv", "trainer.threads=1"]
    assert main(["train", "task=mine", "size=tiny", *words]) == 0
    assert list((here / "runs/default/mine").rglob("result.json"))


@pytest.mark.parametrize(
    "words",
    [
        *("empty.csv", "header.csv", "semicolon.csv", "one.csv", "floats.csv", "nan.csv", "unlabelled.csv"),
        *("textless.csv", "many.csv", "few.csv", "latin.csv", "splits.csv", "untrained.csv"),
        *("ragged.npz", "float.npz", "null.parquet", "floats.parquet", "negative.parquet", "mixed.parquet"),
        *("broken.parquet", "oblong", "sizes", "transparent", "deep", "one", "flat", "jpeg", "cut", "others"),
        *("nothing", "text.tsv", "my.csv", "my.csv text=review", "my.csv text=review label=star"),
        *("bom.csv tokens=subwords", "bom.csv tokens=ids", "bom.csv tokens=pixels", "my.npz tokens=bytes"),
        *(
            "my.npz text=x",
            "images tokens=bytes",
            "bom.csv max_length=0",
            "bom.csv max_length=ten",
            "bom.csv columns=x",
        ),
        *("bom.csv tokens=words tokens=ids", "bom.csv source=", "bom.csv another"),
    ],
)
def test_what_cannot_be_a_task_is_one_line_and_leaves_nothing(here, refused, words):
    form, *others = words.split()
    make(form)
    said = str(refused("new", "task", "mine", f"source={form}", *others))
    assert "\n" not in said
    assert any(word in said for word in (form, *others))
    assert [path.name for path in here.iterdir()] == [form]


@pytest.mark.parametrize("typed", ["task mine", "task text source=x.csv", "task mine source=missing.csv"])
def test_a_missing_file_and_a_name_that_is_taken_are_one_line(here, refused, typed):
    assert "\n" not in str(refused("new", *typed.split()))
    assert not list(here.iterdir())


@pytest.mark.parametrize("name", ["loop.csv", "loop.parquet", "loop.npz", "loop"])
def test_a_link_to_itself_is_one_line(here, refused, name):
    Path(name).symlink_to(name)
    error = refused("new", "task", "mine", f"source={name}")
    assert (error.kind, error.value) == ("missing_file", name)


@pytest.mark.parametrize("largest", [2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("form", ["my.parquet", "my.npz"])
def test_an_id_that_is_too_large_is_named_with_its_row(here, refused, form, largest):
    ids = np.ones((40, 2), np.uint64)
    ids[7, 1] = largest
    if form == "my.npz":
        np.savez(form, tokens=ids, labels=[0, 1] * 20)
    else:
        write_parquet(Path(form), input_ids=list(ids), label=[0, 1] * 20)
    error = refused("new", "task", "mine", f"source={form}")
    assert (error.kind, error.value) == ("wrong_id", largest)
    assert "row 7:" in str(error)


def test_labels_above_int64_are_names_of_classes(here):
    labels = pyarrow.array([2**64 - 1, 2**63] * 20, pyarrow.uint64())
    write_parquet(Path("my.parquet"), text=TEXTS, label=labels)
    assert written("source=my.parquet")["sizes"]["full"]["classes"] == [str(2**63), str(2**64 - 1)]


@pytest.mark.parametrize(
    "type_",
    [
        pyarrow.large_string(),
        pyarrow.string_view(),
        pyarrow.binary(),
        pyarrow.binary_view(),
        pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
        pyarrow.dictionary(pyarrow.int32(), pyarrow.large_string()),
    ],
    ids=str,
)
def test_texts_and_names_of_parquet_have_any_type_of_texts(here, type_):
    texts, names = pyarrow.array(TEXTS), pyarrow.array(NAMES)
    if "binary" in str(type_):
        texts, names = texts.cast(pyarrow.binary()), names.cast(pyarrow.binary())
    write_parquet(Path("my.parquet"), text=texts.cast(type_), label=names.cast(type_))
    full = written("source=my.parquet")["sizes"]["full"]
    assert (full["max_length"], full["classes"]) == (len(GOOD.encode()), ["neg", "pos"])


@pytest.mark.parametrize("type_", [pyarrow.large_list(pyarrow.uint8()), pyarrow.list_(pyarrow.int16(), 2)], ids=str)
def test_ids_of_parquet_have_any_type_of_lists(here, type_):
    write_parquet(Path("my.parquet"), input_ids=pyarrow.array([[3, 4]] * 40, type_), label=[0, 1] * 20)
    assert written("source=my.parquet")["spec"]["vocab_size"] == 6


def test_a_column_of_images_is_told_as_what_it_is(here, refused):
    images = [{"bytes": b"\xff\xd8\xff\xe0 JPEG", "path": "x.jpg"}] * 40
    write_parquet(Path("my.parquet"), image=images, label=[0, 1] * 20)
    error = refused("new", "task", "mine", "source=my.parquet", "text=image")
    assert (error.kind, error.key) == ("wrong_column", "image")


HOSTILE = {
    "nul": ('"a\0b",{}\n', 0),
    "crlf": ("a b,{}\r\n", 0),
    "cr": ("a b,{}\r", 0),
    "all line ends in a cell": ('"a\r\nb\rc\n",{}\n', 0),
    "controls in a name": ("a,\x1b[31m\u202e{}\n", 0),
    "an interpolation as name": ("a,${{oc.env:HOME}}{}\n", 0),
    "surrogates": ("\ud800,{}\n", 2),
    "no closing quote": ('"a,{}\n', 2),
    "one column": ("a\n", 2),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_cells_are_read_or_refused_in_one_line(here, capsys, refused, name):
    row, code = HOSTILE[name]
    end = "\r" if name == "cr" else "\n"
    text = "\ufefftext,label" + end + "".join(row.format(number % 2) for number in range(40))
    Path("my.csv").write_bytes(text.encode(errors="surrogatepass"))
    words = ("new", "task", "mine", "source=my.csv")
    if code:
        assert "\n" not in str(refused(*words))
        return
    assert main(words) == 0
    assert not capsys.readouterr().err


def test_ten_thousand_columns_are_read(here):
    header = ",".join(["text", "label", *(f"c{number}" for number in range(10_000))])
    write_csv(Path("my.csv"), header, [f"a,{number % 2}" + "," * 10_000 for number in range(40)])
    assert written("source=my.csv")["spec"]["num_classes"] == 2
