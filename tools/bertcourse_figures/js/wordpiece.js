// BERT's tokenizer, as chapter 3 builds it in Python, for a page or for node. It needs characters.js before it.
//
//   new WordPiece(vocabulary).encode("The [MASK] barked.").map(({ token }) => token);

const SPECIAL_TOKEN = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/;
const LONGEST_WORD = 100; // characters; a longer word is unknown

/** BERT's tokenizer: normalization, then in each word the longest piece that the vocabulary has, from the left. */
class WordPiece {
  /** @param {string[]} vocabulary the tokens, in order of id */
  constructor(vocabulary) {
    this.vocabulary = vocabulary;
    this.ids = new Map(vocabulary.map((token, id) => [token, id]));
    for (const token of ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]) {
      if (!this.ids.has(token)) throw new Error(`vocab.txt must have the token ${token}, as BERT's has; it has not.`);
    }
    this.longest = vocabulary.reduce((most, token) => Math.max(most, token.length), 0);
  }

  /**
   * The tokens of a text between [CLS] and [SEP]: a list of { id, token, start, end, word, segment }.
   *
   * text.slice(start, end) is what a token stands for. Tokens of one word have the same number as `word`, and [CLS]
   * and [SEP] have null.
   */
  encode(text) {
    return [this.placed("[CLS]", 0, 0), ...this.pieces(text), this.placed("[SEP]", text.length, text.length)];
  }

  /** The same for two texts, [CLS] a [SEP] b [SEP]: offsets and words are each text's own, segments are 0 and 1. */
  encodePair(a, b) {
    const second = [...this.pieces(b), this.placed("[SEP]", b.length, b.length)];
    return [...this.encode(a), ...second.map((token) => ({ ...token, segment: 1 }))];
  }

  /** The tokens of a text alone. */
  pieces(text) {
    const tokens = [];
    let word = 0;
    let start = 0;
    for (const section of text.split(SPECIAL_TOKEN)) {
      const cut = this.ids.has(section) && SPECIAL_TOKEN.test(section)
        ? [[this.placed(section, start, start + section.length)]]
        : normalizedWords(section, start).map((characters) => this.cutWord(characters));
      for (const pieces of cut) {
        tokens.push(...pieces.map((piece) => ({ ...piece, word })));
        word++;
      }
      start += section.length;
    }
    return tokens;
  }

  /** A word's tokens; if nothing matches somewhere, the whole word is unknown. */
  cutWord(characters) {
    const unknown = [this.placed("[UNK]", characters[0].start, characters.at(-1).end)];
    if (characters.length > LONGEST_WORD) return unknown;
    const pieces = [];
    for (let first = 0; first < characters.length;) {
      let last = Math.min(characters.length, first + this.longest);
      const token = () => (first ? "##" : "") + characters.slice(first, last).map(({ text }) => text).join("");
      while (last > first && !this.ids.has(token())) last--;
      if (last === first) return unknown;
      pieces.push(this.placed(token(), characters[first].start, characters[last - 1].end));
      first = last;
    }
    return pieces;
  }

  placed(token, start, end) {
    return { id: this.ids.get(token), token, start, end, word: null, segment: 0 };
  }
}

/**
 * The words of a text as BERT sees them, each a list of normalized characters { text, start, end } with their places;
 * `offset` is where the text begins in a longer one.
 */
function normalizedWords(text, offset) {
  return splitAtSpaces(normalizedCharacters(text, offset));
}

/** The steps of `plain_normalize` in chapter 3 but the last: words come out with a space between them. */
function normalizedCharacters(text, offset = 0) {
  const characters = setApart(cleanCharacters(text, offset), "chinese");
  return setApart(lowerCharacters(stripAccents(characters)), "punctuation");
}

/** Drop control characters and the like; make every kind of white space a space. */
function cleanCharacters(text, offset) {
  const characters = [];
  for (const character of text) {
    const placed = { text: character, start: offset, end: offset + character.length };
    if (isA("space", character)) characters.push({ ...placed, text: " " });
    else if (!isA("dropped", character)) characters.push(placed);
    offset = placed.end;
  }
  return characters;
}

/** A space on each side of the characters of a kind: each becomes a word. */
function setApart(characters, kind) {
  return characters.flatMap((placed) => {
    const space = { ...placed, text: " " };
    return isA(kind, placed.text) ? [space, placed, space] : [placed];
  });
}

/** é becomes e and an accent, which is dropped. A mark that changes places with another takes that one's position. */
function stripAccents(characters) {
  const parts = characters.flatMap(({ text }) => {
    const decomposed = isA("decomposed", text) ? [...text.normalize("NFD")] : [text];
    return decomposed.map((part, i) => ({ text: part, isFirst: i === 0, place: rangeOf("marks", part)?.value ?? 0 }));
  });
  let source = -1;
  return inCanonicalOrder(parts).flatMap(({ text, isFirst }) => {
    if (isFirst) source++;
    return isA("accents", text) ? [] : [{ ...characters[source], text }];
  });
}

/** The marks that follow each other in ascending order of their place; what has place 0 stays where it is. */
function inCanonicalOrder(parts) {
  const ordered = [];
  let marks = [];
  for (const part of [...parts, { place: 0 }]) {
    if (part.place) {
      marks.push(part);
    } else {
      ordered.push(...marks.sort((a, b) => a.place - b.place), part);
      marks = [];
    }
  }
  return ordered.slice(0, -1);
}

/** Lower case, a character at a time: Σ becomes σ even at the end of a word. */
function lowerCharacters(characters) {
  return characters.map((placed) => {
    const range = rangeOf("lower", placed.text);
    return range ? { ...placed, text: shifted(placed.text, range.value - range.first) } : placed;
  });
}

const shifted = (character, by) => String.fromCodePoint(character.codePointAt(0) + by);

/** The words between spaces. */
function splitAtSpaces(characters) {
  const words = [[]];
  for (const placed of characters) {
    if (placed.text === " ") words.push([]);
    else words.at(-1).push(placed);
  }
  return words.filter((word) => word.length > 0);
}

const isA = (kind, character) => rangeOf(kind, character) !== undefined;
const characterRanges = {}; // the tables of characters.js, read when they are first asked for

/** The range of a table in characters.js that a character is in: { first, last, step, value }. */
function rangeOf(kind, character) {
  characterRanges[kind] ??= readRanges(CHARACTERS[kind]);
  const ranges = characterRanges[kind];
  const code = character.codePointAt(0);
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[middle].last < code) low = middle + 1;
    else high = middle;
  }
  const range = ranges[low];
  return range && code >= range.first && (code - range.first) % range.step === 0 ? range : undefined;
}

/** Ascending ranges from a text such as "9-a d 300-314=e6 100-12e/2=101". */
function readRanges(text) {
  return text.trim().split(/\s+/).map((range) => {
    const [, first, last, step, value] = range.match(/^(\w+)(?:-(\w+))?(?:\/(\d))?(?:=(\w+))?$/);
    const [from, to, of] = [first, last ?? first, value].map((digits) => parseInt(digits, 16));
    return { first: from, last: to, step: Number(step ?? 1), value: of };
  });
}
