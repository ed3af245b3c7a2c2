import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rgsupport.errors import EngineError
from rgsupport.prompts import encode, opens_thought, render

CHAT = "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }} {% endfor %}[assistant]"
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + CHAT


def tokenizer(chat_template=None, *, adds_bos=False):
    words = {
        word: index for index, word in enumerate(["<s>", "<unk>", "[", "]", "system", "user", "assistant", "why", "?"])
    }
    raw = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    if adds_bos:
        from tokenizers.processors import TemplateProcessing

        raw.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    made = PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>", unk_token="<unk>")
    made.chat_template = chat_template
    return made


def test_a_chat_model_reads_its_own_template_with_the_system_prompt_apart():
    assert render("why?", system="think", tokenizer=tokenizer(CHAT)) == "<s>[system] think [user] why? [assistant]"


def test_a_template_that_refuses_system_messages_gets_the_prompt_in_front_of_the_question():
    assert render("why?", system="think", tokenizer=tokenizer(NO_SYSTEM)) == "<s>[user] think\nwhy? [assistant]"


def test_without_a_system_prompt_the_question_stands_alone():
    assert render("why?", system="", tokenizer=tokenizer(CHAT)) == "<s>[user] why? [assistant]"
    assert render("why?", system="", tokenizer=tokenizer()) == "why?\n"


def test_a_model_without_a_template_reads_plain_text():
    assert render("why?", system="think", tokenizer=tokenizer()) == "think\nwhy?\n"


@pytest.mark.parametrize("adds_bos", [False, True])
def test_a_rendered_template_has_one_bos_whatever_the_tokenizer_adds(adds_bos):
    made = tokenizer(CHAT, adds_bos=adds_bos)
    ids = encode(render("why?", system="", tokenizer=made), tokenizer=made)
    assert ids.count(0) == 1
    assert ids[0] == 0


def test_plain_text_has_the_bos_that_the_tokenizer_adds():
    made = tokenizer(adds_bos=True)
    assert encode("why?", tokenizer=made)[0] == 0
    assert encode("why?", tokenizer=made).count(0) == 1


def test_a_template_with_two_bos_is_refused():
    made = tokenizer("{{ bos_token }}{{ bos_token }}" + CHAT.removeprefix("{{ bos_token }}"))
    with pytest.raises(EngineError, match="two BOS"):
        encode(render("why?", system="", tokenizer=made), tokenizer=made)


def test_an_empty_prompt_is_refused():
    with pytest.raises(EngineError, match="no tokens"):
        encode("", tokenizer=tokenizer())


@pytest.mark.parametrize(
    ("text", "opens"),
    [("…<think>\n", True), ("…<think>", True), ("<think></think>", False), ("", False), ("think", False)],
)
def test_a_prompt_opens_a_thought_only_at_its_end(text, opens):
    assert opens_thought(text) is opens


@pytest.mark.parametrize("template", ["{{ raise_exception('no') }}", "{% if %}", "{{ 1 + 'a' }}"])
def test_a_template_that_fails_is_told_in_one_line(template):
    with pytest.raises(EngineError, match="chat template") as error:
        render("why?", system="think", tokenizer=tokenizer(template))
    assert "\n" not in str(error.value)


def test_a_template_that_drops_the_question_is_refused():
    with pytest.raises(EngineError, match="drops the question"):
        render("why?", system="", tokenizer=tokenizer("hello"))
