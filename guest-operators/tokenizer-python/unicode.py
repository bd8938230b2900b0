"""Lower case and white space by tables, since interpreters know other versions of Unicode.

All that is at the top level runs when the component is built, not when it is used.
"""

from bisect import bisect_right

from tables import CASED, IGNORABLE, LOWER, WHITE_SPACE

SIGMA = "Σ"


def _corrections() -> dict[int, str]:
    """The lower case of the characters that the interpreter doesn't have right."""
    lower = {0x130: "i\u0307"}
    for first, last, step, added in LOWER:
        for code in range(first, last + 1, step):
            lower[code] = chr(code + added)
    return {code: text for code, text in lower.items() if chr(code).lower() != text}


CORRECTED = _corrections()
# White space beyond a space becomes a space, and then what is between spaces is a word.
TO_SPACE = {
    code: " " for first, last in WHITE_SPACE for code in range(first, last + 1) if code != 0x20
}
CASED_BEGINS = [first for first, _ in CASED]
IGNORABLE_BEGINS = [first for first, _ in IGNORABLE]


def words(text: str) -> list[bytes]:
    """The words of a text, in UTF-8."""
    return [word.encode() for word in text.translate(TO_SPACE).split(" ") if word]


def lower_case(text: str) -> str:
    """The text in lower case."""
    if SIGMA in text:
        text = _lower_sigmas(text)
    if CORRECTED:
        text = text.translate(CORRECTED)
    return text.lower()


def _lower_sigmas(text: str) -> str:
    """The text with its capital sigmas in lower case: `ς` at the end of a word, else `σ`."""
    characters = list(text)
    for at, character in enumerate(text):
        if character == SIGMA:
            before, behind = range(at - 1, -1, -1), range(at + 1, len(text))
            is_last = _is_cased(text, before) and not _is_cased(text, behind)
            characters[at] = "ς" if is_last else "σ"
    return "".join(characters)


def _is_cased(text: str, places: range) -> bool:
    """Whether the first character at these places has a case, past those that don't count."""
    for place in places:
        code = ord(text[place])
        if not _is_in(IGNORABLE, IGNORABLE_BEGINS, code):
            return _is_in(CASED, CASED_BEGINS, code)
    return False


def _is_in(ranges: list[list[int]], begins: list[int], code: int) -> bool:
    """Whether a code point lies in one of some ranges, which rise."""
    at = bisect_right(begins, code) - 1
    return at >= 0 and code <= ranges[at][1]
