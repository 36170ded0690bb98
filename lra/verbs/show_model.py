"""`lra show model`: a model layer by layer, and its size against that with exact attention."""

import re
from dataclasses import dataclass
from functools import partial

import torch
from rich.console import Console
from torch import Tensor, nn

from lra.attention.base import AttentionBackend
from lra.from_config import build_model, build_spec
from lra.model.classifier import count_parameters, in_padded_form, placeholder_inputs
from lra.settings.compose import with_attention
from lra.settings.run_config import RunConfig
from lra.terminal.fit_table import print_text_table
from lra.terminal.text_table import TextTable

BLOCK = re.compile(r"(.+?\.[0-9]+)\.")  # of a layer in a block, such as `encoder.blocks.0.mixer.out`
EXACT = "full"
ALLOWED_GROWTH = 1.1  # Long Range Arena asks for at most 10 % more parameters than the Transformer's


@dataclass(frozen=True)
class ShownModel:
    """A model layer by layer, its number of parameters, and that with exact attention."""

    table: TextTable
    parameters: int
    full_parameters: int

    @property
    def is_over_limit(self) -> bool:
        """Whether it has more parameters than Long Range Arena allows."""
        return self.parameters > ALLOWED_GROWTH * self.full_parameters

    def show(self, console: Console) -> None:
        """Print the layers, and whether there are more parameters than Long Range Arena allows."""
        print_text_table(console, self.table)
        if self.is_over_limit:
            console.print(
                f"{self.parameters / self.full_parameters - 1:+.0%} parameters against attention=full"
                f" ({self.full_parameters:,}): more than the 10 % that Long Range Arena allows",
                style="yellow",
            )
        console.print(f"parameters: {self.parameters}")


def show_model(cfg: RunConfig) -> ShownModel:
    """Build the model of a task and an attention, and list its layers."""
    spec, model = build_spec(cfg), build_model(cfg)
    table = TextTable(
        title=f"{cfg.task.name} / {cfg.method_name}, protocol {cfg.protocol.name}; batch of 1",
        columns=("layer", "kind", "output", "parameters"),
        rows=by_block(layers(model, spec.num_sequences, spec.seq_len)),
        optional=("kind",),
        prose=("kind", "output"),
    )
    return ShownModel(table, count_parameters(model), count_parameters(build_model(with_full_attention(cfg))))


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


def with_full_attention(cfg: RunConfig) -> RunConfig:
    """Copy the configuration, with exact attention."""
    return with_attention(cfg, EXACT)


def layers(model: nn.Module, num_sequences: int, seq_len: int) -> list[tuple[str, str, str, int]]:
    """List name, class, output shape and number of own parameters of each layer, in the order of a forward pass.

    A layer that runs more than once, for the second document or for tied blocks, is listed once.
    """
    rows: dict[str, tuple[str, str, str, int]] = {}

    def note(name: str, module: nn.Module, _inputs: object, output: object) -> None:
        own = sum(p.numel() for p in module.parameters(recurse=False))
        shape = "×".join(map(str, output.shape)) if isinstance(output, Tensor) else ""
        rows.setdefault(name, (name, type(module).__name__, shape, own))

    for name, module in model.named_modules():
        leaf = not list(module.children()) and not isinstance(module, nn.Dropout)
        if leaf or bool(list(module.parameters(recurse=False))) or isinstance(module, AttentionBackend):
            module.register_forward_hook(partial(note, name))
    with torch.no_grad():
        in_padded_form(model.eval(), placeholder_inputs(model, (1, num_sequences, seq_len)), None)
    return list(rows.values())
