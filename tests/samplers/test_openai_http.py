import httpx2
import pytest

from rgsupport.samplers._openai_http import RefusedError, Server, UnavailableError


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (503, "input queue is too long, try later", UnavailableError),
        (429, "prompt rate too long", UnavailableError),
        (500, "the prompt is too long: it exceeds the context size", RefusedError),
        (400, "This model's maximum context length is 2048 tokens", RefusedError),
        (429, "insufficient_quota", RefusedError),
    ],
)
def test_a_server_that_is_busy_has_not_refused_the_prompt(status, text, kind):
    server = Server("http://localhost:1/v1", timeout=1, patience=1, connections=1)
    failure = server._failure(httpx2.Response(status, text=text))
    assert type(failure) is kind
    if isinstance(failure, UnavailableError):
        assert not failure.is_fault
