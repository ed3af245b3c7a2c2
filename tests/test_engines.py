import math

import pytest

from rgsupport.engines import COMPARED, ENGINE_OPTIONS, ENGINES, Engine, resolve_engine
from rgsupport.errors import UsageError
from rgsupport.settings import parse_engine_options, resolve

URL = "http://localhost:8000/v1"


def test_nothing_given_leaves_the_engine_to_the_machine():
    assert resolve_engine({}) == Engine(name=None)


def test_lists_may_be_text_or_lists():
    assert resolve_engine({"gpus": "0, 2,3"}).gpus == resolve_engine({"gpus": [0, 2, 3]}).gpus == (0, 2, 3)
    assert resolve_engine({"server": f"{URL}/,http://other/v1"}).servers == (URL, "http://other/v1")


def test_a_server_means_the_openai_engine():
    assert resolve_engine({"server": URL}).name == "openai"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"engine": "vlm"}, "--engine vlm is unknown; did you mean vllm"),
        ({"engine": "openai"}, "needs --server URL"),
        ({"engine": "hf", "server": URL}, "--server belongs to the openai engine, not to hf"),
        ({"server": "localhost:8000"}, "is no URL"),
        ({"server": "http://[bad"}, "is no URL"),
        ({"server": "ftp://host/v1"}, "is no URL"),
        ({"server": ",".join([URL] * 3)}, "names 3 servers"),
        ({"server": "http://user:secret@host/v1"}, "must not hold a key; put it into the environment variable OPENAI"),
        ({"server": "http://host/v1?key=secret"}, "must not hold a key"),
        ({"gpus": "0,x"}, "--gpus has 'x'"),
        ({"gpus": "-1"}, "--gpus has '-1'"),
        ({"gpus": "0,0"}, "names a GPU twice"),
        ({"gpus": "0,1,2", "tensor_parallel": 2}, "names 3 GPUs, which --tensor-parallel 2 does not divide"),
        ({"gpus": "0,1", "workers": 2}, "leave --workers out"),
        ({"gpus": "0,1", "device": "cpu"}, "leave --device out"),
        ({"engine": "hf", "tensor_parallel": 2}, "--tensor-parallel needs the vllm engine, not hf"),
        ({"engine": "vllm", "device": "cuda:1"}, "--device belongs to the hf engine, not to vllm; --gpus chooses"),
        ({"server": "http://localhost:99999/v1"}, "is no URL"),
        ({"engine_options": {"timeout_seconds": math.nan}}, "timeout_seconds=nan must be above 0"),
        ({"engine_options": {"timeout_seconds": -1}}, "timeout_seconds=-1 must be above 0"),
        ({"engine_options": {"patience_seconds": math.inf}}, "patience_seconds=inf must be above 0 and at most"),
        ({"engine_options": {"gpu_memory_utilization": 7}}, "must be above 0 and at most 1"),
        ({"tensor_parallel": 0}, "--tensor-parallel is 0"),
        ({"workers": 0}, "--workers is 0"),
        ({"api": "complete"}, "--api complete is unknown"),
        ({"dtype": "fp16"}, "--dtype fp16 is unknown"),
        (
            {"engine_options": {"gpu_memory": 0.8}},
            "--engine-option gpu_memory is unknown; did you mean gpu_memory",
        ),
        ({"engine_options": {"enforce_eager": 1}}, "is not a truth value"),
        ({"engine_options": {"max_num_batched_tokens": True}}, "is not a whole number"),
        ({"engine_options": {"gpu_memory_utilization": "much"}}, "is not a number"),
        ({"engine": "hf", "engine_options": {"enforce_eager": True}}, "belongs to the vllm engine, not to hf"),
    ],
)
def test_a_mistake_is_one_line_with_the_value_and_the_way_out(given, words):
    with pytest.raises(UsageError, match=words) as error:
        resolve_engine(given)
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)


def test_options_are_read_as_json_or_text():
    given = ["gpu_memory_utilization=0.8", "kv_cache_dtype=fp8", "enforce_eager=true"]
    engine = resolve_engine({"engine_options": parse_engine_options(given)})
    assert engine.options == {"gpu_memory_utilization": 0.8, "kv_cache_dtype": "fp8", "enforce_eager": True}
    with pytest.raises(UsageError, match="is not NAME=VALUE"):
        parse_engine_options(["enforce_eager"])


def test_every_option_belongs_to_an_engine_and_says_what_it_does():
    for option in ENGINE_OPTIONS.values():
        assert option.engine in ENGINES
        assert len(option.help) > 10


def test_the_readme_lists_every_engine_option_and_every_compared_fact(readme):
    for name in (*ENGINE_OPTIONS, *COMPARED):
        assert f"`{name}`" in readme, name


def test_settings_take_the_engine_and_what_may_be_unequal():
    settings = resolve({"tasks": "dice", "engine": "vllm", "gpus": "0,1", "allow_unequal": "template, stop_ids"})
    assert settings.engine == Engine(name="vllm", gpus=(0, 1))
    assert settings.allow_unequal == ("template", "stop_ids")
    with pytest.raises(UsageError, match="--allow-unequal tempalte is unknown; did you mean template"):
        resolve({"tasks": "dice", "allow_unequal": "tempalte"})


def test_log_probabilities_are_a_parameter_of_sampling():
    assert resolve({"tasks": "dice", "logprobs": 5}).sampling.logprobs == 5
    with pytest.raises(UsageError, match="--logprobs is -1"):
        resolve({"tasks": "dice", "logprobs": -1})
