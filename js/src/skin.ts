/** What a view wears: a shadow root with its style sheet, the host's theme, the colours in force. */

import { h } from "./dom.ts";
import style from "./style.css";
import { coloursOf, themeOf, watchTheme, type Colours } from "./theme.ts";

export class Skin {
  /** The shadow host. */
  readonly element = h("div", { class: "blsnb-view", "data-lm-suppress-shortcuts": "true" });
  colours!: Colours;
  #root: HTMLElement;
  #changed = (): void => undefined;

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
    this.#root.dataset.theme = themeOf(this.element.parentElement ?? this.element);
    this.colours = coloursOf(this.#root);
  }

  /**
   * Call back when the theme may be another; returns how to stop.
   *
   * Nobody tells a document that its output was removed: the page must not keep its view alive.
   */
  watch(changed: () => void): () => void {
    const waiting = new WeakRef(this);
    this.#changed = changed;
    const stop = watchTheme(() => {
      const alive = waiting.deref();
      if (alive) alive.#changed();
      else stop();
    });
    return stop;
  }
}
