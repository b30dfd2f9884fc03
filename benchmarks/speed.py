"""Speed of the library against the literal algorithm, in one run on one machine.

    python benchmarks/speed.py [--quick] [--cases dsbm cora] [--device auto] [--data FOLDER]

Times a training epoch with its evaluation, side by side: the literal algorithm (complex dense U and
V in every layer, all nodes decoded twice, autograd through everything), each path of the library
that fits, and square matrix products, whose rate gives each path's floor. Sweeps vary the layers T,
nodes N, rank r, channels K and splits; named cases have the sizes of the paper's graphs, and are
those graphs where ``--data`` (or FLODE_TEST_DATA) holds their raw files. Prints the ratios; writes
``results/figures/speed.csv``, ``.pdf`` and ``.svg``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import pandas as pd
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.cases import named, sweeps
from benchmarks.figure import speed_figure
from benchmarks.measure import device_name, measure
from flode.devices import resolve_device
from flode.reporting.figures.style import save_figure


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments)
    torch.set_num_threads(options.threads)
    cases = [*named(options.quick), *sweeps(options.quick)]
    known = list(dict.fromkeys(case.name for case in cases))
    unknown = set(options.cases) - set(known)
    if unknown:
        sys.exit(f"--cases: there is no {min(unknown)!r}; there are {', '.join(known)}")
    chosen = [case for case in cases if not options.cases or case.name in options.cases]
    settings = {"rounds": 2, "target": 0.05} if options.quick else {}
    if options.quick:
        settings["products"] = 1024
    frames, started = [], time.monotonic()
    for device in _devices(options.device):
        print(
            f"{device_name(device)}, {options.threads} CPU threads, torch {torch.__version__};"
            " a training epoch with its evaluation"
        )
        for case in chosen:
            frame = measure(case, device, data=options.data, **settings)
            print(report(frame), flush=True)
            frames.append(frame)
    everything = pd.concat(frames, ignore_index=True)
    figure = speed_figure(everything, options.quick)
    for path in save_figure(figure, everything, options.output):
        print(path)
    print(f"{time.monotonic() - started:.0f} s in all")


def report(frame: pd.DataFrame) -> str:
    """A case's lines: time of an epoch and a split, ratio, floor, and the time in floors."""
    row = frame.iloc[-1]
    lines = [
        f"\n{row['case']} ({row['data']}): N = {row['N']}, rank {row['rank']}, F = {row['F']},"
        f" K = {row['K']}, T = {row['T']}; products {row['rate'] / 1e9:.1f} GFLOP/s"
    ]
    lines.append(f"{'':45s}{'ms a split':>12s}{'ratio':>10s}{'floor, ms':>12s}{'time/floor':>12s}")
    for _, row in frame.iterrows():
        name = row["path"] if row["path"] == "literal" else f"library, {row['path']} path"
        name += f", {row['splits']} splits" if row["splits"] > 1 else ""
        name += f", dropout {row['dropout']}" if row["dropout"] else ""
        name += " (chosen)" if row["chosen"] else ""
        floor = row["floor_seconds"] / row["splits"]
        spent = row["seconds_per_epoch_and_split"]
        lines.append(
            f"{name:45s}{1e3 * spent:12.2f}{row['ratio']:8.1f} x{1e3 * floor:12.2f}"
            f"{spent / floor:12.1f}"
        )
    return "\n".join(lines)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, a minute or two")
    parser.add_argument("--cases", nargs="+", default=[], help="sweeps and named cases; all")
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto",
        help="auto: the CPU, then a GPU where there is one",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=2, help="of the CPU")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("FLODE_TEST_DATA"),
        help="raw files of the real graphs, <source>/<path>; default: FLODE_TEST_DATA",
    )  # fmt: skip
    parser.add_argument("--output", default="results/figures/speed", help="stem of the files")
    options = parser.parse_args(arguments)
    options.data = options.data and Path(options.data)
    return options


def _devices(name: str) -> list[torch.device]:
    if name != "auto":
        return [resolve_device(name)]
    return [torch.device("cpu"), *([torch.device("cuda")] if torch.cuda.is_available() else [])]


if __name__ == "__main__":
    main()
