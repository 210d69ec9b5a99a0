/** The range of time that the timeline shows. Pure. */

/** Room after the last call, so that its end is visible. */
const ROOM = 1.005;
const MIN_SHARE = 1e-6;
/** Range of a run without calls. */
const MIN_US = 1;

export class TimeRange {
  from = 0;
  to = 1;
  /** Whether the range grows with a running trace; until the first zoom, fold or selection. */
  following = true;
  #whole = 1;

  /** End of the whole range. */
  get whole(): number {
    return this.#whole;
  }

  get width(): number {
    return this.to - this.from;
  }

  get isWhole(): boolean {
    return this.from <= 0 && this.to >= this.#whole * 0.999;
  }

  /** The range as text. */
  get words(): string {
    if (this.isWhole) return "the whole run";
    const text = timeText(this, this.width / 100);
    return `${text(this.from)} to ${text(this.to)}`;
  }

  /** Set the end of the trace. */
  grow(wall: number): void {
    const showAll = this.following || this.isWhole;
    this.#whole = Math.max(wall * ROOM, MIN_US);
    if (showAll) this.#set(0, this.#whole);
  }

  all(): void {
    this.#set(0, this.#whole);
  }

  show(from: number, to: number): void {
    this.following = false;
    this.#set(from, to);
  }

  /** Show less (`factor` below 1) or more; the time `at` stays at its position. */
  zoom(factor: number, at = (this.from + this.to) / 2): void {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  pan(by: number): void {
    this.show(this.from + by, this.to + by);
  }

  #set(from: number, to: number): void {
    const width = Math.min(this.#whole, Math.max(to - from, this.#whole * MIN_SHARE));
    this.from = Math.max(0, Math.min(from, this.#whole - width));
    this.to = this.from + width;
  }
}

/** Return what writes times of a range: in one unit, distinct if they are a step apart. */
export function timeText({ to }: TimeRange, step: number): (us: number) => string {
  const [unit, scale] = to >= 1e6 ? ["s", 1e6] : to >= 1e3 ? ["ms", 1e3] : ["µs", 1];
  const decimals = Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9));
  return (us) => `${(us / scale).toFixed(decimals)} ${unit}`;
}

/** Return round times, about one per `space` pixels. */
export function ticks(
  range: TimeRange,
  width: number,
  space = 90,
): { times: number[]; step: number } {
  const least = range.width / Math.max(2, width / space);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((each) => each * power >= least) ?? 10);
  const times: number[] = [];
  for (let k = Math.ceil(range.from / step); k * step <= range.to; k++) times.push(k * step);
  return { times, step };
}
