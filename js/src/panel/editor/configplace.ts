/** The fields of `config.pbtxt` at a place of its text, as `blsnb/model/text/config_fields.py` finds them. */

import table from "./configfields.json" with { type: "json" };

type Meanings = Record<string, string>;
/** Name of the type, empty for numbers and texts, and the meaning. */
type Field = string[];

const MESSAGES = table.messages as Record<string, Record<string, Field>>;
const ENUMS = table.enums as Record<string, Meanings>;
const TOKEN = /"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|#[^\n]*|[\w.+-]+|[{}<>[\]:,;]/g;
const CLOSED = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')$/;

export interface FieldPlace {
  /** Name of the message around the place. */
  message: string;
  /** Name of the field whose value is begun; empty where a field begins. */
  field: string;
}

/** Return where a text ends; null in a string, a comment or an unknown message. */
export function placeAtEnd(text: string): FieldPlace | null {
  const scan = new Scan();
  let last = "";
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    last = index + token.length === text.length ? token : "";
    scan.take(token);
  }
  const isText = /^[#"']/.test(last) && !CLOSED.test(last);
  return isText || scan.message === null ? null : { message: scan.message, field: scan.field };
}

/** Return what may be at a place, and what each means. */
export function candidates({ message, field }: FieldPlace): Meanings {
  const fields = MESSAGES[message];
  if (!field) return Object.fromEntries(Object.entries(fields).map(([name, [, meaning]]) => [name, meaning]));
  const [type] = fields[field];
  return type === "bool" ? { true: "", false: "" } : (ENUMS[type] ?? {});
}

/** Return the meaning of the field or enumerator at a position; null for another word. */
export function meaningAt(text: string, at: number): { start: number; end: number; meaning: string } | null {
  // The first line of a cell is its magic.
  const from = /^\s*%%.*/.exec(text)?.[0].length ?? 0;
  const start = at - (/\w*$/.exec(text.slice(from, at))?.[0].length ?? 0);
  const word = /^\w*/.exec(text.slice(start))?.[0] ?? "";
  const place = word && start >= from ? placeAtEnd(text.slice(from, start)) : null;
  const meanings = place ? candidates(place) : {};
  const meaning = Object.hasOwn(meanings, word) ? meanings[word] : "";
  return meaning ? { start, end: start + word.length, meaning } : null;
}

class Scan {
  message: string | null = "ModelConfig";
  field = "";
  #isUnknown = false;
  #isInList = false;
  #around: [message: string | null, field: string, isInList: boolean][] = [];

  take(token: string): void {
    if (token === "{" || token === "<") this.#enter();
    else if (token === "}" || token === ">") this.#leave();
    else if (token === "[") this.#isInList = true;
    else if (token === "]") {
      this.#isInList = false;
      this.#set("");
    } else if (!/^[#:,;]/.test(token)) this.#takeWord(token);
  }

  #enter(): void {
    this.#around.push([this.message, this.field, this.#isInList]);
    const type = this.message === null ? "" : (MESSAGES[this.message][this.field]?.[0] ?? "");
    this.message = type in MESSAGES ? type : null;
    this.#isInList = false;
    this.#set("");
  }

  #leave(): void {
    const around = this.#around.pop();
    if (!around) return;
    let field: string;
    [this.message, field, this.#isInList] = around;
    this.#set(this.#isInList ? field : "");
  }

  #takeWord(word: string): void {
    if (!this.field && !this.#isUnknown) {
      // A string here continues the one before it.
      if (/^["']/.test(word)) return;
      const isKnown = this.message !== null && Object.hasOwn(MESSAGES[this.message], word);
      this.#set(isKnown ? word : "", !isKnown);
    } else if (!this.#isInList) this.#set("");
  }

  #set(field: string, isUnknown = false): void {
    [this.field, this.#isUnknown] = [field, isUnknown];
  }
}
