"""Requests made up from a server's OpenAPI: about half are as it says, and the rest are not."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import quote

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

TEXT = st.text(st.characters(codec=None), max_size=12)  # any, also what UTF-8 cannot write
SCALAR = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.sampled_from([0, -1, 2**63, 2**128, 10**400])),
    *(st.floats(), TEXT, st.sampled_from(["dark", "setosa", "2020-01-01", "5.1", "../../etc"])),
)
ANYTHING = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
KINDS = ["application/json", "text/plain", "application/x-npz", "", "application/json; charset=x"]
METHODS = ["POST"] * 9 + ["GET", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "TRACE"]


def value_of(schema: dict, api: dict, words: st.SearchStrategy) -> st.SearchStrategy:
    """Return values that a schema allows, and now and then some that it does not."""
    if "$ref" in schema:
        schema = api["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return st.one_of(*(value_of(one, api, words) for one in schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        fields = {name: value_of(one, api, words) for name, one in schema["properties"].items()}
        required = {name: fields.pop(name) for name in schema.get("required", [])}
        return st.fixed_dictionaries(required, optional=fields)
    if kind == "object":
        return st.dictionaries(
            words, value_of(schema["additionalProperties"], api, words), max_size=4
        )
    if kind == "array":
        return st.lists(value_of(schema["items"], api, words), min_size=0, max_size=3)
    if kind == "integer":
        return st.integers(schema.get("minimum", -100), min(schema.get("maximum", 50), 50))
    plain = {"number": st.floats(allow_nan=False), "boolean": st.booleans(), "null": st.none()}
    return plain.get(kind, words)


def requests_of(api: dict, names: list[str], words: list[str]) -> st.SearchStrategy:
    """Return requests: method, path, headers and body."""
    text = st.one_of(st.sampled_from(words), TEXT)
    name = st.one_of(st.sampled_from(names), st.sampled_from(names), TEXT)
    operations = []
    for path, item in api["paths"].items():
        body = ANYTHING
        if "requestBody" in item.get("post", {}):
            schema = item["post"]["requestBody"]["content"]["application/json"]["schema"]
            right = value_of(schema, api, text)
            spoiled = st.builds(
                lambda body, key, value: body | {key: value},
                *(right, st.sampled_from(["n", "seed", "given", "rows", "images", "format", "x"])),
                ANYTHING,
            )
            body = st.one_of(right, spoiled, ANYTHING)
        operations.append(st.tuples(st.just(path), name, body))
    content = st.one_of(st.just(True), st.just(True), st.booleans(), st.binary(max_size=50))
    return st.tuples(
        st.one_of(operations), st.sampled_from(METHODS), st.sampled_from(KINDS), content
    )


def send(connection: HTTPConnection, request: tuple) -> int:
    """Send a request, and return the status of its answer."""
    (path, name, body), method, kind, content = request
    path = path.replace("{name}", quote(name, "", errors="surrogatepass"))
    data = content if isinstance(content, bytes) else json.dumps(body).encode()
    kind = KINDS[0] if content is True else kind
    headers = {"Content-Type": kind} if kind else {}
    connection.request(method, path, data if method != "GET" else None, headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def statuses(port: int, n: int) -> Iterator[int]:
    """Yield the statuses of n requests that are made up from the server's OpenAPI."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/openapi.json")
    api = json.loads(connection.getresponse().read())
    connection.request("GET", "/v1/models")
    models = json.loads(connection.getresponse().read())["models"]
    columns = [c for model in models for c in model.get("columns", [])]
    found: list[int] = []

    @settings(
        max_examples=n,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(requests_of(api, [model["name"] for model in models], columns))
    def fuzz(request: tuple) -> None:
        found.append(send(connection, request))

    fuzz()
    yield from found
