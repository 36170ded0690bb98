"""Forecast the membrane potential of a neuron 10 samples ahead from its last 60, beside two simple forecasts.

python docs/examples/time_series.py                                    # less than a minute
python docs/examples/time_series.py --seeds 3 --to time_series.jsonl   # what docs/sequences.md shows

The recording is the file `membrane.dat`, which comes with matplotlib. The encoder learns from its first 28 spikes.
`next` are the spikes after them. In the part `irregular` the neuron behaves in another way.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import lra  # before torch, whose threads it tells how to wait

# isort: split
import numpy as np
import torch
from matplotlib import get_data_path
from torch import Tensor, nn

from lra.runs.versions import git_commit

SPANS = {"train": (1500, 5500), "next": (5500, 7100), "irregular": (7100, 11000)}
WINDOW, AHEAD, BATCH = 60, 10, 64


def recording() -> Tensor:
    """Read the recording: 12,000 samples, in units in which the training span has mean 0 and variance 1."""
    samples = np.fromfile(Path(get_data_path(), "sample_data", "membrane.dat"), dtype=np.float32)
    train = samples[slice(*SPANS["train"])]
    return torch.from_numpy((samples - train.mean()) / train.std())


def windows(samples: Tensor, span: str) -> tuple[Tensor, Tensor]:
    """Cut all windows `[N, WINDOW]` out of a span, and for each the sample AHEAD samples after its last, `[N]`."""
    part = samples[slice(*SPANS[span])]
    return part.unfold(0, WINDOW, 1)[:-AHEAD], part[WINDOW + AHEAD - 1 :]


def linear_forecast(x: Tensor, y: Tensor, x_test: Tensor) -> Tensor:
    """Forecast by linear autoregression of order WINDOW, fitted to `x` and `y` by least squares."""
    with_one, test_with_one = (nn.functional.pad(part.double(), (0, 1), value=1.0) for part in (x, x_test))
    return test_with_one @ torch.linalg.lstsq(with_one, y.double()).solution


class Forecast(nn.Module):
    """The last sample of the window, plus a change that is computed from the encoder's vector."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = lra.SequenceEncoder.build(
            embed_dim=1,
            hidden_size=32,
            num_landmarks=16,
            num_layers=2,
            num_heads=2,
            dropout=0.0,
            window_size=WINDOW,
        )
        self.head = nn.Linear(self.encoder.output_size(), 1)

    def forward(self, x: Tensor) -> Tensor:
        """Forecast `[N]` from windows `[N, WINDOW]`."""
        return x[:, -1] + self.head(self.encoder(x[..., None]))[:, 0]


def train(x: Tensor, y: Tensor, *, steps: int, seed: int) -> Forecast:
    """Train on random batches of the windows."""
    torch.manual_seed(seed)
    model = Forecast()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for _ in range(steps):
        batch = torch.randint(len(x), (BATCH,))
        loss = (model(x[batch]) - y[batch]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


def error(forecast: Tensor, y: Tensor) -> float:
    """Compute the mean squared error as a fraction of the variance: 0 is perfect, 1 is as good as the mean."""
    return ((forecast - y).square().mean() / y.var()).item()


def errors(*, steps: int, seed: int) -> list[dict[str, object]]:
    """Train one model; return the errors of the three forecasts for both test spans."""
    samples, before = recording(), time.process_time()
    x, y = windows(samples, "train")
    model = train(x, y, steps=steps, seed=seed)
    seconds, found = time.process_time() - before, []
    for span in ("next", "irregular"):
        x_test, y_test = windows(samples, span)
        with torch.inference_mode():
            forecast = torch.cat([model(part) for part in x_test.split(256)])
        found.append(
            {
                "what": f"forecast {span}",
                "persistence": round(error(x_test[:, -1], y_test), 4),
                "linear": round(error(linear_forecast(x, y, x_test), y_test), 4),
                "encoder": round(error(forecast, y_test), 4),
                "seed": seed,
                "steps": steps,
                "parameters": sum(weight.numel() for weight in model.parameters()),
                "cpu_seconds": round(seconds, 1),
                "git_commit": git_commit(),
                "torch": torch.__version__,
            }
        )
    return found


def main(*, seeds: int = 1, steps: int = 300, to: Path | None = None) -> None:
    """Print the errors for each seed, and add them to the file `to`, if any."""
    for seed in range(seeds):
        for line in errors(steps=steps, seed=seed):
            said = ", ".join(f"{name} {line[name]}" for name in ("persistence", "linear", "encoder"))
            print(f"seed {seed}, {line['what']}: {said}; {line['cpu_seconds']} s of CPU time")
            if to is not None:
                with to.open("a") as lines:
                    lines.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--to", type=Path, help="file that gets a line of JSON for each seed and span")
    main(**vars(parser.parse_args()))
