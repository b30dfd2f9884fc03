"""The estimate of the paper's time: what is there is counted, the rest follows from operations."""

import pytest

from benchmarks import estimate as module
from benchmarks.estimate import KNOWN, Estimate, main, measured, report
from flode.experiments.catalogue import Run
from tests.configuration import catalogue
from tests.run_samples import put_run_file

CORA, CHAMELEON, FILM = Run("cora"), Run("chameleon-directed"), Run("film-directed")


def put(results, run, seconds=10.0, threads=1, splits=10, wall=None, **options):
    """A run file of 400 epochs a split."""
    one = {"epochs": 400, "seconds": seconds, "path": "reduced"}
    splits = range(splits) if isinstance(splits, int) else splits
    path = put_run_file(
        catalogue(), results / "runs", run, splits, record=one, threads=threads, **options
    )
    if wall:
        benchmark = results / "benchmarks" / path.relative_to(results).with_suffix(".tsv")
        benchmark.parent.mkdir(parents=True)
        benchmark.write_text(f"s\th:m:s\n{wall}\t0:00:00\n")
    return path


def test_a_run_in_parts_counts_each_split_once(tmp_path):
    for first, last in ((0, 0), (0, 1), (2, 4)):
        put(tmp_path, CORA, splits=range(first, last + 1))
    put(tmp_path, CORA, splits=range(5, 7), changes={"version": 1})
    found = measured(catalogue(), CORA, tmp_path)
    assert (found.splits, found.seconds, found.epochs) == (5, 50.0, 2000)


def test_measured_and_estimated_times(tmp_path):
    found = catalogue()
    put(tmp_path, CORA, seconds=10.0, threads=2, wall=104.0)
    put(tmp_path, CHAMELEON, seconds=30.0, wall=302.0)
    estimate = Estimate(found, [CORA, CHAMELEON, FILM], tmp_path)
    assert estimate.found[CORA].seconds == 200 and estimate.found[CORA].startup == [4.0]
    assert estimate.seconds(CORA) == estimate.seconds(CHAMELEON) == 0
    # Chameleon alone took the path that Film takes: its rate, and Film's operations.
    ratio = estimate.cost(FILM)[1] / estimate.cost(CHAMELEON)[1]
    assert estimate.cost(FILM)[0] == estimate.cost(CHAMELEON)[0] == "reduced"
    assert estimate.seconds(FILM) == pytest.approx(300 * ratio)
    lines = report(estimate, {"tables/x": [CORA, FILM], "all": [CORA, CHAMELEON, FILM]}, gpu=10.0)
    assert lines[1].split() == ["tables/x", "2", "1", "0.1", f"{300 * ratio / 3600:.1f}"]
    assert lines[2].split()[:4] == ["all", "3", "2", "0.1"]
    assert any(line.startswith("start-up: 3.0 s a job (median of 2), 3 jobs") for line in lines)
    assert "a bound and no measurement" in lines[-1]


def test_runs_of_other_models_count_and_tell_nothing_of_flode(tmp_path):
    found, other = catalogue(), Run("cora", "model=mlp")
    record = {"epochs": 300, "seconds": 5.0}
    put_run_file(found, tmp_path / "runs", other, range(10), record=record, threads=2)
    put(tmp_path, CORA, seconds=10.0)
    estimate = Estimate(found, [CORA, other, Run("cora", "model=gcn")], tmp_path)
    assert estimate.found[other].seconds == 100
    assert estimate.cost(other) is None and estimate.epochs["cora"] == 400


def test_what_is_missing_of_a_run_is_estimated(tmp_path):
    put(tmp_path, CHAMELEON, seconds=30.0, splits=4)
    estimate = Estimate(catalogue(), [CHAMELEON], tmp_path)
    assert estimate.seconds(CHAMELEON) == pytest.approx(6 * 30)


def test_runs_measured_elsewhere_count_too(tmp_path):
    put(tmp_path, CHAMELEON, seconds=30.0, splits=4)
    put(tmp_path / "before", CHAMELEON, seconds=20.0, splits=10)
    found = catalogue({"measured": str(tmp_path / "before" / "runs")})
    here = Estimate(found, [CHAMELEON], tmp_path)
    assert here.seconds(CHAMELEON) == 0
    assert Estimate(found, [CHAMELEON], tmp_path / "none").seconds(CHAMELEON) == 0


def test_a_graph_of_unknown_size_is_said_to_be_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "KNOWN", {k: v for k, v in KNOWN.items() if k != "film"})
    put(tmp_path, CHAMELEON)
    estimate = Estimate(catalogue(), [CHAMELEON, FILM], tmp_path)
    assert "and 1 of unknown size" in report(estimate, {"all": [CHAMELEON, FILM]}, None)[1]


def test_the_command(tmp_path, capsys):
    with pytest.raises(SystemExit, match="no run file is there"):
        main(["--results", str(tmp_path)])
    put(tmp_path, CHAMELEON)
    main(["--results", str(tmp_path)])
    printed = capsys.readouterr().out
    for target in ("tables/ablation", "studies/depth", "search/dsbm", "all"):
        assert f"\n{target} " in printed
