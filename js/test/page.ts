/**
 * A page without a browser: jsdom's elements, with a layout of fixed sizes and canvases that record what
 * is painted on them. To be imported before anything that has a style sheet or needs a document.
 */

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

import { JSDOM } from "jsdom";

registerHooks({
  load(url, context, next) {
    if (!url.endsWith(".css")) return next(url, context);
    const text = new TextDecoder().decode(readFileSync(new URL(url)));
    const source = `export default ${JSON.stringify(text)}`;
    return { format: "module", source, shortCircuit: true };
  },
});

const { window } = new JSDOM("<!doctype html><body></body>", { pretendToBeVisual: true });
/** An error in an event listener fails the test that sent the event; a page would only log it. */
window.addEventListener("error", ({ error }) =>
  queueMicrotask(() => {
    throw error;
  }),
);
const page = globalThis as unknown as Record<string, unknown>;

/** Sizes in pixels of the elements that are measured, by the first selector that matches. */
const SIZES: readonly [selector: string, width: number, height: number][] = [
  [".callgraph", 800, 260],
  [".callgraph .edges", 400, 20],
  [".callgraph svg", 800, 260],
  [".tree", 800, 308],
  [".toolbar", 1100, 40],
  [".inspector", 300, 500],
  [".tip", 120, 60],
  [".panes", 1100, 560],
  [".notices:not(:empty)", 1100, 30],
  [".picture", 200, 100],
  [".view", 1100, 600],
  [".blsnb-view", 1100, 610],
];

function sizeOf(element: Element): readonly [width: number, height: number] {
  const found = SIZES.filter(([selector]) => element.matches(selector)).pop();
  return found ? [found[1], found[2]] : [0, 0];
}

for (const [name, side] of [
  ["clientWidth", 0],
  ["offsetWidth", 0],
  ["scrollWidth", 0],
  ["clientHeight", 1],
  ["offsetHeight", 1],
  ["scrollHeight", 1],
] as const)
  Object.defineProperty(window.HTMLElement.prototype, name, {
    configurable: true,
    get(this: Element) {
      return sizeOf(this)[side];
    },
  });
for (const [name, side] of [
  ["clientWidth", 0],
  ["clientHeight", 1],
] as const)
  Object.defineProperty(window.SVGElement.prototype, name, {
    configurable: true,
    get(this: Element) {
      return sizeOf(this)[side];
    },
  });
window.Element.prototype.getBoundingClientRect = function (this: Element): DOMRect {
  const [width, height] = sizeOf(this);
  const [left, top] = [7, 5];
  const rest = { width, height, right: left + width, bottom: top + height };
  return { x: left, y: top, left, top, ...rest } as DOMRect;
};
window.Element.prototype.setPointerCapture = () => undefined;
window.Element.prototype.releasePointerCapture = () => undefined;
window.Element.prototype.hasPointerCapture = () => true;
window.Element.prototype.scrollTo = function (this: Element, left: number, top: number): void {
  [this.scrollLeft, this.scrollTop] = [left, top];
} as Element["scrollTo"];

/** Records what is painted since the canvas was last cleared; colours go by their names. */
export class Pen {
  fillStyle = "";
  strokeStyle = "";
  globalAlpha = 1;
  lineWidth = 1;
  font = "";
  textBaseline = "";
  textAlign = "";
  painted: string[] = [];
  #path: string[] = [];
  #row: { x: number; y: number; width: number; height: number } | null = null;
  #kept: [number, string][] = [];

  save(): void {
    this.#kept.push([this.globalAlpha, this.strokeStyle]);
  }
  restore(): void {
    [this.globalAlpha, this.strokeStyle] = this.#kept.pop() ?? [1, ""];
    this.#note("restore");
  }
  setTransform(...matrix: number[]): void {
    this.painted = [`scale ${matrix[0]} ${matrix[3]}`];
  }
  clearRect(...area: number[]): void {
    this.#note("clear", area);
  }
  fillRect(...area: number[]): void {
    this.#note(`box ${this.fillStyle}`, area);
  }
  strokeRect(...area: number[]): void {
    this.#note(`frame ${this.strokeStyle} ${this.lineWidth}`, area);
  }
  fillText(text: string, x: number, y: number): void {
    this.#note(`text ${this.fillStyle} ${JSON.stringify(text)}`, [x, y]);
  }
  measureText(text: string): { width: number } {
    return { width: 6 * text.length };
  }
  beginPath(): void {
    this.#row = null;
    this.#path = [];
  }
  moveTo(...at: number[]): void {
    this.#path.push(`M${shown(at)}`);
  }
  lineTo(...at: number[]): void {
    this.#path.push(`L${shown(at)}`);
  }
  /** Boxes beside one another of one height are written as one. */
  rect(x: number, y: number, width: number, height: number): void {
    const last = this.#row;
    if (last && last.y === y && last.height === height && last.x + last.width === x) {
      last.width += width;
      this.#path.pop();
    } else this.#row = { x, y, width, height };
    const { x: left, width: whole } = this.#row as { x: number; width: number };
    this.#path.push(`R${shown([left, y, whole, height])}`);
  }
  fill(): void {
    this.#note(`fill ${this.fillStyle} ${this.#path.join(" ")}`);
  }
  stroke(): void {
    this.#note(`line ${this.strokeStyle} ${this.lineWidth} ${this.#path.join(" ")}`);
  }
  clip(): void {
    this.#note(`clip ${this.#path.join(" ")}`);
  }
  setLineDash(dash: number[]): void {
    this.#note("dash", dash);
  }
  putImageData(image: ImageData, x: number, y: number): void {
    const sum = image.data.reduce((total, byte, k) => (total * 31 + byte + k) % 1_000_003, 7);
    this.#note(`pixels #${sum}`, [image.width, image.height, x, y]);
  }

  #note(what: string, numbers: number[] = []): void {
    const alpha = this.globalAlpha === 1 ? "" : ` at ${shown([this.globalAlpha])}`;
    this.painted.push(`${what}${numbers.length ? ` ${shown(numbers)}` : ""}${alpha}`);
  }
}

function shown(numbers: readonly number[]): string {
  return numbers.map((each) => String(Math.round(each * 100) / 100)).join(" ");
}

const pens = new WeakMap<HTMLCanvasElement, Pen>();

/** The pen of a canvas. */
export function penOf(canvas: HTMLCanvasElement): Pen {
  let pen = pens.get(canvas);
  if (!pen) pens.set(canvas, (pen = new Pen()));
  return pen;
}

window.HTMLCanvasElement.prototype.getContext = function (this: HTMLCanvasElement) {
  return penOf(this);
} as unknown as HTMLCanvasElement["getContext"];

/** Style sheets are not applied: a custom property has its own name as its value. */
const getComputedStyle = (element: Element): unknown => ({
  getPropertyValue: (name: string) => name.replace("--", ""),
  fontFamily: "font",
  backgroundColor: (element as HTMLElement).style?.backgroundColor ?? "",
  paddingRight: "12px",
});

let frames: (() => void)[] = [];

/** Paint what waits for the next frames. */
export function nextFrame(): void {
  for (let round = 0; round < 10 && frames.length; round++) {
    const due = frames;
    frames = [];
    for (const each of due) each();
  }
}

class Media extends window.EventTarget {
  matches = false;
}
const preference = new Media();

/** Let the system prefer dark colours or light ones. */
export function preferDark(dark: boolean): void {
  preference.matches = dark;
  preference.dispatchEvent(new window.Event("change"));
}

class Sizes {
  static all = new Set<Sizes>();
  changed: () => void;
  constructor(changed: () => void) {
    this.changed = changed;
  }
  observe(): void {
    Sizes.all.add(this);
  }
  disconnect(): void {
    Sizes.all.delete(this);
  }
}

/** Give the elements that match a selector another size, and tell whoever observes sizes. */
export function resize(selector: string, width: number, height: number): void {
  (SIZES as [string, number, number][]).push([selector, width, height]);
  for (const each of Sizes.all) each.changed();
}

Object.assign(page, {
  window,
  document: window.document,
  getComputedStyle,
  matchMedia: () => preference,
  requestAnimationFrame: (draw: () => void) => frames.push(draw),
  cancelAnimationFrame: (frame: number) => {
    if (frames[frame - 1]) frames[frame - 1] = () => undefined;
  },
  ResizeObserver: Sizes,
  ImageData: class {
    data: Uint8ClampedArray;
    width: number;
    height: number;
    constructor(data: Uint8ClampedArray, width: number, height: number) {
      [this.data, this.width, this.height] = [data, width, height];
    }
  },
});
for (const name of [
  ...["Node", "Element", "HTMLElement", "SVGElement", "ShadowRoot", "MutationObserver"],
  ...["CSSStyleSheet", "Event", "CustomEvent", "KeyboardEvent", "MouseEvent", "PointerEvent", "WheelEvent"],
])
  page[name] = (window as unknown as Record<string, unknown>)[name];
for (const name of ["addEventListener", "removeEventListener", "dispatchEvent"] as const)
  page[name] = window[name].bind(window);

/** Send a key to an element; returns whether it was left to the browser. */
export function press(target: Element, key: string, options: KeyboardEventInit = {}): boolean {
  const all = { key, bubbles: true, cancelable: true, composed: true, ...options };
  const left = target.dispatchEvent(new window.KeyboardEvent("keydown", all));
  nextFrame();
  return left;
}

/** Send a pointer event at a position of the page; return whether the page may act on it, too. */
export function point(
  target: Element,
  type: string,
  clientX = 0,
  clientY = 0,
  options: PointerEventInit = {},
): boolean {
  const Kind = type === "wheel" ? window.WheelEvent : window.PointerEvent ?? window.MouseEvent;
  const all = { clientX, clientY, bubbles: true, cancelable: true, composed: true, ...options };
  const isOpen = target.dispatchEvent(new Kind(type, all));
  nextFrame();
  return isOpen;
}
