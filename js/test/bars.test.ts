import assert from "node:assert/strict";
import { test } from "node:test";

import { Bars, ROW_HEIGHT } from "../src/timeline/bars.ts";
import { Brush, type Label } from "../src/timeline/brush.ts";
import { Plane } from "../src/timeline/plane.ts";
import { TimeRange } from "../src/timeline/range.ts";
import { Rows, type Row } from "../src/session/rows.ts";
import type { Colours } from "../src/page/theme.ts";
import type { Trace } from "../src/trace/trace.ts";
import { Flag } from "../src/trace/wire.ts";
import { call, traceOf } from "./fixture.ts";

const MIDDLE = ROW_HEIGHT / 2;
/** Every colour is called by its name. */
const COLOURS = new Proxy({}, { get: (_, name) => name }) as Colours;
const NOTHING = { dim: false, critical: false, mate: false };

interface Rect {
  colour: string;
  x: number;
  middle: number;
  width: number;
  height: number;
  alpha: number;
}

/** Writes down what it paints; texts are as wide as they have characters. */
class Pen {
  fillStyle = "";
  strokeStyle = "";
  globalAlpha = 1;
  lineWidth = 1;
  font = "";
  textBaseline = "";
  textAlign = "";
  rects: Rect[] = [];
  triangles: [colour: string, x: number][] = [];
  frames: [x: number, width: number][] = [];
  texts: [text: string, x: number, colour: string, alpha: number][] = [];
  #corner: number | undefined;

  fillRect(x: number, y: number, width: number, height: number): void {
    const [colour, alpha] = [this.fillStyle, this.globalAlpha];
    this.rects.push({ colour, x, middle: y + height / 2, width, height, alpha });
  }
  strokeRect(x: number, _y: number, width: number): void {
    this.frames.push([x, width]);
  }
  fillText(text: string, x: number): void {
    this.texts.push([text, x, this.fillStyle, this.globalAlpha]);
  }
  measureText(text: string): { width: number } {
    return { width: text.length };
  }
  beginPath(): void {
    this.#corner = undefined;
  }
  lineTo(x: number): void {
    this.#corner ??= x;
  }
  fill(): void {
    this.triangles.push([this.fillStyle, this.#corner ?? NaN]);
  }
  of(colour: string): Rect[] {
    return this.rects.filter((rect) => rect.colour === colour);
  }
}

/** Paint a row of a trace, a microsecond a pixel, from the pixel 100 on. */
function paint(trace: Trace, find: (row: Row) => boolean, look = {}): Pen {
  const range = new TimeRange();
  range.grow(1000);
  range.show(0, 1000);
  const rows = new Rows(trace);
  for (let k = 0; k < rows.list.length; k++) rows.toggle(rows.list[k], true);
  const row = rows.list.find(find);
  assert.ok(row);
  const [pen, plane] = [new Pen(), new Plane(range, 100, 1000, 1200)];
  const canvas = pen as unknown as CanvasRenderingContext2D;
  new Bars(trace, canvas, plane, COLOURS).paint(row, 0, { ...NOTHING, ...look });
  return pen;
}

const PHASES = {
  pre_us: 10,
  queue_us: 100,
  compute_input_us: 50,
  compute_infer_us: 400,
  compute_output_us: 40,
  post_us: 20,
};

function ofCall(number: number) {
  return (row: Row): boolean => row.kind === "call" && row.calls[0] === number;
}

test("phases stand in their order: a thin queue, full computation, whiskers at both ends", () => {
  const { rects } = paint(traceOf([call(-1, 0, 0, PHASES)]), ofCall(0));

  assert.deepEqual(
    rects.map(({ colour, x, width, height, middle }) => [colour, x, width, height, middle]),
    [
      ["fg3", 100, 10, 1, MIDDLE],
      ["queue", 110, 100, 5, MIDDLE],
      ["input", 210, 50, 12, MIDDLE],
      ["infer", 260, 400, 12, MIDDLE],
      ["output", 660, 40, 12, MIDDLE],
      ["fg3", 700, 20, 1, MIDDLE],
    ],
  );
});

test("time in child calls is a tint of 28 per cent, own time is solid", () => {
  const trace = traceOf([
    call(-1, 0, 0, { compute_infer_us: 500 }),
    call(0, 1, 100, { compute_infer_us: 150 }),
    call(0, 2, 200, { compute_infer_us: 200 }),
  ]);
  const infer = paint(trace, ofCall(0)).of("infer");

  assert.deepEqual(
    infer.map(({ x, width, alpha }) => [x - 100, width, alpha]),
    [
      [0, 500, 0.28],
      [0, 100, 1],
      [400, 100, 1],
    ],
  );
});

test("responses are notches at their times, the first one through the whole bar", () => {
  const stream = call(-1, 0, 0, {
    compute_infer_us: 500,
    flags: Flag.DECOUPLED,
    responses: 3,
  });
  const trace = traceOf([stream]);
  Object.defineProperty(trace, "responses", { value: () => [50, 200, 450] });
  const notches = paint(trace, ofCall(0)).of("bg");

  assert.deepEqual(
    notches.map(({ x, height }) => [x - 100, height]),
    [
      [50, 12],
      [200, 4],
      [450, 4],
    ],
  );
});

test("a failure is a bar and a triangle, never a colour alone", () => {
  const failed = call(-1, 0, 0, { compute_infer_us: 300, flags: Flag.ERROR });
  const pen = paint(traceOf([failed]), ofCall(0));

  assert.deepEqual(
    pen.of("error").map(({ x, height }) => [x, height]),
    [[399, 16]],
  );
  assert.equal(pen.triangles.length, 1);
  assert.deepEqual(pen.texts, [["300 µs", 400 + 19, "fg2", 1]]);
});

test("the critical path is a thin line below the bar, a batch is a frame without the queue", () => {
  const trace = traceOf([call(-1, 0, 0, PHASES)]);
  const critical = paint(trace, ofCall(0), { critical: true }).of("fg");
  const { frames } = paint(trace, ofCall(0), { mate: true });

  assert.deepEqual(
    critical.map(({ x, width, height, middle }) => [x, width, height, middle > MIDDLE + 6]),
    [[100, 620, 1.5, true]],
  );
  assert.deepEqual(frames, [[209.5, 491]]);
});

test("a fold is a strip: height and strength are concurrency, a red tick each failure", () => {
  const trace = traceOf([
    call(-1, 0, 0, { compute_infer_us: 900 }),
    call(0, 1, 0, { compute_infer_us: 200 }),
    call(0, 1, 100, { compute_infer_us: 200 }),
    call(0, 1, 400, { compute_infer_us: 50 }),
    call(0, 1, 600, { compute_infer_us: 50, flags: Flag.ERROR }),
  ]);
  const pen = paint(trace, ({ kind }) => kind === "fold");
  const strip = pen.of("infer");

  assert.deepEqual(
    strip.map(({ x, height, alpha }) => [x - 100, height, Math.round(100 * alpha)]),
    [0, 100, 200, 400, 600].map((x) => (x === 100 ? [x, 12, 100] : [x, strip[0].height, 65])),
  );
  assert.ok(strip[0].height > 5 && strip[0].height < 12);
  assert.deepEqual(pen.triangles, [["error", 750]]);
  assert.deepEqual(
    pen.texts.map(([text]) => text),
    ["500 µs total"],
  );
});

test("a row that is left aside is paler as a whole, its tint too", () => {
  const trace = traceOf([
    call(-1, 0, 0, { compute_infer_us: 500 }),
    call(0, 1, 100, { compute_infer_us: 150 }),
  ]);
  const { rects, texts } = paint(trace, ofCall(0), { dim: true });
  const alphas = rects.map(({ alpha }) => alpha);

  assert.ok(alphas.every((alpha) => Math.abs(alpha - 0.4) < 1e-9 || Math.abs(alpha - 0.112) < 1e-9));
  assert.deepEqual(texts.map(([text, , colour, alpha]) => [text, colour, alpha]), [["500 µs", "fg2", 1]]);
});

test("the duration in a bar that is left aside is read on its plate", () => {
  const trace = traceOf([call(-1, 0, 0, { compute_infer_us: 1100 })]);
  const { rects, texts } = paint(trace, ofCall(0), { dim: true });

  assert.deepEqual([rects[rects.length - 1].colour, rects[rects.length - 1].alpha], ["bg", 0.9]);
  assert.equal(texts[0][3], 1);
});

test("a duration stands behind its bar, before it where there is no room, else in it", () => {
  const at = (start: number, took: number): string => {
    const { texts } = paint(traceOf([call(-1, 0, start, { compute_infer_us: took })]), ofCall(0));
    const [[, x, colour]] = texts;
    return x > 100 + start + took ? "behind" : x < 100 + start ? "before" : `within, ${colour}`;
  };

  assert.deepEqual([at(0, 500), at(600, 500), at(0, 1100)], ["behind", "before", "within, fg2"]);
});

test("a difference is read on the plain ground, whatever the row's", () => {
  const range = new TimeRange();
  range.grow(1000);
  const pen = new Pen();
  const brush = new Brush(pen as unknown as CanvasRenderingContext2D, new Plane(range, 100, 1000, 1200), COLOURS);
  brush.labelAt([["7.26 ms", "fg2"], ["▼ −4.12 ms", "output"]], 200, MIDDLE);

  const [, [text, x]] = pen.texts;
  assert.deepEqual(pen.rects.map(({ colour, alpha }) => [colour, alpha]), [["bg", 1]]);
  assert.ok(pen.rects[0].x < x && pen.rects[0].x + pen.rects[0].width > x + text.length);
});

test("the parts of a label follow one another, clear of the bar, on the plate and in the canvas", () => {
  const range = new TimeRange();
  range.grow(1000);
  range.show(0, 1000);
  const plane = new Plane(range, 100, 1000, 1200);
  const label: Label = [["9".repeat(40), "fg2"], ["new", "infer"], ["8".repeat(20), "fg3"]];
  const written = (paint: (brush: Brush) => void): { pen: Pen; parts: [start: number, end: number][] } => {
    const pen = new Pen();
    paint(new Brush(pen as unknown as CanvasRenderingContext2D, plane, COLOURS));
    return { pen, parts: pen.texts.map(([text, x]) => [x, x + text.length]) };
  };
  const bars = [[0, 500], [0, 1010], [0, 1024], [0, 1030], [70, 1060], [80, 1060], [600, 1080], [-50, 1200]];
  for (const [from, to] of bars) {
    const { pen, parts } = written((brush) => brush.label(label, from, to, MIDDLE));
    const [left, right] = [parts[0][0], parts[2][1]];
    for (const k of [1, 2]) assert.ok(parts[k][0] > parts[k - 1][1], `${from} to ${to}: part ${k}`);
    assert.ok(left >= plane.left && right <= plane.right, `${from} to ${to}: ${left} to ${right}`);
    const plate = pen.rects.find(({ alpha }) => alpha < 1);
    if (plate) assert.ok(plate.x < left && plate.x + plate.width > right, `${from} to ${to}: on the plate`);
    else assert.ok(left > plane.x(to) || right < plane.x(from), `${from} to ${to}: clear of the bar`);
  }
  for (const [room, count] of [[90, 3], [70, 2], [45, 1], [39, 0]]) {
    const { parts } = written((brush) => brush.labelAt(label, plane.right - room, MIDDLE));
    assert.deepEqual([parts.length, parts.every(([, end]) => end < plane.right)], [count, true]);
  }
});
