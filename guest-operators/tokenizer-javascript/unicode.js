// Lower case and white space by tables, since engines know other versions of Unicode.
//
// All that is at the top level runs when the component is built, not when it is used.

import { CASED, IGNORABLE, LOWER, WHITE_SPACE } from './tables.js';

const SIGMA = 'Σ';

/** A regular expression for the characters in ranges; without ranges, for none. */
function oneOf(ranges) {
  const escape = (code) => `\\u{${code.toString(16)}}`;
  const classes = ranges.map(([first, last]) => `${escape(first)}-${escape(last)}`).join('');
  return new RegExp(`[${classes}]`, 'gu');
}

/** The lower case of the characters that the engine doesn't have right. */
const CORRECTED = new Map();
for (const [first, last, step, added] of LOWER) {
  for (let code = first; code <= last; code += step) {
    const character = String.fromCodePoint(code);
    const lower = String.fromCodePoint(code + added);
    if (character.toLowerCase() !== lower) CORRECTED.set(character, lower);
  }
}
if ('İ'.toLowerCase() !== 'i̇') CORRECTED.set('İ', 'i̇');

const TO_CORRECT = oneOf([...CORRECTED.keys()].map((c) => [c.codePointAt(0), c.codePointAt(0)]));
const WHITE = oneOf(WHITE_SPACE);

/** The text with a space for each white space character. */
export function spaced(text) {
  return text.replace(WHITE, ' ');
}

/** The text in lower case. */
export function lowerCase(text) {
  let lower = text;
  if (lower.includes(SIGMA)) lower = lowerSigmas(lower);
  if (CORRECTED.size > 0) lower = lower.replace(TO_CORRECT, (c) => CORRECTED.get(c));
  return lower.toLowerCase();
}

/** The text with its capital sigmas in lower case: `ς` at the end of a word, else `σ`. */
function lowerSigmas(text) {
  const characters = Array.from(text);
  return characters
    .map((character, at) => {
      if (character !== SIGMA) return character;
      return isCasedFrom(characters, at, -1) && !isCasedFrom(characters, at, 1) ? 'ς' : 'σ';
    })
    .join('');
}

/** Whether the next character in a direction has a case, past those that don't count. */
function isCasedFrom(characters, from, direction) {
  let at = from + direction;
  while (at >= 0 && at < characters.length) {
    const code = characters[at].codePointAt(0);
    if (!isIn(IGNORABLE, code)) return isIn(CASED, code);
    at += direction;
  }
  return false;
}

/** Whether a code point lies in one of some ranges, which rise. */
function isIn(ranges, code) {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[middle][1] < code) low = middle + 1;
    else high = middle;
  }
  return low < ranges.length && ranges[low][0] <= code;
}
