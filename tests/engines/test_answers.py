"""What the bodies of successes say: which are believed, which are not, and why."""

from __future__ import annotations

import gzip

import pytest

from django_sitemaps_plus.engines.base import Outcome
from django_sitemaps_plus.engines.http import Response, explained

FAULT = (
    '<?xml version="1.0"?><methodResponse><fault><value><struct><member>'
    "<name>faultCode</name><value><int>4</int></value></member><member>"
    "<name>faultString</name><value><string>Too many parameters.</string></value>"
    "</member></struct></value></fault></methodResponse>"
)
PINGED = (
    "<methodResponse><params><param><value><struct><member><name>flerror</name>"
    "<value><boolean>{}</boolean></value></member><member><name>message</name><value>"
    "Thanks for the ping.</value></member></struct></value></param></params>"
    "</methodResponse>"
)
SOAP = "<s:Envelope><s:Body><s:Fault>Busy</s:Fault></s:Body></s:Envelope>"


LOGIN = '<html><form><input name=password type="password"></form></html>'
XHTML = f'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "x">{LOGIN}'


def read(
    body: str | bytes = "", status: int = 200, **headers: str
) -> tuple[Outcome, str]:
    raw = body if isinstance(body, bytes) else body.encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = Response(status=status, headers=named, body=raw)
    return explained(response, "It", "the changes", option="url")


@pytest.mark.parametrize(
    ("status", "outcome", "said"),
    [
        (204, Outcome.ACCEPTED, "accepted the changes."),
        (206, Outcome.UNAVAILABLE, "answers with a part (206): check 'url'."),
        (300, Outcome.UNAVAILABLE, "answers with a redirect (300): check 'url'."),
        (399, Outcome.UNAVAILABLE, "answers with a redirect (399): check 'url'."),
        (400, Outcome.REJECTED, "rejects the changes (400)."),
        (403, Outcome.UNAVAILABLE, "refuses the request (403)."),
        *(
            (
                status,
                Outcome.UNAVAILABLE,
                f"does not take the changes at this address ({status}): check 'url'.",
            )
            for status in (404, 405, 410)
        ),
        (413, Outcome.REJECTED, "rejects the changes (413)."),
        (418, Outcome.UNAVAILABLE, "refuses the request (418)."),
        (422, Outcome.REJECTED, "rejects the changes (422)."),
        (429, Outcome.THROTTLED, "asks for fewer requests (429)."),
        (500, Outcome.UNAVAILABLE, "has an internal error (500)."),
    ],
)
def test_a_status_says_what_to_do(status: int, outcome: Outcome, said: str) -> None:
    assert read(status=status) == (outcome, f"It {said}")


@pytest.mark.parametrize(
    "body",
    [
        *("no errors", "No errors.", "0 errors", "OK, 0 failed", "without any error"),
        *("errors: 0", "errors: []", "Errors: none.", "error: null", "errors=0"),
        *("errors: 0 accepted: 5", "accepted 5, rejected: 0", "no URL was refused"),
        *("5 accepted, 0 URLs rejected", "errors: no errors", "error: {}\nbye"),
        *("('error': None)", "default settings", "5 URLs; failures: 0; invalid: 0"),
        *("received https://a.example/error/404", "null", "true", "5", "danke"),
        *('"no errors"', '["ok"]', "[]", "[{}]", '{"error":null}', '{"error":""}'),
        *('{"errors":[]}', '{"errors":0}', '{"errors":"0"}', '{"errors":{}}'),
        *('{"error":"none"}', '{"error":false}', '{"message":"0 errors"}'),
        *('{"error_code":"0","error_msg":"success"}', '{"errcode":0,"errmsg":"ok"}'),
        *('{"success":true,"error":null}', '{"success":"true"}', '{"success":"ok"}'),
        *('{"ok":"yes"}', '{"referrer":"x"}', '{"default":true}', '{"accepted":0}'),
        *('{"d":null}', '{"d":{}}', '{"d":true}', "Ungültig: 3 von 5", "не принято"),
        *('{"data":{"error":null}}', '[{"status":200,"error":null}]'),
        *('{"accepted":5,"rejected":2}', '{"accepted":0,"rejected":0}'),
        '{"accepted":"0","rejected":"0"}',
        '{"added":["https://a.example/error/","https://a.example/login/"]}',
        *("<error>0</error>", "<response><error>0</error></response>"),
        *("<r><errors>0</errors><ok>5</ok></r>", PINGED.format(0)),
    ],
)
def test_it_accepted_what_names_no_error(body: str) -> None:
    assert read(body) == (Outcome.ACCEPTED, "It accepted the changes.")


@pytest.mark.parametrize(
    "body",
    [
        *("error", "errors: 3", "10 errors", "1,000 errors", "2.0 errors", "ERROR 5"),
        *("errors: 0.5", "error: no such host", "error: none of the URLs was taken"),
        *("errors: 0, failed: 2", "no errors; access denied", "error: 0x80004005"),
        *("no credentials", "no authentication", "error: 0 URLs were taken", "err: 5"),
        *("failed\nerror: 0", "not found", "It was\nnot authorised", "Please log in"),
        *('{"detail":"Request was throttled."}', '{"message":"Token has expired"}'),
        *("You have no permission to do this.", "Too many requests, slow down."),
        *("false", '"failed"', '["failed"]', '[{"error":"x"}]', '{"error":1}'),
        *('{"errors":["x"]}', '{"error":{"code":3}}', '{"error":"Quota"}'),
        *('{"success":false}', '{"success":"false"}', '{"success":"0"}', '{"ok":null}'),
        *('{"result":false}', '{"result":"False"}', '{"accepted":false}'),
        *('{"accepted":0,"rejected":2}', '{"Accepted":[],"Rejected":["x"]}'),
        '{"accepted":"0","rejected":"2"}',
        *('{"d":false}', '{"d":"false"}', '[{"d":false}]'),
        *('{"isSuccess":false}', '{"succeeded":0}', '{"OK":"no"}', '{"is_ok":null}'),
        *('{"statusCode":401}', '{"status_code":"503"}', '{"httpCode":500}'),
        *('{"message":"3 errors"}', '{"code":403}', '{"status":"500"}', '{"err":5}'),
        *('{"data":{"success":false}}', '{"response":{"error":"x"}}', '{"errno":7}'),
        '{"url":"https://a.example/","message":"failed"}',
        *("<error>1</error>", "<e>https://a.example/</e><fault>Busy</fault>", SOAP),
        *(FAULT, PINGED.format(1), "<success>false</success>", "success: 0"),
        "success=no",
    ],
)
def test_it_refused_what_names_an_error(body: str) -> None:
    text = "It answers with an error (200): check 'url'."
    assert read(body) == (Outcome.UNAVAILABLE, text)


@pytest.mark.parametrize(
    ("body", "headers", "with_what"),
    [
        ("<html>no errors</html>", {}, "with a web page"),
        ("<p>0 errors</p>", {"content_type": "text/html"}, "with a web page"),
        (XHTML, {}, "with a login page"),
        ('<form><input type="password"></form>', {}, "with a login page"),
        ("no errors\0", {}, "with something that is not text"),
        (LOGIN.encode("utf-16"), {}, "with something that is not text"),
        (gzip.compress(LOGIN.encode()), {}, "with something that is not text"),
        ("ok", {"content_encoding": "br"}, "with something that is not text"),
        ('{"errors":[]', {}, "not as its protocol says"),
        ("[errors: 0]", {}, "not as its protocol says"),
    ],
)
def test_it_is_unknown_what_other_bodies_say(
    body: str | bytes, headers: dict[str, str], with_what: str
) -> None:
    text = f"It answers {with_what} (200): check 'url'."
    assert read(body, **headers) == (Outcome.UNAVAILABLE, text)
