"""The webmaster tools of Google, Bing and Yandex."""
