import polars as pl
import pytest

from counts import problem_table
from rgsupport.engines import Engine
from rgsupport.errors import UsageError
from rgsupport.models import find
from rgsupport.prompting import Prompt, Prompts, build_prompts, refuse_unequal, refuse_unequal_room
from rgsupport.types import BASE, RLVR, SamplingParams

LONG, SHORT = find("owner/long"), find("owner/short")
MINI = find("mini-base")
HF = Engine(name="hf")


def prompts(*lengths, context):
    return Prompts({str(place): Prompt((1,) * length) for place, length in enumerate(lengths)}, context_length=context)


def test_models_of_unlike_context_are_refused_only_where_the_difference_would_show():
    long, short = (LONG, prompts(1, context=1000)), (SHORT, prompts(1, context=100))
    refuse_unequal_room(long, short, SamplingParams(max_tokens=99))
    refuse_unequal_room(long, long, SamplingParams(max_tokens=5000))
    with pytest.raises(UsageError, match="--max-tokens 99 gives both"):
        refuse_unequal_room(long, short, SamplingParams(max_tokens=100))


def test_a_prompt_that_fits_one_model_only_is_refused_with_its_length():
    with pytest.raises(UsageError, match="the longest prompt takes 200"):
        refuse_unequal_room(
            (LONG, prompts(1, 200, context=1000)), (SHORT, prompts(1, 200, context=100)), SamplingParams(max_tokens=9)
        )


def test_a_context_that_only_a_server_knows_is_not_compared():
    refuse_unequal_room((LONG, prompts(1, context=None)), (SHORT, prompts(1, context=100)), SamplingParams())


def test_a_prompt_as_long_as_the_context_leaves_no_room_and_is_not_the_longest():
    made = prompts(5, 9, 10, 11, context=10)
    assert made.too_long() == {"2", "3"}
    assert made.longest == 9


FACTS = {"engine": "vllm", "dtype": "bfloat16", "template": "none", "stop_ids": [1, 2], "device": "here"}


def test_models_that_are_treated_alike_pass_whatever_else_differs():
    refuse_unequal({BASE: FACTS, RLVR: FACTS | {"device": "there", "batch_size": 3}}, ())


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("dtype", "float32", "dtype is bfloat16 for base and float32 for RLVR; --dtype bfloat16 runs both alike"),
        ("stop_ids", [1], r"stop_ids is \[1, 2\] for base and \[1\] for RLVR"),
        ("template", "abc", "--allow-unequal template"),
        ("versions", "vllm 2", "versions is None for base and vllm 2"),
    ],
)
def test_every_difference_is_named_with_both_values_and_the_way_out(name, value, words):
    unlike = {BASE: FACTS, RLVR: FACTS | {name: value}}
    with pytest.raises(UsageError, match=words):
        refuse_unequal(unlike, ())
    refuse_unequal(unlike, (name,))


def questions(*texts):
    made = problem_table({f"{place:016}": "dice" for place in range(len(texts))})
    return made.with_columns(question=pl.Series(texts))


def test_prompts_begin_with_one_bos_and_tell_what_must_be_equal():
    made = build_prompts(MINI, questions("What is 2 + 2?", "And 3 + 3?"), system="Answer.", engine=HF)
    for prompt in made.of.values():
        assert prompt.token_ids.count(prompt.token_ids[0]) == 1
        assert "Answer." in prompt.text
    assert made.facts["bos"] == "one"
    assert made.facts["dtype"] == "float32"
    assert made.facts["stop_ids"] == list(made.stop_ids)
    assert len(made.facts["template"]) == 12
    assert not made.opens_thought


def test_the_dtype_asked_for_is_the_one_that_is_compared():
    made = build_prompts(MINI, questions("What is 2 + 2?"), system="", engine=Engine(name="hf", dtype="bfloat16"))
    assert made.facts["dtype"] == "bfloat16"
    served = Engine(name="openai", servers=("http://localhost/v1",))
    assert "dtype" not in build_prompts(MINI, questions("What is 2 + 2?"), system="", engine=served).facts


def test_a_prompt_that_does_not_fit_costs_that_prompt_only_unless_it_is_all_of_its_task():
    made = build_prompts(MINI, questions("What is 2 + 2?", "9 " * 5000), system="", engine=HF)
    assert made.too_long() == {f"{1:016}"}
    with pytest.raises(UsageError, match="every question of dice takes"):
        build_prompts(MINI, questions("9 " * 5000), system="", engine=HF)


def test_a_server_that_applies_its_own_template_gets_messages():
    engine = Engine(name="openai", servers=("http://localhost/v1",), api="chat")
    made = build_prompts(find("any name", served=True), questions("What is 2 + 2?"), system="Answer.", engine=engine)
    (prompt,) = made.of.values()
    assert prompt == Prompt(messages=(("system", "Answer."), ("user", "What is 2 + 2?")))
    assert made.context_length is None
    bare = build_prompts(find("any name", served=True), questions("What?"), system="", engine=engine)
    assert [prompt.messages for prompt in bare.of.values()] == [(("user", "What?"),)]
