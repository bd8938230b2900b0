// UTF-8, where the platform's decoder and encoder say too little.

/** How many bytes a well-formed string takes in UTF-8. */
export function utf8Length(text) {
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Each half of a surrogate pair stands for two of its four bytes.
    if (code < 0x80) length += 1;
    else if (code < 0x800 || (code >= 0xd800 && code < 0xe000)) length += 2;
    else length += 3;
  }
  return length;
}

/** The place of the first byte that is not part of a well-formed character. */
export function firstInvalid(bytes) {
  let at = 0;
  while (at < bytes.length) {
    const length = characterLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

/** The length of the well-formed character at a place; 0 if there is none. */
function characterLength(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return 1;
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  // No longer form than needed, no surrogates, nothing above U+10FFFF.
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (bytes[at + 1] < least || bytes[at + 1] > most) return 0;
  for (let next = at + 2; next < at + length; next++) {
    if ((bytes[next] & 0xc0) !== 0x80) return 0;
  }
  return length;
}
