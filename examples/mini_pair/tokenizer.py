"""The tokenizer: every fixed phrase of the questions is one token, everything else is single bytes.

Prompts shrink to a third of what an ordinary byte-pair vocabulary of this size needs, and no text is unknown.
"""

import re

import reasoning_gym
from reasoning_gym.arithmetic.leg_counting import ANIMALS
from reasoning_gym.graphs.family_relationships import FamilyRelationshipsConfig, Relationship
from sources import SUPERVISED_SEED, SYSTEM_PROMPT
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

BOS, EOS, PAD, USER, ASSISTANT = "<|begin|>", "<|end|>", "<|pad|>", "<|user|>", "<|assistant|>"
MAX_POSITIONS = 2048

CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}{{ '<|user|>' }}{% elif message['role'] == 'assistant' %}{{ '<|assistant|>' }}"
    "{% endif %}"
    "{{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

# What the questions are made of besides names, numbers and letters, in the words of Reasoning Gym.
QUESTION_WORDING = (
    # graph_color
    "Please provide a coloring for this graph such that every vertex is not connected to a vertex of the same color. "
    "The graph has these properties:\n\nVertices: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9",
    ", 10, 11, 12, 13, 14", ", 15, 16, 17, 18, 19", "]\nEdges: [(", "), (",
    *(f")]\nPossible colors: [{colors}]\n\nReturn your solution as a JSON map of vertices to colors. "
      '(For example: {"0": 1, "1": 2, "2": 3}.)\n' for colors in ("1, 2, 3", "1, 2, 3, 4")),
    # dice
    "I have these dice: ", "1d", ". What are the odds of rolling ",
    " or higher? (Assume that all dice are rolled at once, and that '1d6' represents one roll of a 6-sided dice.) "
    "Please respond with a reduced fraction representing the probability [ex., 1/60].",
    # palindrome_generation
    "Your task is, given a list of letters, to form a valid palindrome.\n\n"
    "A palindrome is a phrase that reads the same forwards and backwards.\n\n"
    "If there are multiple possible answers, only respond with one of them. You must use all the letters provided.\n\n"
    "Your output should be a single string, with no spaces or punctuation.\n\n"
    "Now, form a valid palindrome using the following letters: ",
    # family_relationships
    " is married to ", "They have a child called ", "They have children called ", " and ", "What is ", "How is ",
    "What relation is ", "\n\n", " to ", " related to ",
    "? Respond only with the word that describes their relationship.",
    "? Provide the relationship in one word.", "? Answer with a single word.",
    # prime_factorization
    "Find the prime factorization of ",
    ". Write the factors separated by × (Example: for 12 the answer would be: 2 × 2 × 3)",
    # leg_counting
    "Your task is to count how many legs there are in total when given a list of animals.\n\n"
    "Now, how many legs are there in total if you have ", "?\n",
    # power_function
    "Your task is to compute an exponentiation of a number.\n\nCompute ",
    ". Return your final answer correct to 3 significant figures.\n"
    "Provide your answer in scientific notation using 'e' notation (e.g., 1.23e+4).\n",
    # advanced_geometry
    *(f"{start} A=(" for start in (
        "Given triangle ABC with coordinates", "For triangle with vertices", "Consider triangle ABC with coordinates",
        "In triangle ABC with coordinates", "Given a triangle with vertices",
        "Find the incircle radius of triangle ABC whose vertices are", "Consider triangle ABC with vertices")),
    "), B=(", "), and C=(", "), find the coordinates of its orthocenter. ",
    "), determine the orthocenter (intersection of altitudes). ", "), find the measure (in degrees) of angle ABC. ",
    "), determine the angle at B in degrees. ", "). Compute the radius of its incircle. ",
    "For all geometry problems:\n1. Give coordinates in the form (x, y)\n2. Round decimal answers to 3 decimal places\n"
    "3. Use the degree symbol ° for angles\n4. Return only the angle, coordinates, or radius as your answer.\n",
    # arc_1d
    "Find the common rule that maps an input grid to an output grid, given the examples below.\n\nExample 1:\nInput:  ",
    "\n\nExample 2:\nInput:  ", "\n\nExample 3:\nInput:  ", "\nOutput: ", *(f" {digit}" for digit in range(10)),
    "\n\nBelow is a test input grid. Predict the corresponding output grid by applying the rule you found. Describe "
    "how you derived the rule and your overall reasoning process in detail before you submit your answer. Your final "
    "answer should be just the test output grid itself.\n\nInput:\n",
    # boxnet
    "Agent[", "]: I am in square[", "], I can observe [", "], I can do [", "'box_", "'target_", "'move(box_",
    ", square[", ", target_", ")'", "])'", "red", "green", "blue", "', ", ".5", "]\n",
)  # fmt: skip

# What the demonstrations are made of besides.
RESPONSE_WORDING = (
    "<answer>", "</answer>", "Working: ", "Roughly: ", ", ", "; ", ". ", ": ", " = ", " × ", " + ", " - ", " / ",
    *(f"{space}{vertex}=" for vertex in range(20) for space in ("", " ")),
    *(f'{start}{vertex}": ' for vertex in range(20) for start in ('{"', ', "')),
    "too wide", "about ", "spouse", "parent", "child",
    ", pairs ", ", middle ", "none", "no edges", " of ", " is prime", "inverse ", "e+", "e-",
    '[{"Agent[', ']":"move(box_', '])"}]', ')"}]',
)  # fmt: skip


def phrases() -> list[str]:
    """Return every text that is one token."""
    boxnet = reasoning_gym.create_dataset("boxnet", seed=SUPERVISED_SEED, size=1)
    boxnet_rules = boxnet[0]["question"].partition("Agent[0.5, 0.5]: I am")[0]
    family = FamilyRelationshipsConfig()
    names = [
        *family.male_names,
        *family.female_names,
        *(f" {animal}" for animal in ANIMALS),
        *(word.value for word in Relationship),
    ]
    return list(dict.fromkeys([SYSTEM_PROMPT, boxnet_rules, *QUESTION_WORDING, *RESPONSE_WORDING, *names]))


def build() -> PreTrainedTokenizerFast:
    """Return the tokenizer; the same Reasoning Gym version always gives the same one."""
    known = phrases()
    longest_first = sorted(known, key=len, reverse=True)
    split = pre_tokenizers.Split(Regex("|".join(re.escape(phrase) for phrase in longest_first)), behavior="isolated")
    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    pieces = [*(as_bytes.pre_tokenize_str(phrase)[0][0] for phrase in known), *sorted(as_bytes.alphabet())]
    special = [PAD, BOS, EOS, USER, ASSISTANT]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys([*special, *pieces]))}
    # Byte-pair encoding without merges: a piece that is in the vocabulary is one token, any other becomes bytes.
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[], ignore_merges=True))
    core.pre_tokenizer = pre_tokenizers.Sequence([split, as_bytes])
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(special)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=BOS,
        eos_token=EOS,
        pad_token=PAD,
        model_max_length=MAX_POSITIONS,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer
