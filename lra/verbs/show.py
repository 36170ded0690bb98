"""lra show: inspect a model, a task's data, the protocols, runs, or what can be chosen.

lra show model task=text attention=nystrom     layer by layer: output shape, parameters
lra show model attention=full protocol=clean
lra show model mixer=s4d                       a mixer in place of an attention
lra show protocol                              each switch: its values, their protocols, their meaning
lra show protocol format=markdown              the same, as docs/protocol.md has it
lra show data task=listops                     examples in readable form; lengths, labels, masked share, memory
lra show data task=image size=short split=test examples=5
lra show runs                                  each run: its hash, seed, state and accuracy, or why it failed
lra show runs run_group=table
lra show runs runs/published/demo.jsonl        the runs in a file of published records
lra show tasks                                 classes, length, examples, terms, and whether the data is prepared here
lra show attentions                            attentions and mixers: options, cost, source, differences from the paper
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lra.types import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omegaconf import DictConfig
    from torch import nn

SUBCOMMANDS = ("model", "data", "protocol", "runs", "tasks", "attentions")
BLOCK = re.compile(r"(.+?\.[0-9]+)\.")  # of a layer in a block, such as `encoder.blocks.0.mixer.out`
ALLOWED_GROWTH = 1.1  # Long Range Arena asks for at most 10 % more parameters than the Transformer's


def main_reads(words: Sequence[str]) -> bool:
    """Tell whether these words ask for a list that `main` reads from the files of a config group."""
    return list(words) in [["tasks"], ["attentions"]]


def main(words: Sequence[str]) -> None:
    """List the tasks at the default size, or the attentions and mixers."""
    from lra.base.paths import data_dir
    from lra.settings.config import default_choice
    from lra.verbs.show_choices import show_attentions, show_tasks

    if words[0] == "tasks":
        show_tasks(default_choice("size"), data_dir())
    else:
        show_attentions()


def to_overrides(words: list[str]) -> list[str]:
    """Turn the leading word into `what=WORD`, and a file after `runs` into `file=PATH`.

    Raises:
        UserError: when that word is missing or unknown.
    """
    if not words or "=" in words[0]:
        raise UserError(f"show what? type one of: {', '.join(f'lra show {what}' for what in SUBCOMMANDS)}")
    if words[0] not in SUBCOMMANDS:
        raise UserError(
            f"{words[0]!r} cannot be shown; type one of: {', '.join(f'lra show {what}' for what in SUBCOMMANDS)}"
        )
    what, *rest = words
    if what == "runs" and rest and "=" not in rest[0] and not rest[0].startswith("-"):
        from lra.settings.overrides import in_quotes

        rest[0] = f"file={in_quotes(rest[0])}"
    return [f"what={what}", *rest]


def run(cfg: DictConfig) -> None:
    """Show what `cfg.what` names."""
    if cfg.what == "protocol":
        from lra.verbs.show_protocol import show_protocol

        show_protocol(cfg)
        return
    if cfg.format != "terminal":
        raise UserError(f"format={cfg.format} is for lra show protocol; leave it out")
    if cfg.what == "data":
        from lra.verbs.show_data import show_data  # not for the others: numpy, and what a store needs

        show_data(cfg)
    elif cfg.what == "runs":
        from lra.verbs.show_runs import show_runs

        show_runs(cfg)
    elif cfg.what in ("tasks", "attentions"):
        from pathlib import Path

        from lra.verbs.show_choices import show_attentions, show_tasks

        show_tasks(cfg.size.name, Path(cfg.paths.data)) if cfg.what == "tasks" else show_attentions()
    else:
        show_model(cfg)


def show_model(cfg: DictConfig) -> None:
    """Print the model of a task and an attention, layer by layer."""
    from lra import build
    from lra.model.classifier import count_parameters
    from lra.results.tables import TextTable
    from lra.settings.config import method_name
    from lra.terminal.console import make_console
    from lra.terminal.fit_table import print_text_table

    console = make_console()
    spec, model = build.build_spec(cfg), build.build_model(cfg)
    table = TextTable(
        title=f"{cfg.task.name} / {method_name(cfg)}, protocol {cfg.protocol.name}; batch of 1",
        columns=("layer", "kind", "output", "parameters"),
        rows=by_block(layers(model, spec.num_sequences, spec.seq_len)),
        optional=("kind",),
        prose=("kind", "output"),
    )
    print_text_table(console, table)
    parameters, full = count_parameters(model), count_parameters(build.build_model(with_full_attention(cfg)))
    if parameters > ALLOWED_GROWTH * full:
        console.print(
            f"{parameters / full - 1:+.0%} parameters against attention=full ({full:,}):"
            " more than the 10 % that Long Range Arena allows",
            style="yellow",
        )
    console.print(f"parameters: {parameters}")


def by_block(rows: list[tuple[str, str, str, int]]) -> list[list[str]]:
    """Write the rows of a model's layers, those of a repeated block below a row of the block's name."""
    written: list[list[str]] = []
    block = ""
    for name, kind, shape, parameters in rows:
        match = BLOCK.match(name)
        if match and match[1] != block:
            written.append([match[1], "", "", ""])
        block = match[1] if match else ""
        shown = f"├ {name.removeprefix(f'{block}.')}" if block else name
        written.append([shown, kind, shape, f"{parameters:,}" if parameters else ""])
    return written


def with_full_attention(cfg: DictConfig) -> DictConfig:
    """Copy the configuration, with exact attention."""
    from omegaconf import OmegaConf

    from lra.base.paths import conf_dir
    from lra.settings.config import without_descriptions

    other = cfg.copy()
    other.attention = OmegaConf.load(conf_dir() / "attention" / "full.yaml")
    other.mixer = OmegaConf.load(conf_dir() / "mixer" / "attention.yaml")
    return without_descriptions(other)


def layers(model: nn.Module, num_sequences: int, seq_len: int) -> list[tuple[str, str, str, int]]:
    """List name, class, output shape and number of own parameters of each layer, in the order of a forward pass.

    A layer that runs more than once, for the second document or for tied blocks, is listed once.
    """
    import torch
    from torch import Tensor, nn

    from lra.attention.base import AttentionBackend
    from lra.model.classifier import in_padded_form

    rows: dict[str, tuple[str, str, str, int]] = {}

    def note(name: str) -> Callable[[nn.Module, object, object], None]:
        def hook(module: nn.Module, inputs: object, output: object) -> None:
            own = sum(p.numel() for p in module.parameters(recurse=False))
            shape = "×".join(map(str, output.shape)) if isinstance(output, Tensor) else ""
            rows.setdefault(name, (name, type(module).__name__, shape, own))

        return hook

    for name, module in model.named_modules():
        leaf = not list(module.children()) and not isinstance(module, nn.Dropout)
        if leaf or bool(list(module.parameters(recurse=False))) or isinstance(module, AttentionBackend):
            module.register_forward_hook(note(name))
    tokens = torch.ones(1, num_sequences, seq_len, dtype=torch.long)
    with torch.no_grad():
        in_padded_form(model.eval(), tokens, None)
    return list(rows.values())
