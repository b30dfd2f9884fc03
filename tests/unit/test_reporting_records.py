import math

import numpy as np
import pytest

from flode.reporting.published import cells, read_published
from flode.reporting.records import load_runs, summarise
from tests.unit.reporting_samples import PUBLISHED, published, run_content, write_run

KEY = ("a0.1", "default")


def load(*paths):
    return load_runs(paths)[KEY]


def test_a_configuration_spread_over_files_is_joined_by_split(tmp_path):
    folder = tmp_path / KEY[0] / KEY[1]
    folder.mkdir(parents=True)
    late = write_run(folder, "splits-2-3", run_content(test=[0.8, 0.9], first=2, device="gpu"))
    early = write_run(folder, "splits-0-1", run_content(test=[0.6, 0.7]))
    other = write_run(tmp_path, "other", run_content("b0.2", test=[0.5]))
    runs = load_runs([late, other, early])
    assert list(runs) == [KEY, ("b0.2", "default")]
    joined = runs[KEY]
    assert joined.files == (str(early), str(late))
    assert [record["split"] for record in joined.records] == [0, 1, 2, 3]
    score = joined.score()
    assert score.mean == pytest.approx(75)
    assert score.std == pytest.approx(100 * np.std([0.6, 0.7, 0.8, 0.9]))
    assert score.n == 4


def test_a_run_file_in_another_runs_place_is_refused(tmp_path):
    folder = tmp_path / "another" / KEY[1]
    folder.mkdir(parents=True)
    path = write_run(folder, "splits-0-1", run_content())
    with pytest.raises(ValueError, match=r"splits-0-1.json: variant is .* path says 'another'"):
        load_runs([path])


def test_a_file_given_twice_counts_once(tmp_path):
    path = write_run(tmp_path, "run", run_content())
    assert load(path, path).score().n == 5


def test_learned_numbers(tmp_path):
    content = run_content(test=[0.5, 0.6])
    content["records"][0] |= {"exponent": [0.8, 1.0], "step_size": [[1.0, 5.0], [2.0, 5.0]]}
    content["records"][1] |= {"exponent": [1.1], "step_size": [0.5]}
    run = load(write_run(tmp_path, "run", content))
    assert run.learned("exponent").mean == pytest.approx(1.0)
    assert run.learned("step_size").mean == pytest.approx(1.0)
    assert run.learned("dirichlet_energy").mean == pytest.approx(0.2)
    assert run.setting("num_layers") == 3


def test_no_step_size_without_the_ode(tmp_path):
    content = run_content(test=[0.5, 0.6])
    for record, empty in zip(content["records"], ([], None), strict=True):
        record["step_size"] = empty
    assert load(write_run(tmp_path, "run", content)).learned("step_size") is None


@pytest.mark.parametrize("value", [["x"], [[]], [math.nan], {"a": 1}])
def test_learned_numbers_that_are_none(tmp_path, value):
    content = run_content(test=[0.5])
    content["records"][0]["exponent"] = value
    with pytest.raises(ValueError, match=r"run\.json: split 0: exponent is .*allowed"):
        load(write_run(tmp_path, "run", content)).learned("exponent")


def test_learned_numbers_of_some_splits_only(tmp_path):
    content = run_content(test=[0.5, 0.6])
    del content["records"][1]["exponent"]
    with pytest.raises(ValueError, match=r"run\.json: exponent is given for 1 of 2 splits"):
        load(write_run(tmp_path, "run", content)).learned("exponent")


@pytest.mark.parametrize(("key", "text"), [("depth", "lack 'depth'"), ("seed", "is 'x'")])
def test_hyperparameters_that_are_no_numbers(tmp_path, key, text):
    run = load(write_run(tmp_path, "run", run_content(hyperparameters={"seed": "x"})))
    with pytest.raises(ValueError, match=rf"run\.json: .*{text}"):
        run.setting(key)


def without(key):
    content = run_content()
    del content[key]
    return content


def with_record(**changes):
    content = run_content(test=[0.5])
    content["records"][0] |= changes
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is damaged: it is not JSON .*; restore it"),
        ("[]", "holds a list; allowed: a JSON object"),
        (without("schema"), "schema is None; allowed: 1"),
        (run_content(schema=2), "schema is 2; allowed: 1"),
        (without("variant"), "key 'variant' is missing"),
        (run_content(variant=3), "variant is 3; allowed: a value of type str"),
        (run_content(seed=True), "seed is True; allowed: a value of type int"),
        (run_content(quick=0), "quick is 0; allowed: a value of type bool"),
        (run_content(metric="f1"), "metric is 'f1'; allowed: accuracy or auroc"),
        (run_content(records=[]), "records is empty"),
        (run_content(records=[3]), r"records\[0\] is 3"),
        (with_record(split=-1), r"records\[0\]: split is -1"),
        (with_record(epochs=0), r"records\[0\]: epochs is 0; allowed: an integer from 1"),
        (with_record(test=97.5), r"test is 97.5; allowed: a fraction from 0 to 1"),
        (with_record(test=math.nan), r"records\[0\]: test is nan"),
        (with_record(train=None), r"records\[0\]: train is None"),
        (with_record(train=True), r"records\[0\]: train is True"),
    ],
)
def test_a_malformed_file_is_named(tmp_path, content, message):
    path = write_run(tmp_path, "bad", content)
    with pytest.raises(ValueError, match=rf"bad\.json.*{message}"):
        load_runs([path])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"gone\.json: cannot be read"):
        load_runs([tmp_path / "gone.json"])


def test_a_split_twice(tmp_path):
    first = write_run(tmp_path, "first", run_content(test=[0.5, 0.6]))
    second = write_run(tmp_path, "second", run_content(test=[0.5], first=1))
    with pytest.raises(ValueError, match=r"second\.json: split 1 is already in .*first\.json"):
        load_runs([first, second])


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"quick": True},
        {"training": {}},
        {"hyperparameters": {}},
        {"dataset": "x"},
        {"origin": {"graph": {"raw": {"archive": "sha256:0"}}}},
    ],
)
def test_files_of_one_configuration_must_agree(tmp_path, change):
    first = write_run(tmp_path, "first", run_content(test=[0.5]))
    second = write_run(tmp_path, "second", run_content(test=[0.5], first=1, **change))
    with pytest.raises(ValueError, match=rf"second\.json: {next(iter(change))} .*first\.json"):
        load_runs([first, second])


def test_splits_of_one_configuration_have_raw_files_of_their_own(tmp_path):
    first, second = (
        write_run(tmp_path, name, run_content(test=[0.5], first=split, origin=origin))
        for split, name in enumerate(("first", "second"))
        for origin in [{"graph": {}, "splits": {str(split): name}}]
    )
    assert load(first, second).splits == {0, 1}


def test_nothing_to_summarise():
    with pytest.raises(ValueError, match="no values"):
        summarise([])


def test_published_values_keep_their_printed_digits(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text(PUBLISHED)
    frame = read_published(path)
    assert frame.equals(published())
    cell = cells(frame)["density", "Cheb_Net", "0.05"]
    assert (cell.text, cell.mean, cell.std, cell.n) == ("20.0", 20.0, 0.7, 5)
    assert (cell.decimals, cell.error_decimals) == (1, 1)
    assert cells(frame)["density", "MagNet", "0.05"].mean is None


def test_a_standard_error_becomes_a_standard_deviation():
    cell = cells(published())["density", "FLODE", "0.10"]
    assert cell.std == pytest.approx(0.1 * math.sqrt(5))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("19.9", "about 20", r"cell \('density', 'Cheb_Net', '0.10'\): mean is 'about 20'"),
        ("0.6", "nan", "error is 'nan'"),
        ("0.6,std", "0.6,sem", "error_kind is 'sem'; allowed: 'std'"),
        ("std,5", "std,five", "n is 'five'"),
        ("standard error,5", "standard error,", "n is empty; allowed: a count"),
        ("Cheb_Net,0.05", "Cheb_Net,0.10", r"cell \('density', 'Cheb_Net', '0.10'\) comes twice"),
        ("error_kind", "kind", "columns error_kind are missing"),
        ("accuracy,%", "accuracy,", r"unit is ''; allowed: '%', of accuracy"),
    ],
)
def test_malformed_published_values_name_file_and_cell(tmp_path, old, new, message):
    path = tmp_path / "published.csv"
    path.write_text(PUBLISHED.replace(old, new, 1))
    with pytest.raises(ValueError, match=rf"published\.csv: .*{message}"):
        read_published(path)


def test_an_empty_file_of_published_values_is_named(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text("")
    with pytest.raises(ValueError, match=r"published\.csv: no file of published numbers"):
        read_published(path)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"test": 0.5}, "test is 0.5; allowed: null"),
        ({"diverged_at": "yes"}, "diverged_at is 'yes'; allowed: an epoch"),
        ({"diverged_at": 0}, "diverged_at is 0; allowed: an epoch"),
    ],
)
def test_a_split_that_diverged_has_no_result(tmp_path, changed, words):
    content = run_content()
    lost = dict.fromkeys(("train", "validation", "test", "best_epoch")) | {"diverged_at": 7}
    content["records"][1] |= lost
    (run,) = load_runs([write_run(tmp_path, "good", content)]).values()
    assert run.diverged == "its training diverged (split 1 at epoch 7)"
    content["records"][1] |= changed
    with pytest.raises(ValueError, match=words):
        load_runs([write_run(tmp_path, "bad", content)])
