"""Languages and regions that search engines know in ``hreflang``.

https://developers.google.com/search/docs/specialty/international/localized-versions:
a language of ISO 639-1, then a script of ISO 15924 and a region of ISO 3166-1 alpha-2,
if need be. Of BCP 47 also pass what cannot be told to be wrong: languages of three
letters, regions of UN M.49, variants."""

from __future__ import annotations

import re
from typing import Final

# ISO 639-1, with the codes that were replaced and are still understood.
_ISO_639: Final = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr "
    "cs cu cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu "
    "gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik in io is it iu iw ja ji jv jw ka "
    "kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk "
    "ml mn mo mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps "
    "pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta "
    "te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh "
    "zu"
)
# ISO 3166-1 alpha-2.
_ISO_3166: Final = (
    "ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm "
    "bn bo bq br bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx "
    "cy cz de dj dk dm do dz ec ee eg eh er es et fi fj fk fm fo fr ga gb gd ge gf gg "
    "gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir "
    "is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv "
    "ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne "
    "nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro "
    "rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf "
    "tg th tj tk tl tm tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi vn vu wf "
    "ws ye yt za zm zw"
)
_LANGUAGES: Final = frozenset(_ISO_639.split())
_REGIONS: Final = frozenset(_ISO_3166.split())
_TAG: Final = re.compile(
    r"(?P<language>[a-z]{2,3})(?:-[a-z]{4}(?=-|\Z))?(?:-(?P<region>[a-z]{2})(?=-|\Z))?"
    r"(?:-[a-z0-9]{1,8})*",
    re.IGNORECASE,
)


def unknown_in(hreflang: str) -> str:
    """Return what no search engine knows in a language tag; empty if it is all known.

    ``x-default`` is known.
    """
    if hreflang.lower() == "x-default":
        return ""
    match = _TAG.fullmatch(hreflang)
    if match is None:
        return f"{hreflang!r} is not a language tag"
    language, region = match["language"].lower(), (match["region"] or "").lower()
    if len(language) == 2 and language not in _LANGUAGES:
        return f"{hreflang!r} has the language {language!r}, which does not exist"
    if region and region not in _REGIONS:
        return f"{hreflang!r} has the region {region!r}, which does not exist"
    return ""
