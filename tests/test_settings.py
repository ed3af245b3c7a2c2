import pytest

from rgsupport.errors import DriftError, UsageError
from rgsupport.settings import Settings, differences, parse_params, read_file, refuse, resolve


def test_defaults_are_the_papers_sampling_parameters_and_the_miniature_pair():
    settings = resolve({"tasks": "dice"})
    assert settings == Settings(tasks=("dice",))
    assert (settings.sampling.temperature, settings.sampling.top_p, settings.sampling.max_tokens) == (0.6, 0.95, 32768)


def test_the_command_line_wins_over_the_file_and_what_is_not_given_over_nothing(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('tasks = ["dice"]\nk = [1, 2]\ntop-p = 0.9\nseed = 7\n[params.dice]\nnum_dice = 2\n')
    settings = resolve(read_file(path), {"tasks": None, "k": "1,4", "seed": 8})
    assert settings.tasks == ("dice",)
    assert settings.ks == (1, 4)
    assert settings.samples == 4
    assert settings.seed == 8
    assert settings.sampling.top_p == 0.9
    assert settings.params == {"dice": {"num_dice": 2}}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"k": ""}, "''"),
        ({"k": []}, "empty"),
        ({"k": "1,0"}, "'0'"),
        ({"k": "1,-2"}, "'-2'"),
        ({"k": "1,2.5"}, "'2.5'"),
        ({"k": "1,²"}, "'²'"),
        ({"k": "2,1"}, "try --k 1,2"),
        ({"k": "1,1,2"}, "try --k 1,2"),
        ({"k": "1,8", "samples": 4}, "k = 8"),
        ({"temperature": 0.0}, "--temperature 0"),
        ({"temperature": -1.0}, "-1.0"),
        ({"temperature": float("nan")}, "nan"),
        ({"top_p": 0.0}, "--top-p is 0.0"),
        ({"top_p": 1.5}, "1.5"),
        ({"max_tokens": 0}, "--max-tokens is 0"),
        ({"problems": 0}, "--problems is 0"),
        ({"seed": -1}, "--seed is -1"),
        ({"batch_size": 0}, "--batch-size is 0"),
        ({"tasks": " , "}, "no task named"),
        ({"base": "some/model"}, "--rlvr is missing"),
        ({"rlvr": "some/model"}, "--base is missing"),
    ],
)
def test_a_value_out_of_range_is_refused_in_one_line_that_carries_it(given, words):
    with pytest.raises(UsageError) as refusal:
        resolve({"tasks": "dice", **given})
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_greedy_decoding_of_one_sample_is_allowed():
    assert resolve({"tasks": "dice", "k": "1", "temperature": 0.0}).samples == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tasks = [", "cannot read"),
        ("problem = 3", "did you mean problems"),
        ('problems = "three"', "wrong type"),
        ("temperature = true", "wrong type"),
    ],
)
def test_a_faulty_configuration_is_refused_with_its_file(tmp_path, text, words):
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=words) as refusal:
        read_file(path)
    assert str(path) in str(refusal.value)


def test_a_missing_configuration_is_refused_with_its_name(tmp_path):
    with pytest.raises(UsageError, match="nowhere"):
        read_file(tmp_path / "nowhere.toml")


@pytest.mark.parametrize("assignment", ["dice", "dice=3", "num_dice=3", ".x=1", "dice.=1"])
def test_an_assignment_that_names_no_task_or_no_parameter_is_refused(assignment):
    with pytest.raises(UsageError, match=r"TASK\.PARAMETER=VALUE"):
        parse_params([assignment])


def test_values_of_parameters_are_json_or_text():
    assert parse_params(["a.x=1", "a.y=[1, 2]", "b.z=red", "b.t=true"]) == {
        "a": {"x": 1, "y": [1, 2]},
        "b": {"z": "red", "t": True},
    }


def test_a_difference_names_both_values_and_long_texts_by_where_they_part():
    asked, stored = "a" * 100 + "new ending", "a" * 100 + "old ending"
    words = differences({"system prompt": asked, "seed": 1}, {"system prompt": stored, "seed": 1})
    assert "old ending" in words
    assert "new ending" in words
    assert "seed" not in words


def test_only_a_difference_is_refused():
    refuse("")
    with pytest.raises(DriftError, match="top_p"):
        refuse("top_p is 1 in the run, 0.9 was asked")
