// Splits text into lower-case words: the operator `tokenizer`, by hand on the bare contract.
//
// A word is a run of characters without the Unicode property White_Space; it comes out in lower
// case by Unicode's full mapping. An interpreter without a compiler runs this, so what costs is
// each call and each small object: a batch in ASCII is turned to lower case, squeezed and encoded
// as a whole, and only where its words end is found one by one.

import { lowerCase, spaced } from './unicode.js';
import { firstInvalid, utf8Length } from './utf8.js';

const NAME = 'tokenizer-javascript';

// A byte order mark is text like any other.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

const NOT_ASCII = /[^\0-\x7f]/;
const ASCII_WHITE_SPACE = /[\t-\r]/g;

export const describe = {
  describe() {
    return {
      name: NAME,
      version: '0.1.0',
      kind: 'flatmap',
      contract: '0.1.0',
      stateSchema: 0,
      settings: [],
      inputs: [],
      sideOutputs: [],
    };
  },
};

export const configure = {
  configure(settings) {
    if (settings.length > 0) {
      const [name] = settings[0];
      const reason = `operator \`${NAME}\` takes no settings`;
      throw Object.assign(new Error(reason), { payload: { name, reason } });
    }
  },
};

export const flatmap = {
  flatMap({ values }) {
    const { ends, data } = values;
    const text = decodeAscii(data);
    return text === undefined ? flatMapUnicode(ends, data) : flatMapAscii(ends, text);
  },
};

/** The text of bytes that are all ASCII, else undefined. */
function decodeAscii(data) {
  try {
    const text = decoder.decode(data);
    return NOT_ASCII.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

function flatMapAscii(ends, ascii) {
  const text = ascii.toLowerCase().replace(ASCII_WHITE_SPACE, ' ');
  const count = ends.length;
  const recordEnds = new Uint32Array(count);
  const wordEnds = [];
  let words = 0;
  let at = 0;
  let begin = 0;
  for (let record = 0; record < count; record++) {
    const end = ends[record];
    const parts = text.substring(begin, end).split(' ');
    const length = parts.length;
    for (let part = 0; part < length; part++) {
      const size = parts[part].length;
      if (size > 0) wordEnds[words++] = at += size;
    }
    recordEnds[record] = words;
    begin = end;
  }
  return emission(wordEnds, encoder.encode(text.replaceAll(' ', '')), recordEnds, []);
}

function flatMapUnicode(ends, data) {
  const count = ends.length;
  const recordEnds = new Uint32Array(count);
  const wordEnds = [];
  const texts = [];
  const rejected = [];
  let words = 0;
  let at = 0;
  let begin = 0;
  for (let record = 0; record < count; record++) {
    const bytes = data.subarray(begin, ends[record]);
    begin = ends[record];
    let text;
    try {
      text = decoder.decode(bytes);
    } catch {
      const reason = `expected UTF-8, found none at byte ${firstInvalid(bytes)}`;
      rejected.push({ index: record, reason });
      recordEnds[record] = words;
      continue;
    }
    for (const word of spaced(lowerCase(text)).split(' ')) {
      if (word.length > 0) {
        wordEnds[words++] = at += utf8Length(word);
        texts.push(word);
      }
    }
    recordEnds[record] = words;
  }
  return emission(wordEnds, encoder.encode(texts.join('')), recordEnds, rejected);
}

function emission(wordEnds, data, recordEnds, rejected) {
  const values = { ends: Uint32Array.from(wordEnds), data };
  return {
    records: { values, keys: undefined, timestamps: undefined },
    ends: recordEnds,
    rejected,
  };
}
