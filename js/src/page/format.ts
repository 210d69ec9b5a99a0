/** Times, sizes, numbers and names as text. */

const TIME_UNITS: readonly [string, number][] = [
  ["µs", 1],
  ["ms", 1e3],
  ["s", 1e6],
];
const BYTE_UNITS: readonly [string, number][] = [
  ["B", 1],
  ["KiB", 1024],
  ["MiB", 1 << 20],
  ["GiB", 1 << 30],
];

/** Return microseconds in the unit that keeps three digits; a dash for NaN. */
export function time(us: number): string {
  if (!Number.isFinite(us)) return "–";
  const size = Math.abs(us);
  if (size > 0 && size < 0.9995) return `${Math.round(us * 1000)} ns`;
  const [unit, scale] = TIME_UNITS.find(([, each]) => size < 999.5 * each) ?? TIME_UNITS[2];
  return `${threeDigits(us / scale)} ${unit}`;
}

/** Return a number of bytes with a binary unit. */
export function bytes(size: number): string {
  const [unit, scale] = BYTE_UNITS.findLast(([, each]) => size >= each) ?? BYTE_UNITS[0];
  return scale === 1 ? `${size} B` : `${(size / scale).toFixed(1)} ${unit}`;
}

/** Return the value of a tensor; null stands for a value that is not finite. */
export function value(number: number | null): string {
  if (number === null || !Number.isFinite(number)) return "–";
  const size = Math.abs(number);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return number.toExponential(2);
  return Number.isInteger(number) ? String(number) : number.toPrecision(4);
}

const separated = new Intl.NumberFormat("en");

/** Return a count with separators. */
export function count(number: number): string {
  return separated.format(number);
}

/** Return a count and its noun, such as "2 calls". */
export function counted(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Return a share in percent. */
export function percent(part: number, whole: number): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "–";
}

/** Return the shape of a tensor. */
export function shape(sizes: readonly number[]): string {
  return `[${sizes.join(" × ")}]`;
}

/** Return a name without its middle: long names differ at their ends. */
export function clip(text: string, length: number): string {
  const shown = visible(text);
  return shown.length <= length ? shown : `${shown.slice(0, length - 5)}…${shown.slice(-4)}`;
}

// Control, bidirectional, zero-width and other invisible characters; not \t and \n.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Return text with marks in place of invisible and reordering characters. */
export function visible(text: string): string {
  return text.replace(UNSEEN, mark);
}

/** Return what a promise was rejected with as text; not all libraries reject with errors. */
export function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

function mark(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

function threeDigits(number: number): string {
  const size = Math.abs(number);
  if (Number.isInteger(number)) return String(number);
  return number.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}
