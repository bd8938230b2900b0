"""Splits text into lower-case words: the operator `tokenizer`, by hand on the bare contract.

A word is a run of characters without the Unicode property White_Space; it comes out in lower case
by Unicode's full mapping. An interpreter runs this, so what costs is each call and each small
object: lower case is made of the whole batch, and where words end is summed up by one call.
"""

from itertools import accumulate

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.configure import SettingError
from wit_world.exports.describe import Description, Kind
from wit_world.imports.types import Batch, Column, Emission, Rejection

from unicode import lower_case, words

NAME = "tokenizer-python"


class Describe(exports.Describe):
    """What the operator says of itself."""

    def describe(self) -> Description:
        return Description(NAME, "0.1.0", Kind.FLATMAP, "0.1.0", 0, [], [], [])


class Configure(exports.Configure):
    """How the operator is set up: it takes no settings."""

    def configure(self, settings: list[tuple[str, str]]) -> None:
        for name, _ in settings:
            raise Err(SettingError(name, f"operator `{NAME}` takes no settings"))


class Flatmap(exports.Flatmap):
    """What the operator does with a batch."""

    def flat_map(self, input: Batch) -> Emission:
        ends, data = input.values.ends, input.values.data
        found: list[bytes] = []
        record_ends: list[int] = []
        rejected: list[Rejection] = []
        # Bytes know just the lower case and the white space of ASCII, which is right for ASCII,
        # and leaves the bytes of other characters alone.
        lower = data.lower()
        only_ascii = data.isascii()
        begin = 0
        for index, end in enumerate(ends):
            record = lower[begin:end]
            if only_ascii or record.isascii():
                found += record.split()
            else:
                try:
                    found += words(lower_case(data[begin:end].decode()))
                except UnicodeDecodeError as error:
                    reason = f"expected UTF-8, found none at byte {error.start}"
                    rejected.append(Rejection(index, reason))
            record_ends.append(len(found))
            begin = end
        values = Column(list(accumulate(map(len, found))), b"".join(found))
        return Emission(Batch(values, None, None), record_ends, rejected)
