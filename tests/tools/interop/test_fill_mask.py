"""lra fill-mask: from a folder as transformers saves it, by our encoder; the probabilities are those of their model."""

import json
import shutil
import subprocess
import sys

import pytest
import torch

from lra.cli import main
from lra.tools.verbs.fill_mask import EXAMPLE
from tests.conftest import ROOT

SPECIAL = ("[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]")
WORDS = (*SPECIAL, *["paris", "is", "the", "capital", "of", "france", "city", "heart", "a", "."])
TEXT = "Paris is the [MASK] of France."
OF_THE_EXTRA = ("transformers", "sentencepiece", "tokenizers", "huggingface_hub")
NOT_INSTALLED = f"""
import importlib, importlib.machinery, importlib.metadata, pathlib, sys
GONE = {OF_THE_EXTRA}
find, named = importlib.machinery.PathFinder.find_spec, importlib.metadata.Distribution.from_name
def find_spec(cls, name, *rest):
    return None if name.split(".")[0] in GONE else find(name, *rest)
def from_name(cls, name):
    if name.replace("-", "_").lower() in GONE:
        raise importlib.metadata.PackageNotFoundError(name)
    return named(name)
importlib.machinery.PathFinder.find_spec = classmethod(find_spec)
importlib.metadata.Distribution.from_name = classmethod(from_name)
"""
IMPORT_ALL = """
for path in pathlib.Path("lra").rglob("*.py"):
    if path.stem != "__main__":
        importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
"""


@pytest.fixture(scope="module")
def transformers():
    return pytest.importorskip("transformers", reason="pip install -e '.[hf]'")


@pytest.fixture(scope="module")
def saved(transformers, tmp_path_factory):
    """Folders with a tiny language model: with exact attention, and with landmarks of 12 tokens."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordLevel

    whole = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    whole.normalizer, whole.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    whole.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {f"{word[1:-1].lower()}_token": word for word in SPECIAL}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=whole, **names)
    folders = {}
    for kind, segmented in (("exact", 4), ("landmarks", 12)):
        config = transformers.NystromformerConfig(
            vocab_size=len(WORDS),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=24,
            max_position_embeddings=20,
            segment_means_seq_len=segmented,
            num_landmarks=4,
            conv_kernel_size=3,
            initializer_range=0.5,
        )
        torch.manual_seed(0)
        folders[kind] = tmp_path_factory.mktemp(kind)
        transformers.NystromformerForMaskedLM(config).eval().save_pretrained(folders[kind])
        tokenizer.save_pretrained(folders[kind])
    return folders


@pytest.fixture
def folder(saved, tmp_path):
    """A copy of the model with exact attention, which a test may change."""
    return shutil.copytree(saved["exact"], tmp_path / "model")


def fillings(capsys, folder, *words, text=TEXT):
    assert main(["fill-mask", f"model={folder}", f"text={text}", "format=json", *words]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *words):
    assert main(["fill-mask", *words]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    return line


def test_the_five_are_those_of_their_model(saved, transformers, capsys):
    found = fillings(capsys, saved["exact"])
    theirs = transformers.NystromformerForMaskedLM.from_pretrained(saved["exact"]).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(saved["exact"])
    encoded = tokenizer(TEXT, return_tensors="pt")
    place = encoded["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    with torch.no_grad():
        scores, tokens = theirs(input_ids=encoded["input_ids"]).logits[0, place].softmax(-1).topk(5)
    assert [filling["token"] for filling in found] == tokens.tolist()
    assert [filling["score"] for filling in found] == pytest.approx(scores.tolist(), abs=1e-6)
    assert [filling["word"] for filling in found] == [tokenizer.decode([token]) for token in tokens.tolist()]
    for filling in found:
        if filling["word"] not in tokenizer.all_special_tokens:
            assert filling["sentence"].replace(" .", ".") == f"paris is the {filling['word']} of france."


def test_the_tokenizer_of_the_published_checkpoints(transformers, tmp_path, capsys):
    """They have an ALBERT tokenizer: a sentencepiece model without a tokenizer.json."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="pip install -e '.[hf]'")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(
            [*["paris is the capital of france .", "paris is a city in the heart of france ."] * 20]
        ),
        model_prefix=str(tmp_path / "spiece"),
        vocab_size=60,
        hard_vocab_limit=False,
        user_defined_symbols=["[CLS]", "[SEP]", "[MASK]"],
        **{"pad_id": 0, "pad_piece": "<pad>", "unk_id": 1, "bos_id": -1, "eos_id": -1, "minloglevel": 2},
    )
    config = transformers.NystromformerConfig(
        vocab_size=60, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
    )
    transformers.NystromformerForMaskedLM(config).save_pretrained(tmp_path)
    found = fillings(capsys, tmp_path, "top=60")
    assert sum(filling["score"] for filling in found) == pytest.approx(1, abs=1e-5)
    for filling in found:
        assert filling["sentence"].startswith("paris is the")
        assert "of france" in filling["sentence"]


def test_landmarks_get_the_length_that_they_are_taken_of(saved, capsys):
    found = fillings(capsys, saved["landmarks"], "top=3")
    assert len(found) == 3
    assert "landmarks take 12" in refused(
        capsys, f"model={saved['landmarks']}", f"text={TEXT} Paris is the heart of France."
    )


def test_a_table_of_words_and_sentences(saved, capsys):
    assert main(["fill-mask", f"model={saved['exact']}", f"text={TEXT}"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("score", "token", "word", "sentence"))
    assert sum("of france" in line for line in out.splitlines()) == 5


@pytest.mark.parametrize("text", ["It's the [MASK], a city", 'a "[MASK]" \\', "the [MASK] = a, b", "'the [MASK]'"])
def test_any_text_is_taken_as_it_is_typed(saved, capsys, text):
    assert len(fillings(capsys, saved["exact"], text=text)) == 5


def test_an_older_checkpoint_is_read_for_its_tensors_alone(folder, capsys):
    from safetensors.torch import load_file

    expected = fillings(capsys, folder)
    weights = load_file(folder / "model.safetensors")
    weights["nystromformer.embeddings.position_ids"] = torch.arange(20)[None] + 2  # earlier versions saved it
    torch.save(weights, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert fillings(capsys, folder) == expected
    torch.save({"code": print}, folder / "pytorch_model.bin")
    assert "holds more than tensors" in refused(capsys, f"model={folder}", f"text={TEXT}")
    (folder / "pytorch_model.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    assert "is no checkpoint of torch (a pointer of Git LFS?)" in refused(capsys, f"model={folder}", f"text={TEXT}")


def test_mistakes_are_one_line(folder, tmp_path, capsys):
    model, text = f"model={folder}", f"text={TEXT}"
    assert "model=" in refused(capsys, f"model={tmp_path / 'none'}", text)
    (tmp_path / "empty").mkdir()
    assert "has no config.json" in refused(capsys, f"model={tmp_path / 'empty'}", text)
    assert EXAMPLE in refused(capsys, model, "text=Paris")
    assert "has 2 [MASK]" in refused(capsys, model, "text=[MASK] [MASK]")
    assert "has 33 tokens, and the model takes 20" in refused(capsys, model, f"text={'paris ' * 30}[MASK]")
    assert "text=" in refused(capsys, model)
    assert "model=" in refused(capsys, text)
    assert "top=0" in refused(capsys, model, text, "top=0")
    assert "terminal, json" in refused(capsys, model, text, "format=csv")
    config = json.loads((folder / "config.json").read_text())

    def with_config(**fields):
        (folder / "config.json").write_text(json.dumps({**config, **fields}))
        return refused(capsys, model, text)

    assert "model_type='bert'" in with_config(model_type="bert")
    assert "which predicts no words" in with_config(architectures=["NystromformerForSequenceClassification"])
    assert "convert one of NystromformerModel" in with_config(architectures=["NystromformerForQuestionAnswering"])
    assert "vocab_size='many'" in with_config(vocab_size="many")
    assert "the weights do not fit" in with_config(intermediate_size=25)
    assert "the weights do not fit" in with_config(hidden_size=10**7, intermediate_size=10**7)
    assert "id2label=5" in with_config(id2label=5)
    assert "unknown tokens" in with_config(vocab_size=8)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(b"damaged")
    assert "model.safetensors" in refused(capsys, model, text)
    (folder / "tokenizer.json").unlink()
    assert "has no tokenizer that transformers can read" in refused(capsys, model, text)


@pytest.fixture
def without_tokenizer(tmp_path):
    """A folder that is right up to its tokenizer."""
    sizes = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    more = ("max_position_embeddings", "segment_means_seq_len", "num_landmarks", "conv_kernel_size")
    config = {"model_type": "nystromformer", "architectures": ["NystromformerForMaskedLM"]}
    (tmp_path / "config.json").write_text(json.dumps(config | dict.fromkeys((*sizes, *more), 1)))
    return tmp_path


def test_without_transformers_it_says_what_to_install(without_tokenizer, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "transformers", None)
    line = refused(capsys, f"model={without_tokenizer}", f"text={TEXT}")
    assert "type: pip install -e '.[hf]'" in line


@pytest.mark.slow
@pytest.mark.exhaustive
def test_everything_is_imported_where_the_extra_is_not_installed(without_tokenizer):
    code = f"{NOT_INSTALLED}{IMPORT_ALL}from lra.cli import main\n"
    code += f"sys.exit(main(['fill-mask', 'model={without_tokenizer}', 'text={TEXT}']))\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "pip install -e '.[hf]'" in done.stderr.splitlines()[-1]
