/** What a view wears: a shadow root with its style sheet, the host's theme, the colours in force. */

import { h } from "./dom.ts";
import style from "./style.css";
import { coloursOf, themeOf, watchTheme, type Colours } from "./theme.ts";

/** Paper has room for so many pixels. */
const PAPER = "700px";

export class Skin {
  /** The shadow host. */
  readonly element = h("div", { class: "blsnb-view", "data-lm-suppress-shortcuts": "true" });
  colours!: Colours;
  #root: HTMLElement;
  #changed = (): void => undefined;
  #resized = (): void => undefined;
  #onPaper = false;

  constructor(root: HTMLElement) {
    this.#root = root;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    const shadow = this.element.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [sheet];
    shadow.append(root);
    // A notebook's own shortcuts would act on the cell: "d d" deletes it.
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
  }

  /** Take the host's theme; outside a page there is none. */
  apply(): void {
    const theme = themeOf(this.element.parentElement ?? this.element);
    this.#root.dataset.theme = this.#onPaper ? "light" : theme;
    this.colours = coloursOf(this.#root);
  }

  /**
   * Call back when the theme may be another, and when the width is; returns how to stop.
   *
   * Nobody tells a document that its output was removed: the page must not keep its view alive.
   */
  watch(changed: () => void, resized: () => void): () => void {
    const waiting = new WeakRef(this);
    this.#changed = changed;
    this.#resized = resized;
    const tell = (what: (skin: Skin) => void): void => {
      const alive = waiting.deref();
      if (alive) what(alive);
      else stop();
    };
    const stops = [
      watchTheme(() => tell((skin) => skin.#changed())),
      watchPrinting((printing) => tell((skin) => skin.#print(printing))),
    ];
    const stop = (): void => stops.forEach((each) => each());
    return stop;
  }

  /** A page that is printed has no time to tell of its new width. */
  #print(printing: boolean): void {
    this.#onPaper = printing;
    this.element.style.maxWidth = printing ? PAPER : "";
    this.#changed();
    this.#resized();
  }
}

/** Call back before the page is printed, and after; returns how to stop. */
function watchPrinting(changed: (printing: boolean) => void): () => void {
  const begin = (): void => changed(true);
  const end = (): void => changed(false);
  globalThis.addEventListener("beforeprint", begin);
  globalThis.addEventListener("afterprint", end);
  return () => {
    globalThis.removeEventListener("beforeprint", begin);
    globalThis.removeEventListener("afterprint", end);
  };
}
