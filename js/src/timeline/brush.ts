/** Painting of bars, marks and labels, with the opacity of their row. */

import type { Plane } from "./plane.ts";
import type { Colours } from "../page/theme.ts";

export const BAR_HEIGHT = 12;
export const QUEUE_HEIGHT = 5;
export const LABEL_GAP = 6;
/** Number of pixels by which bars are painted beyond the edges of the canvas. */
const BEYOND = 50;
const LABEL_INSIDE = 8;
/** Opacity of the plate below a label in a bar, and its margin in pixels. */
const [PLATE, PLATE_MARGIN] = [0.9, 3];
const [CRITICAL_BELOW, CRITICAL_HEIGHT] = [8.75, 1.5];

/** Texts in a line, each in its colour. */
export type Label = readonly (readonly [text: string, colour: string])[];

export class Brush {
  readonly pen: CanvasRenderingContext2D;
  readonly plane: Plane;
  readonly colours: Colours;
  #strength = 1;

  constructor(pen: CanvasRenderingContext2D, plane: Plane, colours: Colours) {
    this.pen = pen;
    this.plane = plane;
    this.colours = colours;
    pen.font = `10.5px ${colours.font}`;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
  }

  /** The opacity from now on. */
  set strength(strength: number) {
    this.#strength = strength;
    this.pen.globalAlpha = strength;
  }

  /** Paint with a share of the opacity. */
  weakly(share: number, paint: () => void): void {
    this.#at(this.#strength * share, paint);
  }

  #at(opacity: number, paint: () => void): void {
    this.pen.globalAlpha = opacity;
    paint();
    this.pen.globalAlpha = this.#strength;
  }

  /** Paint a bar between two times, clipped to the canvas. */
  span(
    from: number,
    to: number,
    middle: number,
    height: number,
    colour: string,
    least = 0.8,
  ): void {
    const start = Math.max(this.plane.x(from), -BEYOND);
    const end = Math.min(this.plane.x(to), this.plane.right + BEYOND);
    if (end > start) this.rect(start, middle, Math.max(least, end - start), height, colour);
  }

  rect(x: number, middle: number, width: number, height: number, colour: string): void {
    this.pen.fillStyle = colour;
    this.pen.fillRect(x, middle - height / 2, width, height);
  }

  triangle(...corners: readonly [x: number, y: number][]): void {
    this.pen.beginPath();
    for (const [x, y] of corners) this.pen.lineTo(x, y);
    this.pen.fill();
  }

  /** Paint the line of the critical path. */
  underline(from: number, to: number, middle: number): void {
    this.span(from, to, middle + CRITICAL_BELOW, CRITICAL_HEIGHT, this.colours.fg, 1);
  }

  /** Write a label behind the bar, else before it, else in it. */
  label(
    label: Label,
    from: number,
    to: number,
    middle: number,
    gap = LABEL_GAP,
  ): void {
    const [start, end] = [this.plane.x(from), this.plane.x(to)];
    const width = this.#width(label);
    const behind = end + gap + width < this.plane.right;
    const ahead = !behind && start - LABEL_GAP - width > this.plane.left;
    if (behind) this.#texts(label, end + gap, middle);
    else if (ahead) this.#texts(label, start - LABEL_GAP - width, middle);
    else this.#plate(label, Math.max(start, this.plane.left) + LABEL_INSIDE, middle, width);
  }

  /** Write as much of a label as fits behind a position. */
  labelAt(label: Label, x: number, middle: number): void {
    let room = this.plane.right - x;
    const fits = label.filter(([text]) => {
      const before = room;
      room -= this.pen.measureText(text).width + LABEL_GAP;
      return this.pen.measureText(text).width < before;
    });
    this.#texts(fits, x, middle);
  }

  /** Write in a bar, on a plate: the colours below change from phase to phase. */
  #plate(label: Label, x: number, middle: number, width: number): void {
    this.#at(PLATE, () => this.#ground(x, middle, width));
    this.#texts(label, x, middle);
  }

  #ground(x: number, middle: number, width: number): void {
    this.rect(x - PLATE_MARGIN, middle, width + 2 * PLATE_MARGIN, BAR_HEIGHT + 2, this.colours.bg);
  }

  /** Texts are legible in a row that is left aside, too. */
  #texts(label: Label, x: number, middle: number): void {
    this.#at(1, () => {
      for (const [text, colour] of label) {
        const { width } = this.pen.measureText(text);
        // Other colours have too little contrast on the ground of a selected row.
        if (colour !== this.colours.fg2) this.#ground(x, middle, width);
        this.pen.fillStyle = colour;
        this.pen.fillText(text, x, middle + 0.5);
        x += width + LABEL_GAP;
      }
    });
  }

  #width(label: Label): number {
    const widths = label.map(([text]) => this.pen.measureText(text).width);
    return widths.reduce((sum, each) => sum + each + LABEL_GAP, -LABEL_GAP);
  }
}
