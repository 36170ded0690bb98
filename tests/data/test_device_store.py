"""Data on the device: the loaders' batches to the last bit, without a word from the device to the host."""

from dataclasses import replace
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from lightning_fabric.utilities import move_data_to_device
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lra import from_config
from lra.data import loader
from lra.data.datamodule import StoreDataModule
from lra.data.loader import Collator, EvalLoader, TrainLoader, device_collators
from lra.data.store import Split, open_store
from lra.data.writer import StoreForm, write_store
from lra.settings.compose import load_config
from lra.settings.which_run import store_dir
from lra.types import UserError
from tests.data.test_store import FACTS, SPEC

FIRST_ID = {"listops": 0, "text": 1, "retrieval": 1, "image": 0, "pathfinder": 0, "pathx": 0}
SAME_LENGTH = ("image", "pathfinder", "pathx")
CPU, META = torch.device("cpu"), torch.device("meta")  # a meta tensor has no numbers: who reads one gets an error


def examples(spec, longest: int, *, same: bool, dtype):
    """Numbers with zeros among them; unless all have one length, some sequences are empty, the last one too."""
    rng = np.random.default_rng(0)
    most = min(spec.vocab_size - 1, np.iinfo(dtype).max)
    for number in range(70):
        lengths = rng.integers(0, longest + 1, spec.num_sequences) * (number % 23 != 0)
        yield [rng.integers(0, most, longest if same else length).astype(dtype) for length in lengths], number % 2


def make_store(folder, spec, *, first_id: int, longest: int, same: bool = False, dtype=np.uint8):
    splits = {name: examples(spec, longest, same=same, dtype=dtype) for name in ("train", "dev", "test")}
    form = StoreForm(spec=spec, dtype=dtype, max_length=longest, first_id=first_id)
    write_store(folder, form, splits, facts=FACTS, started=0.0)


def data_of(task: str, tmp_path, *words: str) -> StoreDataModule:
    words = (f"task={task}", "size=tiny", "recipe.batch_size=16", f"paths.data={tmp_path}", *words)
    cfg = load_config("train", words)
    folder, spec = store_dir(cfg), from_config.build_spec(cfg)
    if not folder.exists():
        longest = spec.seq_len if task in SAME_LENGTH else cfg.task.data.max_length
        make_store(folder, spec, first_id=FIRST_ID[task], longest=longest, same=task in SAME_LENGTH)
    return from_config.build_datamodule(cfg)


def attach(data, *, rank: int = 0, world_size: int = 1, device: torch.device = CPU):
    """Attach what stands for a Trainer."""
    strategy = SimpleNamespace(root_device=device)
    data.trainer = SimpleNamespace(global_rank=rank, world_size=world_size, strategy=strategy)
    return data


def assert_same(batches, others, *, count: int) -> None:
    pairs = list(zip(batches, others, strict=True))
    assert len(pairs) == count
    for pair in pairs:
        for one, other in zip(*pair, strict=True):
            if one is None:
                assert other is None
            else:
                assert (one.dtype, one.shape, one.stride()) == (other.dtype, other.shape, other.stride())
                assert one.equal(other)


def both(folder, spec=SPEC, *, device=CPU, longest: int | None = None, mask_zero: bool = True):
    """The collators of the same split, the last one in the store, in main memory and on a device."""
    split = replace(open_store(folder, spec).splits["test"], longest=longest)
    there = device_collators({"test": split}, spec, mask_zero=mask_zero, device=device)["test"]
    return Collator(split, spec, mask_zero=mask_zero), there


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["paper", "clean"])
@pytest.mark.parametrize("task", FIRST_ID)
def test_every_tasks_batches_are_those_of_main_memory(task, protocol, tmp_path):
    """Several passes, pieces of two passes in a batch, smaller last batches, and all ways to choose a dev split."""
    host = attach(data_of(task, tmp_path, f"protocol={protocol}"))
    there = attach(data_of(task, tmp_path, f"protocol={protocol}", "trainer.data_on_device=true"))
    assert type(there.train_dataloader().collate) is not type(host.train_dataloader().collate)
    assert_same(islice(host.train_dataloader(), 12), islice(there.train_dataloader(), 12), count=12)
    for name in ("val_dataloader", "test_dataloader"):
        batches = list(getattr(there, name)())
        assert_same(getattr(host, name)(), batches, count=len(batches))
    assert len(batches[-1].label) == 70 % 16


@pytest.mark.slow
def test_every_process_has_its_share(tmp_path):
    for rank in (0, 1):
        host = attach(data_of("retrieval", tmp_path), rank=rank, world_size=2)
        there = attach(data_of("retrieval", tmp_path, "trainer.data_on_device=true"), rank=rank, world_size=2)
        assert_same(islice(host.train_dataloader(), 6), islice(there.train_dataloader(), 6), count=6)
        assert_same(host.val_dataloader(), there.val_dataloader(), count=3 - rank)


def test_a_smaller_last_test_batch_is_dropped_where_the_protocol_says_so(tmp_path):
    words = ("protocol.test_last_batch=dropped",)
    host = attach(data_of("text", tmp_path, *words))
    there = attach(data_of("text", tmp_path, *words, "trainer.data_on_device=true"))
    assert_same(host.test_dataloader(), there.test_dataloader(), count=4)
    assert there.num_examples("test") == 64


@pytest.mark.parametrize("longest", [None, 3, 8, 20])
@pytest.mark.parametrize("mask_zero", [True, False])
def test_long_sequences_are_cut_alike(longest, mask_zero, tmp_path):
    """At the positions that the model has, and at the length that a protocol uses."""
    make_store(tmp_path, SPEC, first_id=1, longest=11)
    host, there = both(tmp_path, longest=longest, mask_zero=mask_zero)
    order = np.random.default_rng(0).permutation(70)
    assert_same([host(order)], [there(torch.from_numpy(order))], count=1)


@pytest.mark.parametrize("first_id", [0, 1])
def test_numbers_of_two_bytes_keep_their_value(first_id, tmp_path):
    """Those from 32768 on are negative in the int16 that holds them on the device."""
    spec = replace(SPEC, vocab_size=2**16 + 1)
    make_store(tmp_path, spec, first_id=first_id, longest=8, dtype=np.uint16)
    host, there = both(tmp_path, spec)
    batch = there(torch.arange(70))
    assert batch.tokens.max() > 2**15
    assert_same([host(np.arange(70))], [batch], count=1)


def test_a_store_is_copied_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(loader, "COPIED_TOKENS", 7)
    make_store(tmp_path, SPEC, first_id=0, longest=8)
    host, there = both(tmp_path)
    assert_same([host(np.arange(70))], [there(torch.arange(70))], count=1)


def test_a_run_goes_on_with_the_other_loader(tmp_path):
    make_store(tmp_path, SPEC, first_id=0, longest=8)

    def loader(collate):
        return TrainLoader(collate, batch_size=16, num_batches=11, seed=3)

    for first, second in (both(tmp_path), both(tmp_path)[::-1]):
        stopped, resumed = loader(first), loader(second)
        taken = list(islice(stopped, 5))
        resumed.load_state_dict(stopped.state_dict())
        assert_same(loader(first), [*taken, *resumed], count=11)


class Operators(TorchDispatchMode):
    """Notes the name of every operator, and of those that read a tensor in main memory."""

    def __init__(self):
        super().__init__()
        self.names: list[str] = []
        self.of_host: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        self.names.append(name)
        inputs = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if name != "lift_fresh" and any(tensor.device == CPU for tensor in inputs):  # it wraps numpy's numbers
            self.of_host.append(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("device", [CPU, META])
def test_a_batch_reads_nothing_back(device, tmp_path):
    """Catches: `int(lengths.max())`, a boolean index, a batch's numbers copied to the device one batch at a time."""
    make_store(tmp_path, SPEC, first_id=1, longest=8)
    _, collate = both(tmp_path, device=device)
    with Operators() as seen:
        trained = list(TrainLoader(collate, batch_size=16, num_batches=9, seed=0))
        evaluated = list(EvalLoader(collate, batch_size=16))
    assert "index" in seen.names
    assert not {"_local_scalar_dense", "nonzero"} & set(seen.names)
    assert {tuple(batch.tokens.shape) for batch in trained} == {(16, 2, 8)}
    assert [len(batch.label) for batch in evaluated] == [16, 16, 16, 16, 6]
    if device == META:
        assert seen.of_host == ["_to_copy"] * 3, "the order of each pass is all that moves"


def test_lightning_leaves_a_batch_where_it_is(tmp_path):
    make_store(tmp_path, SPEC, first_id=0, longest=8)
    host, there = both(tmp_path, device=META)
    batch = there(torch.arange(4, device=META))
    assert all(moved is tensor for moved, tensor in zip(move_data_to_device(batch, META), batch, strict=True))
    assert move_data_to_device(host(np.arange(4)), META).tokens.device == META, "another one is copied"


def test_a_store_is_copied_once_for_all_splits_and_trainers(tmp_path, monkeypatch):
    copies = []
    copied = loader._copied
    monkeypatch.setattr(loader, "_copied", lambda *args, **kwargs: copies.append(1) or copied(*args, **kwargs))
    data = attach(data_of("text", tmp_path, "protocol=clean", "trainer.data_on_device=true"))
    for _ in range(2):
        attach(data)
        data.train_dataloader(), data.val_dataloader(), data.test_dataloader()
    assert len(copies) == 1


def test_without_a_trainer_batches_are_in_main_memory(tmp_path):
    """As in a notebook, and where the CPU looks at some examples of a GPU's run."""
    data = data_of("text", tmp_path, "trainer=gpu")
    assert isinstance(data.train_dataloader().collate, Collator)
    assert isinstance(attach(data, device=META).collator("dev"), Collator)


def test_too_little_memory_is_one_line_with_both_sizes(tmp_path, monkeypatch):
    make_store(tmp_path, SPEC, first_id=0, longest=8)
    split: Split = open_store(tmp_path, SPEC).splits["train"]
    needed = len(split.tokens) + 8 + (2 * 140 + 70) * 8  # tokens and L more, starts and lengths, labels
    monkeypatch.setattr(loader, "free_device_bytes", lambda device: needed)
    device_collators({"train": split}, SPEC, mask_zero=True, device=CPU)
    monkeypatch.setattr(loader, "free_device_bytes", lambda device: needed - 1)
    with pytest.raises(UserError, match=r"0\.00\d GB.* 0\.00\d GB.* trainer\.data_on_device=false"):
        device_collators({"train": split}, SPEC, mask_zero=True, device=CPU)


def test_a_gpu_has_its_data_and_a_cpu_has_not():
    for trainer, there in (("cpu", False), ("gpu", True), ("ddp", False)):
        assert load_config("train", [f"trainer={trainer}"]).trainer.data_on_device is there
