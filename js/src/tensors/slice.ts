/** One slice of a tensor as heatmap or image, with a slider per leading axis. */

import { cells, columnsOf } from "./cells.ts";
import { h, setText } from "../page/dom.ts";
import { messageOf, value } from "../page/format.ts";
import { QueryError, type Answer, type Kernel } from "../kernel/kernel.ts";
import {
  imageLayout,
  leadingAxes,
  pixelsOf,
  proportion,
  scaleColours,
  scaleOf,
  valueOf,
} from "./picture.ts";
import type { SliceState } from "../session/viewstate.ts";
import type { GridPreview, ImagePreview, TensorEntry } from "../trace/header.ts";

type Picture = GridPreview | ImagePreview;
type Mode = SliceState["mode"];

/** Pause after which the kernel is busy: it answers at once, or when its cell has ended. */
export const BUSY_AFTER_MS = 300;
const MAX_HEIGHT = 230;
/** Heights of a picture with few rows. */
const [MIN_HEIGHT, ROW_HEIGHT] = [36, 28];

export interface SliceSource {
  entry: TensorEntry;
  /** The buffer of the entry's previews. */
  buffer: ArrayBuffer;
  /** Page id of the run. */
  run: string;
  /** Id of the call. */
  call: number;
  tensor: number;
  kernel: Kernel | null;
}

export class SliceView {
  readonly element = h("div", { class: "slice" });
  #source: SliceSource;
  #state: SliceState;
  #picture: Picture;
  #buffer: ArrayBuffer;
  #canvas = h("canvas", { class: "picture", role: "img" });
  #cells = h("div", { class: "cells", role: "group" });
  #size = h("span");
  #scale = h("i", { class: "scale", "aria-hidden": "true" });
  #range = h("span");
  #note = h("div", { class: "caption", role: "status" });
  #requested = 0;

  constructor(source: SliceSource, preview: Picture, state: SliceState | undefined) {
    this.#source = source;
    this.#buffer = source.buffer;
    this.#picture = preview;
    this.#state = state ?? { mode: preview.kind, index: [...preview.index] };
    this.#canvas.addEventListener("pointermove", (event) => this.#read(event));
    this.#canvas.addEventListener("pointerleave", () => this.#caption());
    this.#fill();
    if (state && (state.mode !== preview.kind || state.index.join() !== preview.index.join())) this.#show();
  }

  get state(): SliceState {
    return this.#state;
  }

  #fill(): void {
    const range = h("span", {}, this.#scale, this.#range);
    const caption = h("div", { class: "caption" }, this.#size, range);
    this.element.replaceChildren(
      ...this.#modes(),
      this.#canvas,
      this.#cells,
      caption,
      this.#note,
      ...this.#sliders(),
      ...this.#unreachable(),
    );
    this.#paint();
  }

  #modes(): HTMLElement[] {
    const { shape, datatype } = this.#source.entry;
    if (!imageLayout(shape, datatype) || !(this.#source.kernel || this.#embedded("image")))
      return [];
    const button = (mode: Mode, text: string): HTMLElement =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(this.#state.mode === mode),
          onclick: () => this.#setMode(mode),
        },
        text,
      );
    const group = { class: "segments", role: "group", "aria-label": "View" };
    return [h("div", group, button("image", "image"), button("grid", "heatmap"))];
  }

  #setMode(mode: Mode): void {
    const axes = leadingAxes(this.#source.entry.shape, mode);
    this.#state = { mode, index: axes.map((_, axis) => this.#state.index[axis] ?? 0) };
    this.#fill();
    this.#show();
    const pressed = this.element.querySelector<HTMLElement>("[aria-pressed=true]");
    pressed?.focus();
  }

  #sliders(): HTMLElement[] {
    const axes = leadingAxes(this.#source.entry.shape, this.#state.mode);
    return axes.flatMap((size, axis) => (size > 1 ? [this.#slider(size, axis)] : []));
  }

  /** Return why the sliders are disabled. */
  #unreachable(): HTMLElement[] {
    const axes = leadingAxes(this.#source.entry.shape, this.#state.mode);
    if (this.#source.kernel || !axes.some((size) => size > 1)) return [];
    const how = "Other slices are in the kernel that ran this: run.widget() can show them.";
    return [h("p", { class: "hint" }, how)];
  }

  #slider(size: number, axis: number): HTMLElement {
    const place = h("span", {}, `${this.#state.index[axis] ?? 0} / ${size - 1}`);
    const disabled = this.#source.kernel === null;
    const attributes = {
      type: "range",
      min: 0,
      max: size - 1,
      step: 1,
      value: this.#state.index[axis] ?? 0,
    };
    const oninput = (event: Event): void => {
      this.#state.index[axis] = Number((event.target as HTMLInputElement).value);
      setText(place, `${this.#state.index[axis]} / ${size - 1}`);
      this.#show();
    };
    const input = h("input", {
      ...attributes,
      disabled,
      oninput,
      "aria-label": `axis ${axis}`,
    });
    return h(
      "div",
      { class: "slider" },
      h("span", { class: "code" }, `axis ${axis}`),
      input,
      place,
    );
  }

  /** Return the embedded preview of a mode. */
  #embedded(mode: Mode): Picture | null {
    const { preview, grid, image } = this.#source.entry;
    const found = [preview, grid, image].find((each) => each?.kind === mode);
    return found && found.kind !== "text" ? found : null;
  }

  /** Show the chosen slice: the embedded one, else the answer of the kernel. */
  #show(): void {
    const embedded = this.#embedded(this.#state.mode);
    const { kernel } = this.#source;
    if (embedded && (!kernel || embedded.index.join() === this.#state.index.join())) {
      this.#requested++;
      this.#take(embedded, this.#source.buffer);
    } else if (kernel) this.#request(kernel);
  }

  async #request(kernel: Kernel): Promise<void> {
    const number = ++this.#requested;
    const busy = setTimeout(() => this.#showNote("the kernel is busy"), BUSY_AFTER_MS);
    const { run, call, tensor } = this.#source;
    try {
      const { mode, index } = this.#state;
      const answer = await kernel.slice({ run, call, tensor, mode, index: [...index] });
      if (number === this.#requested) this.#answered(answer);
    } catch (error) {
      const superseded = error instanceof QueryError && error.code === "superseded";
      if (number === this.#requested && !superseded) this.#showNote(messageOf(error));
    } finally {
      clearTimeout(busy);
    }
  }

  #answered({ preview, buffer }: Answer): void {
    if (preview && preview.kind !== "text") this.#take(preview, buffer);
  }

  #take(picture: Picture, buffer: ArrayBuffer): void {
    this.#picture = picture;
    this.#buffer = buffer;
    this.#showNote("");
    this.#paint();
  }

  #showNote(text: string): void {
    setText(this.#note, text);
  }

  #paint(): void {
    const { rows, columns } = this.#picture;
    const inLine = columnsOf(this.#picture);
    const shown = inLine ? this.#cells : this.#canvas;
    this.#cells.hidden = inLine === 0;
    this.#canvas.hidden = inLine > 0;
    shown.setAttribute("aria-label", `${this.#source.entry.name}, ${rows} × ${columns}`);
    if (inLine) this.#write(inLine);
    else this.#draw();
    this.#caption();
  }

  #write(inLine: number): void {
    if (this.#picture.kind !== "grid") return;
    this.#cells.style.gridTemplateColumns = `repeat(${inLine}, minmax(0, 1fr))`;
    this.#cells.replaceChildren(...cells(this.#picture, this.#bytes()));
  }

  #draw(): void {
    const { rows, columns } = this.#picture;
    const pen = this.#canvas.getContext("2d");
    if (!pen || rows === 0 || columns === 0) return;
    this.#canvas.width = columns;
    this.#canvas.height = rows;
    const ratio = proportion(this.#picture.of);
    const height = Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, ROW_HEIGHT * rows));
    this.#canvas.style.aspectRatio = String(ratio);
    this.#canvas.style.width = `min(100%, ${Math.round(ratio * height)}px)`;
    pen.putImageData(new ImageData(pixelsOf(this.#picture, this.#bytes()), columns, rows), 0, 0);
  }

  #bytes(): Uint8Array {
    const [offset, size] = this.#picture.data;
    return new Uint8Array(this.#buffer, offset, size);
  }

  #caption(): void {
    const { rows, columns, of } = this.#picture;
    const whole = of[0] === rows && of[1] === columns;
    const reduced =
      this.#picture.kind === "grid" && this.#picture.reduced ? ` by ${this.#picture.reduced}` : "";
    const size = whole
      ? `${rows} × ${columns}`
      : `${rows} × ${columns} of ${of[0]} × ${of[1]}${reduced}`;
    setText(this.#size, `${this.#place()}${size}`);
    const scale = this.#picture.kind === "grid" ? this.#picture : null;
    const isFinite = scale !== null && scale.low !== null;
    this.#scale.hidden = !isFinite;
    if (isFinite) this.#scale.style.background = `linear-gradient(90deg, ${scaleColours(scale)})`;
    const range = isFinite ? scaleOf(scale).map(value).join(" … ") : "no finite value";
    setText(this.#range, scale ? range : "");
  }

  /** Return the index of the picture, if there are other slices; a slider may be ahead of it. */
  #place(): string {
    const { kind, index } = this.#picture;
    const axes = leadingAxes(this.#source.entry.shape, kind);
    return axes.some((size) => size > 1) ? `[${index.join(", ")}, …]  ` : "";
  }

  /** Show the value under the pointer. */
  #read(event: PointerEvent): void {
    if (this.#picture.kind !== "grid") return;
    const { rows, columns, of } = this.#picture;
    const box = this.#canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    if (row < 0 || column < 0 || row >= rows || column >= columns) return this.#caption();
    const level = this.#bytes()[row * columns + column];
    const at = [Math.floor((row * of[0]) / rows), Math.floor((column * of[1]) / columns)];
    setText(this.#range, `[${at.join(", ")}] ≈ ${value(valueOf(this.#picture, level))}`);
  }
}
