"""
AI crawlers by purpose, as their operators document them.

As of 2026-11-23. Only names that an operator documents for robots.txt are listed;
``docs/robots.md`` says what each does, and which of them may not follow it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Crawler:
    """The name of a crawler in robots.txt, who operates it, and where that is said."""

    name: str
    operator: str
    source: str


_AMAZON = "https://developer.amazon.com/amazonbot"
_ANTHROPIC = "https://support.claude.com/en/articles/8896518"
_APPLE = "https://support.apple.com/en-us/119829"
_COMMON_CRAWL = "https://commoncrawl.org/ccbot"
_DUCKDUCKGO = "https://duckduckgo.com/duckduckgo-help-pages/results/duckassistbot"
_GOOGLE = "https://developers.google.com/crawling/docs/crawlers-fetchers/google-common-crawlers"
_META = "https://developers.facebook.com/docs/sharing/webmasters/web-crawlers"
_MISTRAL = "https://docs.mistral.ai/en/robots"
_OPENAI = "https://developers.openai.com/api/docs/bots"
_PERPLEXITY = "https://docs.perplexity.ai/docs/resources/perplexity-crawlers"

#: The crawlers of each preset of the setting ``ROBOTS``.
PRESETS = {
    # What they read may train models. Search engines and answers do not need them.
    "ai-training": (
        Crawler("GPTBot", "OpenAI", _OPENAI),
        Crawler("ClaudeBot", "Anthropic", _ANTHROPIC),
        Crawler("Google-Extended", "Google", _GOOGLE),
        Crawler("Applebot-Extended", "Apple", _APPLE),
        Crawler("meta-externalagent", "Meta", _META),
        Crawler("Amazonbot", "Amazon", _AMAZON),
        Crawler("MistralAI-Training", "Mistral", _MISTRAL),
        Crawler("CCBot", "Common Crawl", _COMMON_CRAWL),
    ),
    # They build the index that an assistant searches and links to.
    "ai-search": (
        Crawler("OAI-SearchBot", "OpenAI", _OPENAI),
        Crawler("Claude-SearchBot", "Anthropic", _ANTHROPIC),
        Crawler("PerplexityBot", "Perplexity", _PERPLEXITY),
        Crawler("Meta-WebIndexer", "Meta", _META),
        Crawler("Amzn-SearchBot", "Amazon", _AMAZON),
        Crawler("MistralAI-Index", "Mistral", _MISTRAL),
    ),
    # They fetch a page because somebody asked about it.
    "ai-user": (
        Crawler("ChatGPT-User", "OpenAI", _OPENAI),
        Crawler("Claude-User", "Anthropic", _ANTHROPIC),
        Crawler("Perplexity-User", "Perplexity", _PERPLEXITY),
        Crawler("meta-externalfetcher", "Meta", _META),
        Crawler("Amzn-User", "Amazon", _AMAZON),
        Crawler("MistralAI-User", "Mistral", _MISTRAL),
        Crawler("DuckAssistBot", "DuckDuckGo", _DUCKDUCKGO),
    ),
    # They check the pages that somebody advertises with an assistant; documented since
    # 2026-04-21.
    "ai-ads": (Crawler("OAI-AdsBot", "OpenAI", _OPENAI),),
}
