"""Cleaning removes what was computed, whatever else lies there, and nothing that is in use."""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from flode.experiments.catalogue import Run
from flode.experiments.cleaning import (
    announce_work,
    computed_files,
    raw_files,
    refuse_files_in_use,
    remove_computed,
    remove_raw,
)
from flode.files import atomic_write
from flode.locks import claim, holder
from tests.configuration import ROOT, catalogue

VARIANT = "dsbm-alpha0.1-beta0.2"

#: Files that are somebody's own, or not of the workflow.
OTHER = (
    "README.md",
    "raw/planetoid/data/ind.cora.graph",
    "quick/tables/dsbm.csv",
    "tables/mine.csv",
    "tables/dsbm.docx",
    "tables/dsbm.csv.orig",
    "tables/old/dsbm.csv",
    "figures/holiday.pdf",
    "figures/speed.pdf",
    "graphs/other-variant.npz",
    f"runs/{VARIANT}/notes.json",
    f"runs/{VARIANT}/Default/splits-0-4.json",
    "logs/system.log",
    "logs/download/planetoid/data/ind.cora.graph.log",
    ".config",
)


def put(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def computed():
    """Paths under the prefix that the workflow makes, from the catalogue's own answers."""
    found = catalogue({"training": {"save_models": "all"}})
    config = found.config
    run = Run(VARIANT, "exponent=1,layers=4")
    made = [f"results/graphs/{VARIANT}.npz", f"results/factors/{VARIANT}.safetensors"]
    made += [found.statistics_file(VARIANT), *found.run_files(run), *found.model_files([run])]
    made += [found.checkpoint_file(run, "0", "4"), *found.run_files(Run("film-directed"))]
    made += [f"results/tables/{name}.{ext}" for name in config["tables"] for ext in ("csv", "tex")]
    made += [f"results/studies/{name}.csv" for name in config["studies"]]
    made += [f"results/search/{name}.csv" for name in config["searches"]]
    for name in config["figures"]:
        made += [f"results/figures/{name}.{ext}" for ext in ("pdf", "svg", "csv")]
    made = [path.removeprefix("results/") for path in made]
    logs = [f"logs/{path.rsplit('.', 1)[0]}.log" for path in made if path[0] != "."]
    logs = [path for path in logs if not path.startswith("logs/models")]
    runs = [path.removesuffix(".json") for path in made if path.startswith("runs/")]
    return [*made, *logs, *(f"benchmarks/{run}.tsv" for run in runs)]


def test_what_was_computed_goes_and_everything_else_stays(tmp_path):
    put(tmp_path, *OTHER, *computed())
    removed = remove_computed(tmp_path, computed_files(catalogue()))
    assert files(tmp_path) == set(OTHER)
    assert removed == len(set(computed())) > 60


def test_a_folder_without_strange_files_is_empty_afterwards(tmp_path):
    put(tmp_path, *computed())
    remove_computed(tmp_path, computed_files(catalogue()))
    assert not list(tmp_path.iterdir())


def test_generated_raw_files_go_with_what_was_made_of_them(tmp_path, caplog):
    found = catalogue(yaml.safe_load((ROOT / "config" / "quick.yaml").read_text("utf-8")))
    generated = [str(Path(path).relative_to(found.results)) for path in found.generated_raw_files()]
    fetched = "logs/download/planetoid/data/ind.cora.graph.log"
    put(tmp_path, *generated, "logs/generated.log", "logs/collect.log", fetched)
    remove_computed(tmp_path, computed_files(found))
    assert len(generated) > 10 and files(tmp_path) == {fetched}
    assert "does not make" not in caplog.text


def test_half_written_files_of_killed_jobs_go(tmp_path):
    folder = tmp_path / ".partial" / VARIANT / "default"
    with pytest.raises(FileNotFoundError), atomic_write(folder / "splits-0-4.pt") as temporary:
        name = temporary.name
    put(folder, name, name.replace("splits", "other"))
    assert remove_computed(tmp_path, computed_files(catalogue())) == 1
    assert [path.name for path in folder.iterdir()] == [name.replace("splits", "other")]


def test_a_folder_kept_elsewhere_by_a_link_is_cleaned_too(tmp_path):
    put(tmp_path / "scratch", "dsbm.pdf", "mine.pdf")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "figures").symlink_to(tmp_path / "scratch")
    remove_computed(tmp_path / "results", computed_files(catalogue()))
    assert files(tmp_path / "scratch") == {"mine.pdf"}


def test_what_a_link_points_to_stays(tmp_path):
    put(tmp_path / "elsewhere", "dsbm.csv", "dsbm.tex")
    (tmp_path / "results" / "tables").mkdir(parents=True)
    (tmp_path / "results" / "tables" / "dsbm.csv").symlink_to(tmp_path / "elsewhere" / "dsbm.csv")
    (tmp_path / "results" / "runs").mkdir()
    (tmp_path / "results" / "runs" / VARIANT).symlink_to(tmp_path / "elsewhere")
    remove_computed(tmp_path / "results", computed_files(catalogue()))
    assert not (tmp_path / "results" / "tables").exists()
    assert files(tmp_path / "elsewhere") == {"dsbm.csv", "dsbm.tex"}


def test_a_folder_that_is_not_there_is_no_error(tmp_path):
    assert remove_computed(tmp_path / "none", computed_files(catalogue())) == 0


def test_raw_files_are_those_of_the_manifest(tmp_path):
    found = catalogue({"data": {"folder": str(tmp_path / "raw")}})
    known = raw_files(found)
    assert len(known) == len(found.manifest) > 50
    assert set(found.raw_files("cora")) <= set(known)
    put(tmp_path / "raw", "mine.csv")
    put(tmp_path, known[0])
    assert remove_raw(known, tmp_path / "raw") == 1
    assert files(tmp_path / "raw") == {"mine.csv"}


@contextmanager
def other_process(line):
    """A process that runs a line of Python, then waits for its end."""
    code = f"{line}; print('done', flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout.readline() == "done\n"
    try:
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def test_folders_that_another_call_works_in_are_not_cleaned(tmp_path):
    results, raw = tmp_path / "results", tmp_path / "raw"
    raw.mkdir()
    work = (
        "from flode.experiments.cleaning import announce_work;"
        f"announce_work({str(results)!r}, {str(raw)!r})"
    )
    with other_process(work), other_process(work):
        for folder in (results, raw):
            with pytest.raises(RuntimeError, match=rf"{folder} is in use by another call"):
                refuse_files_in_use([folder], tmp_path / "none")
    refuse_files_in_use([results, raw], tmp_path / "none")


def test_no_call_starts_to_work_where_another_cleans(tmp_path):
    clean = (
        "from flode.experiments.cleaning import refuse_files_in_use;"
        f"refuse_files_in_use([{str(tmp_path)!r}])"
    )
    with other_process(clean), pytest.raises(RuntimeError, match="removes files there"):
        announce_work(tmp_path, tmp_path / "none")


def test_a_claim_ends_with_its_process(tmp_path):
    path = tmp_path / ".partial" / VARIANT / "default" / "splits-0-4.lock"
    with other_process(f"from flode.locks import claim; claim({str(path)!r})") as pid:
        assert claim(path).startswith(f"process {pid} on ")
        with pytest.raises(RuntimeError, match=rf"a training is at work, process {pid} on .*lock"):
            refuse_files_in_use([tmp_path], tmp_path / "none")
    assert path.exists() and holder(path) is None
    assert claim(path) is None
    path.unlink()  # as its owner does when it is done
    assert claim(path) is None


def test_where_nothing_can_be_locked_work_goes_on(tmp_path):
    (tmp_path / "file").write_text("")
    assert claim(tmp_path / "file" / "splits-0-4.lock") is None
    announce_work(tmp_path / "file" / "results", tmp_path / "none")


def test_files_in_use_by_another_call_are_not_removed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    locks = tmp_path / "locks"
    locks.mkdir()
    (locks / "0.input.lock").write_text("results/graphs/a.npz\n")
    (locks / "0.output.lock").write_text("results/quick/runs/a.json\nelsewhere/b.json\n")
    (locks / "1.output.lock").write_text("")
    refuse_files_in_use(["results/other", "results/qui", "results/raw"], locks)
    refuse_files_in_use(["results"], tmp_path / "none")
    with pytest.raises(RuntimeError, match=r"results/graphs/a\.npz is in use .*0.input.lock"):
        refuse_files_in_use(["results"], locks)
    with pytest.raises(RuntimeError, match=r"results/quick/runs/a\.json is in use"):
        refuse_files_in_use(["results/quick"], locks)
