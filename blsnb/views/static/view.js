// src/page/format.ts
var TIME_UNITS = [
  ["µs", 1],
  ["ms", 1e3],
  ["s", 1e6]
];
var BYTE_UNITS = [
  ["B", 1],
  ["KiB", 1024],
  ["MiB", 1 << 20],
  ["GiB", 1 << 30]
];
function time(us) {
  if (!Number.isFinite(us)) return "–";
  const size = Math.abs(us);
  if (size > 0 && size < 0.9995) return `${Math.round(us * 1e3)} ns`;
  const [unit, scale] = TIME_UNITS.find(([, each]) => size < 999.5 * each) ?? TIME_UNITS[2];
  return `${threeDigits(us / scale)} ${unit}`;
}
function bytes(size) {
  const [unit, scale] = BYTE_UNITS.findLast(([, each]) => size >= each) ?? BYTE_UNITS[0];
  return scale === 1 ? `${size} B` : `${(size / scale).toFixed(1)} ${unit}`;
}
function value(number) {
  if (number === null || !Number.isFinite(number)) return "–";
  const size = Math.abs(number);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return number.toExponential(2);
  return Number.isInteger(number) ? String(number) : number.toPrecision(4);
}
var separated = new Intl.NumberFormat("en");
function count(number) {
  return separated.format(number);
}
function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}
function percent(part, whole) {
  return whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "–";
}
function shape(sizes) {
  return `[${sizes.join(" × ")}]`;
}
function clip(text, length) {
  const shown = visible(text);
  return shown.length <= length ? shown : `${shown.slice(0, length - 5)}…${shown.slice(-4)}`;
}
var UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
function visible(text) {
  return text.replace(UNSEEN, mark);
}
function messageOf(reason2) {
  return reason2 instanceof Error ? reason2.message : String(reason2);
}
function mark(character) {
  const code = character.codePointAt(0) ?? 0;
  if (code < 32) return String.fromCharCode(9216 + code);
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
function threeDigits(number) {
  const size = Math.abs(number);
  if (Number.isInteger(number)) return String(number);
  return number.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

// src/page/dom.ts
var SVG = "http://www.w3.org/2000/svg";
var ALLOWED = /^(aria-[a-z]+|class|d|data-[a-z-]+|disabled|fill|for|height|id|max|min|marker-end|markerHeight|markerWidth|orient|placeholder|preserveAspectRatio|refX|refY|role|rx|scope|step|tabindex|text-anchor|title|transform|type|value|viewBox|width|x|y)$/;
function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}
function svg(tag, attributes = {}, ...children) {
  return filled(
    document.createElementNS(SVG, tag),
    attributes,
    children
  );
}
function setText(element, text) {
  const shown = visible(text);
  if (element.textContent !== shown) element.textContent = shown;
}
function context(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [pixelWidth, pixelHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixelWidth) canvas.width = pixelWidth;
  if (canvas.height !== pixelHeight) canvas.height = pixelHeight;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen2 = canvas.getContext("2d");
  if (!pen2) throw new Error("this browser has no canvas");
  pen2.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen2.clearRect(0, 0, width, height);
  return pen2;
}
function filled(element, attributes, children) {
  for (const [name, value2] of Object.entries(attributes)) set(element, name, value2);
  append(element, children);
  return element;
}
function set(element, name, value2) {
  if (value2 === null || value2 === void 0 || value2 === false) return;
  if (typeof value2 === "function") element.addEventListener(name.slice(2), value2);
  else if (typeof value2 === "object") {
    for (const [property, each] of Object.entries(value2))
      element.style.setProperty(property, String(each));
  } else if (ALLOWED.test(name))
    element.setAttribute(name, visible(value2 === true ? "" : String(value2)));
  else throw new Error(`attribute ${name} is not one that the view sets`);
}
function append(parent, children) {
  for (const child of children) {
    if (typeof child === "string") parent.append(visible(child));
    else if (child instanceof Node) parent.append(child);
    else if (child) append(parent, child);
  }
}

// src/frame/announcer.ts
var Announcer = class {
  element = h("div", { class: "hidden", "aria-live": "polite" });
  selected(selection, trace) {
    this.say(words(selection, trace));
  }
  say(text) {
    setText(this.element, text);
  }
};
function words(selection, trace) {
  if (!selection) return "nothing selected";
  if (selection.kind === "call")
    return `${trace.name(selection.call)}, ${time(trace.duration[selection.call])}`;
  if (selection.kind === "dropped") return `call ${selection.id}, no longer kept`;
  if (selection.kind === "missing")
    return `${trace.comparison?.baseline.name(selection.missing[0]) ?? ""}, missing`;
  if (selection.kind === "models") return counted(selection.models.length, "model");
  return trace.names[selection.model];
}

// src/page/delta.ts
var NOISE_SHARE = 0.05;
var NOISE_US = 20;
function signOf(now, before2) {
  const change = now - before2;
  if (!(Math.abs(change) > Math.max(NOISE_SHARE * before2, NOISE_US))) return "≈";
  return change > 0 ? "▲" : "▼";
}
function deltaText(now, before2) {
  const sign = signOf(now, before2);
  if (sign === "≈") return sign;
  return `${sign} ${sign === "▲" ? "+" : "−"}${time(Math.abs(now - before2))}`;
}
function shortDelta(now, before2) {
  const sign = signOf(now, before2);
  return sign === "≈" ? sign : `${sign} ${time(Math.abs(now - before2))}`;
}
function toneOf(sign) {
  return { "▲": "error", "▼": "output", new: "infer", "≈": "fg2" }[sign];
}

// src/graph/boxes.ts
var BOX_HEIGHT = 42;
var MIN_WIDTH = 96;
var PADDING = 8;
var NAME_LENGTH = 22;
var NAME_SIZE = 12;
var ERROR_SHARE = 0.05;
function boxWidth(nodes, font) {
  const widths = nodes.map((node) => {
    const [left, right] = [leftText(node), rightText(node)];
    const second = measure(left, `10.5px ${font}`) + measure(right, `600 10.5px ${font}`) + 10;
    return Math.max(nameWidth(node, font), second);
  });
  return Math.ceil(Math.max(MIN_WIDTH, ...widths) + 2 * PADDING);
}
function grownSize(node, width, font) {
  return NAME_SIZE * (width - 2 * PADDING) / Math.max(1, nameWidth(node, font));
}
function nameWidth({ name }, font) {
  return measure(clip(name, NAME_LENGTH), `600 ${NAME_SIZE}px ${font}`);
}
var pen = null;
function measure(text, font) {
  pen ??= document.createElement("canvas").getContext("2d");
  if (!pen) return 7 * text.length;
  pen.font = font;
  return pen.measureText(text).width;
}
function largestOwn(nodes) {
  return Math.max(1e-9, ...nodes.map((node) => total(ownPhases(node.phases))));
}
function newBox(node) {
  const frame = svg("rect", { class: "frame", rx: 6 });
  const [name, left] = [svg("text", { class: "name" }), svg("text", { class: "second" })];
  const right = svg("text", { class: "second", "text-anchor": "end" });
  const [track, bars] = [svg("rect", { class: "track", height: 3 }), svg("g")];
  const element = svg(
    "g",
    { role: "button", tabindex: -1 },
    frame,
    name,
    " ",
    left,
    " ",
    right,
    track,
    bars
  );
  return { node, element, frame, name, left, right, track, bars };
}
function leftText({ count: calls, own, models }) {
  if (models.length > 1) return `${counted(calls, "call")} ${time(own)}`;
  return calls > 1 ? `×${count(calls)} ${time(own)}` : time(own);
}
function rightText({ before: before2, errors: errors2, device, own }) {
  if (before2 !== void 0)
    return `${errors2 ? "⚠ " : ""}${before2 === null ? "new" : shortDelta(own, before2)}`;
  return errors2 ? `⚠ ${count(errors2)}` : device;
}
function rightClass({ before: before2, errors: errors2, own }) {
  if (before2 === void 0) return errors2 ? "failed" : "";
  return `tone-${toneOf(before2 === null ? "new" : signOf(own, before2))}`;
}
function ownPhases({ pre, queue, input, infer, between: between2, output, post }) {
  return [
    ["queue", pre + queue],
    ["input", input],
    ["infer", infer],
    ["between", between2],
    ["output", output + post]
  ];
}
function total(phases) {
  return phases.reduce((sum, [, us]) => sum + us, 0);
}
function updateBox(box, node, at2, width, largest) {
  const [x, y] = [at2.x - width / 2, at2.y - BOX_HEIGHT / 2];
  box.node = node;
  place(box.frame, { x, y, width, height: BOX_HEIGHT });
  place(box.name, { x: x + PADDING, y: y + 15 });
  place(box.left, { x: x + PADDING, y: y + 29 });
  place(box.right, { x: x + width - PADDING, y: y + 29 });
  place(box.track, { x: x + PADDING, y: y + BOX_HEIGHT - 7, width: width - 2 * PADDING });
  const name = clip(node.name, NAME_LENGTH);
  setText(box.name, name);
  setText(box.left, leftText(node));
  setText(box.right, rightText(node));
  box.element.setAttribute("class", boxClass(node, box.element.classList.contains("selected")));
  box.right.setAttribute("class", `second ${rightClass(node)}`);
  box.element.setAttribute("aria-description", describe(node));
  drawShare(box, node, x + PADDING, y + BOX_HEIGHT - 7, (width - 2 * PADDING) / largest);
}
function boxClass({ errors: errors2, count: calls, kind }, selected) {
  const failing = errors2 / calls > ERROR_SHARE;
  return ["box", failing && "failing", kind === "span" && "span", selected && "selected"].filter(Boolean).join(" ");
}
function describe({ name, count: calls, own, errors: errors2, before: before2 }) {
  const failed = errors2 ? `, ${counted(errors2, "error")}` : "";
  const then = typeof before2 === "number" ? `, before ${time(before2)}` : "";
  return `${name}: ${counted(calls, "call")}, own time ${time(own)}${then}${failed}`;
}
function drawShare(box, node, x, y, scale) {
  let from = x;
  const parts = ownPhases(node.phases).map(([phase, us]) => {
    const bar = svg("rect", { class: `fill-${phase}`, x: from, y, width: us * scale, height: 3 });
    from += us * scale;
    return bar;
  });
  box.bars.replaceChildren(...parts);
}
function place(element, attributes) {
  for (const [name, value2] of Object.entries(attributes)) element.setAttribute(name, String(value2));
}

// src/graph/labels.ts
var LABEL_HEIGHT = 13;
var CHARACTER = 6.4;
var MARGIN = 4;
var [BEFORE_BOX_DOWN, BEFORE_BOX_RIGHT] = [16, 26];
var LEAVE = 0.45;
var ARRIVE = 0.85;
var ALONG = [0.5, 0.65, 0.35, 0.8, 0.2];
function labelWidth(text) {
  return text.length * CHARACTER + MARGIN;
}
function labelArea({ x, y }, text) {
  return { x, y, width: labelWidth(text), height: LABEL_HEIGHT };
}
function labelPlaces(texts2, { routes, boxes, direction }, box, others2 = []) {
  const taken = [...others2, ...[...boxes.values()].map((centre) => ({ ...centre, ...box }))];
  return routes.map((route, k) => {
    if (!texts2[k] || route.points.length === 0) return { x: 0, y: 0 };
    const candidates = [beforeBox(route, direction), ...along(route, direction)];
    const areas = candidates.map((at2) => labelArea(at2, texts2[k]));
    const found3 = areas.find((area) => !taken.some((other) => overlap(area, other))) ?? areas[0];
    taken.push(found3);
    return { x: found3.x, y: found3.y };
  });
}
function beforeBox({ points, back }, direction) {
  const { x, y } = points[points.length - 1];
  const sign = back ? -1 : 1;
  return direction === "down" ? { x, y: y - BEFORE_BOX_DOWN * sign } : { x: x - BEFORE_BOX_RIGHT * sign, y };
}
function along({ points }, direction) {
  const segments = points.slice(1).map((to, k) => [points[k], to]);
  return segments.reverse().flatMap(([from, to]) => ALONG.map((share) => onCurve(from, to, share, direction)));
}
function onCurve(from, to, t, direction) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const [leave, arrive] = direction === "down" ? [LEAVE, 1 - ARRIVE] : [0.5, 0.5];
  const [first, second, last] = [3 * t * (1 - t) ** 2, 3 * t ** 2 * (1 - t), t ** 3];
  const main = first * leave + second * arrive + last;
  const side = second + last;
  return direction === "down" ? { x: from.x + side * dx, y: from.y + main * dy } : { x: from.x + main * dx, y: from.y + side * dy };
}
function overlap(a, b) {
  return 2 * Math.abs(a.x - b.x) < a.width + b.width && 2 * Math.abs(a.y - b.y) < a.height + b.height;
}

// src/graph/loops.ts
var LOOP_ROOM = 27;
var [FROM_RIGHT, REACH, RISE] = [24, 14, 16];
var LABEL_ABOVE = 20;
function hasLoops(edges) {
  return edges.some(({ from, to }) => from === to);
}
function loop({ x, y, width, height }) {
  const [top2, middle2] = [y - height / 2, x + width / 2 - FROM_RIGHT];
  const [left, right] = [middle2 - REACH, middle2 + REACH];
  return `M${left} ${top2} C${left} ${top2 - RISE} ${right} ${top2 - RISE} ${right} ${top2 - 2}`;
}
function loopLabel({ x, y, width, height }) {
  return { x: x + width / 2 - FROM_RIGHT, y: y - height / 2 - LABEL_ABOVE };
}
function withRoom(layout, edges, boxHeight) {
  const tops = edges.filter(({ from, to }) => from === to).map(({ from }) => (layout.boxes.get(from)?.y ?? Infinity) - boxHeight / 2);
  const down = LOOP_ROOM - Math.min(LOOP_ROOM, ...tops);
  if (down === 0) return layout;
  const lower = ({ x, y }) => ({ x, y: y + down });
  return {
    ...layout,
    height: layout.height + down,
    boxes: new Map([...layout.boxes].map(([id, at2]) => [id, lower(at2)])),
    routes: layout.routes.map((route) => ({ ...route, points: route.points.map(lower) }))
  };
}

// src/graph/edges.ts
function edgeElement(edge, route, direction, caller, place4) {
  const recursive = route.points.length === 0;
  const d = recursive ? loop(caller) : curve(route, direction);
  const at2 = recursive ? loopLabel(caller) : place4;
  const kind = kindOf(edge);
  const failing = edge.errors / edge.count > ERROR_SHARE ? "failing" : "";
  const label2 = edgeLabel(edge);
  const [width, height] = [labelWidth(label2), LABEL_HEIGHT];
  const back = { class: "label", x: at2.x - width / 2, y: at2.y - height / 2, width, height, rx: 3 };
  return svg(
    "g",
    { class: `edge ${kind} ${failing}` },
    svg("path", { d }),
    label2 && svg("rect", back),
    label2 && svg("text", { x: at2.x, y: at2.y + 3.5, "text-anchor": "middle" }, label2)
  );
}
function kindOf({ streams, async }) {
  if (streams) return "stream";
  return async ? "async" : "call";
}
function edgeLabel({ count: calls, streams, responses: responses2 }) {
  const times = calls > 1 ? `×${count(calls)}` : "";
  return streams ? `${times} ${count(responses2)} resp`.trim() : times;
}
function curve({ points, back }, direction) {
  const down = direction === "down";
  const sign = back ? -1 : 1;
  let [from] = points;
  let path = `M${from.x} ${from.y}`;
  points.slice(1).forEach((point, k) => {
    const last = k === points.length - 2;
    const to = !last ? point : down ? { x: point.x, y: point.y - 2 * sign } : { x: point.x - 2 * sign, y: point.y };
    path += segment(from, to, down);
    from = to;
  });
  return path;
}
function segment(from, to, down) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  if (down ? dx === 0 : dy === 0) return ` L${to.x} ${to.y}`;
  if (down)
    return ` C${from.x} ${from.y + LEAVE * dy} ${to.x} ${to.y - ARRIVE * dy} ${to.x} ${to.y}`;
  return ` C${from.x + 0.5 * dx} ${from.y} ${to.x - 0.5 * dx} ${to.y} ${to.x} ${to.y}`;
}

// src/graph/ordering.ts
var SWEEPS = 14;
function renumber(layer) {
  layer.forEach((vertex, slot) => vertex.slot = slot);
}
function order(layers) {
  let best = crossings(layers);
  let saved = layers.map((layer) => [...layer]);
  const keepIfBetter = () => {
    const now = crossings(layers);
    if (now >= best) return;
    best = now;
    saved = layers.map((layer) => [...layer]);
  };
  for (const downFirst of [true, false]) {
    for (const layer of layers) renumber(layer.sort((a, b) => a.order - b.order));
    for (let sweep = 0; sweep < SWEEPS && best > 0; sweep++) {
      sortByNeighbours(layers, sweep % 2 === 0 === downFirst);
      keepIfBetter();
      swapNeighbours(layers);
      keepIfBetter();
    }
  }
  saved.forEach((layer, rank) => {
    layers[rank] = layer;
    renumber(layer);
  });
  return best;
}
function sortByNeighbours(layers, down) {
  for (const layer of down ? layers : layers.toReversed()) {
    const centre = new Map(
      layer.map((vertex) => [vertex, meanSlot(down ? vertex.up : vertex.down, vertex.slot)])
    );
    layer.sort((a, b) => centre.get(a) - centre.get(b) || a.order - b.order);
    renumber(layer);
  }
}
function meanSlot(neighbours, otherwise) {
  if (neighbours.length === 0) return otherwise;
  return neighbours.reduce((sum, vertex) => sum + vertex.slot, 0) / neighbours.length;
}
function swapNeighbours(layers) {
  for (const layer of layers) {
    for (let k = 0; k + 1 < layer.length; k++) {
      const [left, right] = [layer[k], layer[k + 1]];
      if (crossingsOf(right, left) >= crossingsOf(left, right)) continue;
      layer[k] = right;
      layer[k + 1] = left;
      renumber(layer);
    }
  }
}
function crossingsOf(left, right) {
  let sum = 0;
  for (const side of ["up", "down"]) {
    for (const a of left[side]) for (const b of right[side]) if (a.slot > b.slot) sum++;
  }
  return sum;
}
function crossings(layers) {
  let sum = 0;
  for (let rank = 0; rank + 1 < layers.length; rank++) {
    const tree = new Int32Array(layers[rank + 1].length + 2);
    const ends = layers[rank].flatMap(
      (vertex) => vertex.down.map((end) => end.slot).sort((a, b) => a - b)
    );
    for (const end of ends.reverse()) {
      for (let k = end; k > 0; k -= k & -k) sum += tree[k];
      for (let k = end + 1; k < tree.length; k += k & -k) tree[k]++;
    }
  }
  return sum;
}

// src/graph/spread.ts
var TIGHT_GAP = 10;
function spread(layers, gap2) {
  for (const layer of layers) {
    const offsets = offsetsOf(layer, gap2);
    layer.forEach((vertex, k) => vertex.across = offsets[k] - offsets[layer.length - 1] / 2);
  }
  for (let pass = 0; pass < 24; pass++) {
    const down = pass % 2 === 0;
    for (const layer of down ? layers : layers.toReversed()) {
      const wanted = layer.map((vertex) => {
        const neighbours = pass >= 20 ? [...vertex.up, ...vertex.down] : down ? vertex.up : vertex.down;
        return { at: meanAcross(neighbours, vertex.across), weight: weight(vertex, neighbours) };
      });
      isotonic(layer, wanted, offsetsOf(layer, gap2));
    }
  }
}
function meanAcross(neighbours, otherwise) {
  if (neighbours.length === 0) return otherwise;
  return neighbours.reduce((sum, vertex) => sum + vertex.across, 0) / neighbours.length;
}
function weight(vertex, neighbours) {
  return (neighbours.length > 0 ? 1 : 0.01) * (vertex.node < 0 ? 4 : 1);
}
function offsetsOf(layer, gap2) {
  let offset = 0;
  return layer.map((vertex, k) => {
    if (k === 0) return 0;
    const before2 = layer[k - 1];
    const near = before2.tight || vertex.tight ? TIGHT_GAP : gap2;
    offset += reach(before2, vertex) + reach(vertex, before2) + near;
    return offset;
  });
}
function reach(vertex, sibling) {
  return vertex.tight && !sibling.tight ? 2 * vertex.half : vertex.half;
}
function isotonic(layer, wanted, offsets) {
  const blocks = [];
  wanted.forEach(({ at: at2, weight: weight2 }, k2) => {
    let block = { sum: (at2 - offsets[k2]) * weight2, weight: weight2, size: 1 };
    for (let last = blocks.at(-1); last && last.sum / last.weight > block.sum / block.weight; last = blocks.at(-1)) {
      blocks.pop();
      block = {
        sum: block.sum + last.sum,
        weight: block.weight + last.weight,
        size: block.size + last.size
      };
    }
    blocks.push(block);
  });
  let k = 0;
  for (const { sum, weight: weight2, size } of blocks) {
    for (let end = k + size; k < end; k++) layer[k].across = sum / weight2 + offsets[k];
  }
}

// src/graph/layout.ts
var BEND_HALF = 7;
var ZIGZAG_GAP = 24;
var BACK_SHIFT = 9;
function layered(nodes, edges, options) {
  if (nodes.length === 0) {
    return {
      boxes: /* @__PURE__ */ new Map(),
      routes: [],
      width: 0,
      height: 0,
      crossings: 0,
      direction: options.direction
    };
  }
  const arcs = acyclic(nodes, edges);
  const ranks = longestPaths(nodes.length, arcs);
  const size = options.direction === "down" ? options.width : options.height;
  const { layers, paths } = vertices(nodes, edges, arcs, ranks, size / 2);
  const crossings2 = order(layers);
  const zigzag = layers.map((layer) => tooWide(layer, options));
  layers.forEach((layer, rank) => zigzag[rank] && stagger(layer, size));
  spread(layers, options.siblingGap);
  return draw(nodes, edges, arcs, layers, paths, zigzag, crossings2, options);
}
function acyclic(nodes, edges) {
  const position = new Map(nodes.map((node, k) => [node.id, k]));
  const arcs = [];
  edges.forEach(({ from, to }, edge) => {
    const [upper, lower] = [position.get(from), position.get(to)];
    if (upper === void 0 || lower === void 0 || upper === lower) return;
    arcs.push({ upper, lower, edge, reversed: false });
  });
  const outgoing = nodes.map((_, k) => arcs.filter((arc) => arc.upper === k));
  const incoming = nodes.map((_, k) => arcs.filter((arc) => arc.lower === k).length);
  const state = new Uint8Array(nodes.length);
  const visit = (k) => {
    state[k] = 1;
    for (const arc of outgoing[k]) {
      if (state[arc.lower] === 1) arc.reversed = true;
      else if (state[arc.lower] === 0) visit(arc.lower);
    }
    state[k] = 2;
  };
  const callers = [...nodes.keys()].sort(
    (a, b) => incoming[a] - incoming[b] || nodes[a].first - nodes[b].first
  );
  for (const k of callers) if (state[k] === 0) visit(k);
  return arcs.map((arc) => arc.reversed ? { ...arc, upper: arc.lower, lower: arc.upper } : arc);
}
function longestPaths(count2, arcs) {
  const ranks = new Int32Array(count2);
  for (let moved = true; moved; ) {
    moved = false;
    for (const { upper, lower } of arcs) {
      if (ranks[lower] > ranks[upper]) continue;
      ranks[lower] = ranks[upper] + 1;
      moved = true;
    }
  }
  return ranks;
}
function vertices(nodes, edges, arcs, ranks, half) {
  const layers = Array.from({ length: Math.max(0, ...ranks) + 1 }, () => []);
  const add = (node, rank, order3) => {
    const links = { up: [], down: [], slot: 0, across: 0, row: 0, tight: false };
    const vertex = { node, rank, order: order3, half: node < 0 ? BEND_HALF : half, ...links };
    layers[rank].push(vertex);
    return vertex;
  };
  const boxes = nodes.map((node, k) => add(k, ranks[k], node.first));
  const paths = /* @__PURE__ */ new Map();
  for (const { upper, lower, edge } of arcs) {
    const path = [boxes[upper]];
    for (let rank = ranks[upper] + 1; rank < ranks[lower]; rank++)
      path.push(add(-1, rank, edges[edge].first));
    path.push(boxes[lower]);
    for (let k = 1; k < path.length; k++) {
      path[k - 1].down.push(path[k]);
      path[k].up.push(path[k - 1]);
    }
    paths.set(edge, path);
  }
  for (const layer of layers) renumber(layer.sort((a, b) => a.order - b.order));
  return { layers, paths };
}
function tooWide(layer, { direction, available, siblingGap }) {
  const boxes = layer.filter((vertex) => vertex.node >= 0).length;
  const width = layer.reduce((sum, vertex) => sum + 2 * vertex.half + siblingGap, 0);
  return direction === "down" && boxes > 3 && width > available;
}
function stagger(layer, size) {
  let row5 = 0;
  for (const vertex of layer) {
    if (vertex.node < 0) continue;
    vertex.row = row5;
    vertex.half = size / 4;
    vertex.tight = true;
    row5 = row5 === 0 ? 1 : 0;
  }
}
function draw(nodes, edges, arcs, layers, paths, zigzag, crossings2, options) {
  const down = options.direction === "down";
  const [size, depth] = down ? [options.width, options.height] : [options.height, options.width];
  const bands = bandsOf(zigzag, depth, options.rankGap);
  const all2 = layers.flat();
  const reach2 = (vertex) => vertex.node < 0 ? vertex.half : size / 2;
  const low = Math.min(...all2.map((vertex) => vertex.across - reach2(vertex)));
  const high = Math.max(...all2.map((vertex) => vertex.across + reach2(vertex)));
  const point = (along3, across2) => down ? { x: across2 - low, y: along3 } : { x: along3, y: across2 - low };
  const boxes = /* @__PURE__ */ new Map();
  for (const vertex of all2) {
    if (vertex.node < 0) continue;
    const top2 = bands[vertex.rank].start + vertex.row * (depth + ZIGZAG_GAP);
    boxes.set(nodes[vertex.node].id, point(top2 + depth / 2, vertex.across));
  }
  const routes = edges.map(() => ({ points: [], back: false }));
  for (const { edge, reversed } of arcs) {
    const steps = stepsOf(paths.get(edge) ?? [], bands, zigzag, depth, reversed ? BACK_SHIFT : 0);
    const points = steps.map(([along3, across2]) => point(along3, across2));
    routes[edge] = { points: reversed ? points.reverse() : points, back: reversed };
  }
  const along2 = bands[bands.length - 1].end;
  const across = high - low;
  const [width, height] = down ? [across, along2] : [along2, across];
  return { boxes, routes, width, height, crossings: crossings2, direction: options.direction };
}
function bandsOf(zigzag, depth, gap2) {
  let start = 0;
  return zigzag.map((two) => {
    const band = { start, end: start + depth + (two ? depth + ZIGZAG_GAP : 0) };
    start = band.end + gap2;
    return band;
  });
}
function stepsOf(path, bands, zigzag, depth, shift) {
  const steps = [];
  const [first, last] = [path[0], path[path.length - 1]];
  const top2 = bands[first.rank].start + first.row * (depth + ZIGZAG_GAP);
  steps.push([top2 + depth, first.across + shift]);
  if (zigzag[first.rank] && first.row === 0)
    steps.push([bands[first.rank].end, first.across + shift]);
  for (const bend of path.slice(1, -1)) {
    steps.push([bands[bend.rank].start, bend.across], [bands[bend.rank].end, bend.across]);
  }
  if (last.row === 1) steps.push([bands[last.rank].start, last.across + shift]);
  steps.push([bands[last.rank].start + last.row * (depth + ZIGZAG_GAP), last.across + shift]);
  return steps;
}

// src/trace/phases.ts
function noPhases() {
  return { pre: 0, queue: 0, input: 0, infer: 0, child: 0, between: 0, output: 0, post: 0 };
}

// src/trace/wire.ts
var Flag = {
  ASYNC: 1,
  DECOUPLED: 2,
  ERROR: 4,
  RUNNING: 8,
  CACHE_HIT: 16,
  CANCELLED: 32
};
var ARRAYS = {
  i4: Int32Array,
  u4: Uint32Array,
  u2: Uint16Array,
  u1: Uint8Array,
  f8: Float64Array,
  f4: Float32Array
};
var PHASES = [
  "pre_us",
  "queue_us",
  "compute_input_us",
  "compute_infer_us",
  "compute_output_us",
  "post_us"
];
var LAYOUT = [
  ["id", "i4"],
  ["parent", "i4"],
  ["model", "u2"],
  ["instance", "u2"],
  ["flags", "u2"],
  ["responses", "u4"],
  ["start_us", "f8"],
  ...PHASES.map((phase) => [phase, "f4"]),
  ["line", "u4"],
  ["execution", "u4"],
  ["batch", "u4"],
  ["copy_bytes", "f8"],
  ["copy_us", "f4"]
];
function ownBuffer(data) {
  if (data instanceof ArrayBuffer) return data;
  const copy = new Uint8Array(data.byteLength);
  copy.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return copy.buffer;
}
function column(buffer, [dtype, offset, count2]) {
  const ArrayType = ARRAYS[dtype];
  if (!ArrayType) throw new Error(`column of unknown type ${dtype}`);
  return new ArrayType(buffer, offset, count2);
}
function rowOf(ids, id) {
  if (ids[id] === id) return id;
  let [low, high] = [0, ids.length - 1];
  while (low <= high) {
    const middle2 = low + high >> 1;
    if (ids[middle2] === id) return middle2;
    if (ids[middle2] < id) low = middle2 + 1;
    else high = middle2 - 1;
  }
  return -1;
}
function emptyCalls(length) {
  return Object.fromEntries(
    LAYOUT.map(([name, dtype]) => [name, new ARRAYS[dtype](length)])
  );
}

// src/trace/modelgraph.ts
var OTHERS = 65535;
var [MAX_BOXES, KEPT] = [60, 40];
function modelGraph(trace) {
  const nodes = nodesOf(trace);
  const edges = edgesOf(trace);
  addFolded(trace, nodes, edges);
  return nodes.length <= MAX_BOXES ? { nodes, edges } : gather(nodes, edges);
}
function nodesOf(trace) {
  const nodes = [];
  const byId = [];
  const { model, start_us, flags } = trace.calls;
  for (let call = 0; call < trace.n; call++) {
    const id = model[call];
    let node = byId[id];
    if (!node) nodes.push(node = byId[id] = emptyNode(trace, id, start_us[call]));
    node.count++;
    node.own += trace.own[call];
    node.first = Math.min(node.first, start_us[call]);
    if (flags[call] & Flag.ERROR) node.errors++;
    trace.addPhases(node.phases, call);
  }
  return nodes;
}
function addFolded({ folded }, nodes, edges) {
  for (const [caller, model, calls, errors2, us] of folded.entries) {
    const [node, from] = [model, caller].map((id) => nodes.find((each) => each.id === id));
    if (node) {
      node.count += calls;
      node.errors += errors2;
      addOwn(node, us);
    }
    if (from) addOwn(from, -us);
    const edge = edges.find((each) => each.from === caller && each.to === model);
    if (!edge) continue;
    edge.count += calls;
    edge.errors += errors2;
  }
}
function addOwn(node, us) {
  node.own = Math.max(0, node.own + us);
  const part = node.phases.between > 0 ? "between" : "infer";
  node.phases[part] = Math.max(0, node.phases[part] + us);
}
function emptyNode({ comparison, header, names }, id, first) {
  const { device, kind } = header.models[id];
  const before2 = comparison ? comparison.ownOf(header.models[id].name) : void 0;
  const counts = { count: 0, errors: 0, own: 0, models: [id] };
  return { id, name: names[id], device, kind, ...counts, phases: noPhases(), first, before: before2 };
}
function edgesOf(trace) {
  const edges = [];
  const byCaller = [];
  const { parent, model, responses: responses2, flags } = trace.calls;
  for (let call = 0; call < trace.n; call++) {
    if (parent[call] < 0) continue;
    const from = model[parent[call]];
    const to = model[call];
    const known = byCaller[from] ??= [];
    let edge = known[to];
    if (!edge) edges.push(edge = known[to] = emptyEdge(from, to, trace.start(call)));
    edge.count++;
    if (flags[call] & Flag.ASYNC) edge.async++;
    if (flags[call] & Flag.ERROR) edge.errors++;
    if (!(flags[call] & Flag.DECOUPLED)) continue;
    edge.streams++;
    edge.responses += responses2[call];
  }
  return edges.sort((a, b) => a.first - b.first);
}
function emptyEdge(from, to, first) {
  return { from, to, count: 0, async: 0, streams: 0, responses: 0, errors: 0, first };
}
function gather(nodes, edges) {
  const large = [...nodes].sort((a, b) => b.own - a.own).slice(0, KEPT);
  const ids = new Set(large.map((node) => node.id));
  const rest = nodes.filter((node) => !ids.has(node.id));
  const box = {
    ...rest[0],
    id: OTHERS,
    name: `+${rest.length} models`,
    device: "",
    models: rest.map((node) => node.id),
    before: void 0
  };
  box.phases = { ...rest[0].phases };
  for (const node of rest.slice(1)) addNode(box, node);
  const merged = /* @__PURE__ */ new Map();
  for (const edge of edges) {
    const from = ids.has(edge.from) ? edge.from : OTHERS;
    const to = ids.has(edge.to) ? edge.to : OTHERS;
    const key = `${from}>${to}`;
    const known = merged.get(key);
    if (known) addEdge(known, edge);
    else merged.set(key, { ...edge, from, to });
  }
  const shown = nodes.filter((node) => ids.has(node.id));
  return { nodes: [...shown, box], edges: [...merged.values()] };
}
function addNode(to, node) {
  for (const key of ["count", "errors", "own"]) to[key] += node[key];
  for (const key of Object.keys(to.phases))
    to.phases[key] += node.phases[key];
  to.first = Math.min(to.first, node.first);
}
function addEdge(to, edge) {
  for (const key of ["count", "async", "streams", "responses", "errors"])
    to[key] += edge[key];
}

// src/facts/phasetable.ts
var PARTS = [
  ["pre", "fg3", "before the queue", "pre_us"],
  ["queue", "queue", "queue", "queue_us"],
  ["input", "input", "compute input", "compute_input_us"],
  ["infer", "infer", "compute infer", "compute_infer_us"],
  ["child", "child", "in child calls", null],
  ["between", "fg3", "between steps", null],
  ["output", "output", "compute output", "compute_output_us"],
  ["post", "fg3", "to the response", "post_us"]
];
var MARGINAL = /* @__PURE__ */ new Set(["pre", "post"]);
var MARGINAL_SHARE = 5e-3;
var COMPUTE = /* @__PURE__ */ new Set(["input", "infer", "output"]);
var MIN_SHARE = 4e-3;
function phaseTable(trace, calls) {
  if (calls.length === 1 && !reachedModel(trace, calls[0]))
    return [h("p", { class: "hint" }, "It reached no model: no phase was recorded.")];
  const sums = trace.phases(calls);
  const whole = Object.values(sums).reduce((sum, us) => sum + us, 0);
  const absent = (phase) => calls.length === 1 && phase !== null && Number.isNaN(trace.phase(calls[0], phase));
  const rows2 = PARTS.filter(([part]) => isListed(part, sums, whole)).map(
    (part) => row(part, absent(part[3]), sums[part[0]], whole)
  );
  return [stack(sums, whole), h("table", { class: "phases" }, h("tbody", {}, rows2))];
}
function reachedModel(trace, call) {
  const phases = PARTS.flatMap(([part, , , phase]) => phase && !MARGINAL.has(part) ? [phase] : []);
  return trace.has(call, Flag.RUNNING) || phases.some((phase) => !isNaN(trace.phase(call, phase)));
}
function stack(sums, whole) {
  const parts = PARTS.filter(([part]) => sums[part] > MIN_SHARE * whole).map(
    ([part, colour]) => h("i", { class: `back-${colour}`, style: { flex: `${sums[part] / whole} 1 0` } })
  );
  const label2 = PARTS.map(([part, , text]) => `${text} ${time(sums[part])}`).join(", ");
  return h("div", { class: "stack", role: "img", "aria-label": label2 }, parts);
}
function row([part, colour, text], absent, us, whole) {
  const swatch = h("i", { class: `swatch ${part} back-${colour}` });
  const cells2 = absent ? [h("td", { class: "absent" }, "not recorded"), h("td")] : [h("td", {}, time(us)), h("td", {}, percent(us, whole))];
  return h("tr", {}, h("th", { class: "phase" }, swatch, text), cells2);
}
function isListed(part, sums, whole) {
  if (part === "child" || part === "between") return sums[part] > 0;
  if (sums.between > 0 && COMPUTE.has(part)) return sums[part] > 0;
  return !MARGINAL.has(part) || sums[part] > MARGINAL_SHARE * whole;
}
function phaseLegend() {
  return ["queue", "input", "infer", "output"].map(
    (phase) => h("span", {}, h("i", { class: `swatch ${phase} back-${phase}` }), phase)
  );
}

// src/page/press.ts
var ENDS = ["pointerup", "pointercancel", "contextmenu"];
var ONCE = ["Enter", "Escape", "/", "?", "c"];
function pressedIn(element, released) {
  let isHeld = false;
  const release = () => {
    for (const end of ENDS) document.removeEventListener(end, release, true);
    setTimeout(() => {
      isHeld = false;
      released();
    }, 0);
  };
  element.addEventListener("pointerdown", () => {
    isHeld = true;
    for (const end of ENDS) document.addEventListener(end, release, true);
  });
  return () => isHeld;
}
function drag(element, start, moved, released) {
  const end = (event) => {
    element.removeEventListener("pointermove", moved);
    for (const each of ENDS) element.removeEventListener(each, end);
    if (event.type === "pointerup") released?.(event);
  };
  element.setPointerCapture(start.pointerId);
  element.addEventListener("pointermove", moved);
  for (const each of ENDS) element.addEventListener(each, end);
}
function holdOnce(element) {
  let isTyped = false;
  const stop = (event) => {
    if (!event.repeat) isTyped = event.key.length === 1 && event.target.matches("input");
    else if (ONCE.includes(event.key) && !isTyped) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  element.addEventListener("keydown", stop, true);
}

// src/graph/viewport.ts
var FAR = 0.62;
var [SMALLEST, LARGEST] = [0.2, 3];
var [BESIDE, MIN_TOP, ABOVE_LEGEND] = [32, 8, 9];
var Viewport = class {
  svg;
  buttons;
  #content;
  #scale = 1;
  #at = { x: 0, y: 0 };
  /** `fit` shows the whole graph. */
  constructor(content2, label2, fit) {
    this.#content = content2;
    this.svg = svg("svg", { role: "group", "aria-label": label2 }, content2);
    this.buttons = this.#newButtons(fit);
    this.svg.addEventListener("dblclick", fit);
    this.svg.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.svg.addEventListener("pointerdown", (event) => this.#drag(event));
  }
  /** Fit a graph in a pane, above a legend of a height. */
  fit(graph, pane, legend2) {
    const height = pane.height - ABOVE_LEGEND - legend2;
    const across = (pane.width - BESIDE) / graph.width;
    const scale = Math.max(SMALLEST, Math.min(1, across, (height - MIN_TOP - 6) / graph.height));
    const top2 = Math.max(MIN_TOP, (height - graph.height * scale) / 2);
    this.#show(scale, (pane.width - graph.width * scale) / 2, top2);
  }
  /** Zoom by the wheel with Ctrl or ⌘; the plain wheel scrolls the page. */
  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { left, top: top2 } = this.svg.getBoundingClientRect();
    this.#zoom(Math.exp(-event.deltaY * 2e-3), event.clientX - left, event.clientY - top2);
  }
  #drag(start) {
    if (start.target.closest("[role=button]")) return;
    const { x, y } = this.#at;
    drag(
      this.svg,
      start,
      (event) => this.#show(this.#scale, x + event.clientX - start.clientX, y + event.clientY - start.clientY)
    );
  }
  /** Zoom around a position of the pane. */
  #zoom(factor, x = this.svg.clientWidth / 2, y = this.svg.clientHeight / 2) {
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.#scale * factor));
    const ratio = scale / this.#scale;
    this.#show(scale, x - (x - this.#at.x) * ratio, y - (y - this.#at.y) * ratio);
  }
  #show(scale, x, y) {
    this.#scale = scale;
    this.#at = { x, y };
    this.svg.classList.toggle("far", scale < FAR);
    this.svg.style.setProperty("--scale", String(scale));
    this.#content.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }
  #newButtons(fit) {
    const button = (text, title, onclick) => h(
      "button",
      { class: "quiet", type: "button", title, "aria-label": `${text} ${title}`, onclick },
      text
    );
    return h(
      "div",
      { class: "zoom" },
      button("−", "zoom the graph out", () => this.#zoom(0.8)),
      button("+", "zoom the graph in", () => this.#zoom(1.25)),
      button("fit", "the graph into its pane", fit)
    );
  }
};

// src/graph/callgraph.ts
var [MIN_HEIGHT, MAX_HEIGHT] = [150, 300];
var MARGIN2 = 29;
var ORIGIN = { x: 0, y: 0 };
var CallGraph = class {
  element;
  #session;
  #viewport;
  #legend = h("div", { class: "edges", "aria-hidden": "true" });
  #edges = svg("g");
  #nodes = svg("g");
  #content = svg("g", {}, this.#edges, this.#nodes);
  #boxes = /* @__PURE__ */ new Map();
  #graph = { nodes: [], edges: [] };
  #drawn = null;
  #layout = null;
  #edgeElements = [];
  /** Width of the pane, and the font, of the last drawing. */
  #place = "";
  #shape = "";
  constructor(session, id) {
    this.#session = session;
    const label2 = "Call graph. Arrow keys move between models, Enter selects.";
    this.#viewport = new Viewport(this.#content, label2, () => this.fit());
    const { svg: picture, buttons } = this.#viewport;
    picture.prepend(svg("defs", {}, arrowMarker(`${id}-arrow`)));
    picture.style.setProperty("--arrow", `url(#${id}-arrow)`);
    picture.addEventListener("keydown", (event) => this.#key(event));
    this.element = h("div", { class: "callgraph" }, picture, this.#legend, buttons);
  }
  /** Draw the models of a trace; returns the preferred height. */
  draw(trace) {
    const paneWidth = this.#paneWidth();
    const place4 = `${paneWidth} ${this.#session.colours.font}`;
    const layout = this.#layout && trace === this.#drawn && place4 === this.#place ? this.#layout : this.#redraw(trace, paneWidth);
    this.#place = place4;
    const legendHeight = this.#legend.offsetHeight;
    const wanted = Math.round(layout.height * this.#scaleFor(layout) + MARGIN2 + legendHeight);
    const shape2 = `${[...this.#boxes.keys()]} ${paneWidth} ${legendHeight}`;
    if (shape2 !== this.#shape) this.fit(Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, wanted)));
    this.#shape = shape2;
    return Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, wanted));
  }
  #redraw(trace, paneWidth) {
    if (trace !== this.#drawn) this.#graph = modelGraph(trace);
    this.#drawn = trace;
    const width = boxWidth(this.#graph.nodes, this.#session.colours.font);
    const fit = (layout) => this.#scaleFor(layout);
    this.#layout = chooseLayout(this.#graph, width, paneWidth, fit);
    this.#drawEdges(this.#layout, width);
    this.#drawBoxes(this.#layout, width);
    return this.#layout;
  }
  /** Emphasise a model and a path of edges, and dim the others. */
  mark({ model: selected, path, lit }) {
    const model = selected === null ? null : this.#boxOf(selected);
    const bright = (id) => lit === null || id === OTHERS || lit.has(id);
    for (const [id, { element }] of this.#boxes) {
      element.classList.toggle("selected", id === model);
      element.setAttribute("aria-pressed", String(id === model));
      element.classList.toggle("dim", !bright(id));
    }
    this.#graph.edges.forEach(({ from, to }, k) => {
      const onPath = path ? path.some((step) => this.#boxOf(step.from) === from && this.#boxOf(step.to) === to) : from === model || to === model;
      this.#edgeElements[k].classList.toggle("path", model !== null && onPath);
      this.#edgeElements[k].classList.toggle("dim", !(bright(from) && bright(to)));
    });
  }
  /** Show the whole graph in a pane of a height. */
  fit(height = this.element.clientHeight) {
    const width = this.#paneWidth();
    const legendHeight = this.#legend.offsetHeight;
    if (this.#layout && width > 0)
      this.#viewport.fit(this.#layout, { width, height }, legendHeight);
  }
  dispose() {
    this.element.remove();
  }
  /** Return the box of a model: its own, or that of all other models. */
  #boxOf(model) {
    return this.#boxes.has(model) ? model : OTHERS;
  }
  #paneWidth() {
    return this.element.clientWidth || 800;
  }
  #scaleFor({ width, height }) {
    return Math.min(1, (this.#paneWidth() - 32) / width, (MAX_HEIGHT - 30) / (height + 34));
  }
  #drawEdges(layout, width) {
    const size = { width, height: BOX_HEIGHT };
    const { edges } = this.#graph;
    const callers = edges.map(({ from }) => ({ ...layout.boxes.get(from) ?? ORIGIN, ...size }));
    const texts2 = edges.map(edgeLabel);
    const loops = edges.flatMap(
      ({ from, to }, k) => from === to && texts2[k] ? [labelArea(loopLabel(callers[k]), texts2[k])] : []
    );
    const places = labelPlaces(texts2, layout, size, loops);
    this.#edgeElements = edges.map(
      (edge, k) => edgeElement(edge, layout.routes[k], layout.direction, callers[k], places[k])
    );
    this.#edges.replaceChildren(...this.#edgeElements);
    this.#legend.replaceChildren(...legend(edges));
  }
  #drawBoxes(layout, width) {
    const [largest, { font }] = [largestOwn(this.#graph.nodes), this.#session.colours];
    const shown = new Set(this.#graph.nodes.map((node) => node.id));
    for (const [id, box] of this.#boxes) {
      if (shown.has(id)) continue;
      box.element.remove();
      this.#boxes.delete(id);
    }
    for (const node of this.#graph.nodes) {
      const box = this.#boxes.get(node.id) ?? this.#newBox(node);
      box.name.style.setProperty("--grown", `${grownSize(node, width, font).toFixed(1)}px`);
      updateBox(box, node, layout.boxes.get(node.id) ?? ORIGIN, width, largest);
    }
    const boxes = [...this.#boxes.values()];
    if (boxes.length && !boxes.some((box) => box.element.getAttribute("tabindex") === "0")) {
      boxes[0].element.setAttribute("tabindex", "0");
    }
  }
  #newBox(node) {
    const box = newBox(node);
    const { element } = box;
    element.addEventListener("click", () => this.#select(box));
    element.addEventListener("pointermove", (event) => this.#hover(box, event));
    element.addEventListener("pointerleave", () => this.#hover(null));
    this.#boxes.set(node.id, box);
    this.#nodes.append(element);
    return box;
  }
  #select({ node, element }) {
    this.#roam(element);
    this.#session.select(this.#selectionOf(node), { reveal: true });
  }
  /** Return the selection of a box; a single call has more to show than its model. */
  #selectionOf({ id, count: calls, models }) {
    if (models.length > 1) return { kind: "models", models };
    if (calls > 1) return { kind: "model", model: id };
    return { kind: "call", call: this.#session.trace.calls.model.indexOf(id) };
  }
  #hover(box, event) {
    this.#session.hover(box && { models: box.node.models });
    const { name, phases, count: calls } = box?.node ?? { name: "", phases: null, count: 0 };
    this.#session.tip(phases && { title: `${name} · ${counted(calls, "call")}`, phases }, event);
  }
  #roam(to) {
    for (const { element } of this.#boxes.values())
      element.setAttribute("tabindex", element === to ? "0" : "-1");
    to.focus();
  }
  #key(event) {
    const box = [...this.#boxes.values()].find(({ element }) => element === event.target);
    if (!box || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") this.#select(box);
    else if (event.key.startsWith("Arrow")) this.#move(box, event.key);
    else return;
    event.preventDefault();
  }
  #move(from, key) {
    const here = this.#layout?.boxes.get(from.node.id);
    if (!here) return;
    let nearest = null;
    for (const box of this.#boxes.values()) {
      const there = this.#layout?.boxes.get(box.node.id);
      const distance = there && distanceTowards(key, there.x - here.x, there.y - here.y);
      if (!distance || nearest && nearest.distance <= distance) continue;
      nearest = { box, distance };
    }
    if (nearest) this.#roam(nearest.box.element);
  }
};
function arrowMarker(id) {
  const size = {
    viewBox: "0 0 8 8",
    refX: 7,
    refY: 4,
    markerWidth: 7,
    markerHeight: 7,
    orient: "auto"
  };
  return svg("marker", { id, ...size }, svg("path", { d: "M0 1 L7 4 L0 7z", fill: "context-stroke" }));
}
function legend(edges) {
  const present = new Set(edges.map(kindOf));
  const kinds = ["call", "async", "stream"].filter((kind) => present.has(kind));
  const entries = kinds.map((kind) => h("span", {}, h("i", { class: kind }), kind));
  return [...entries, h("span", { class: "legend" }, phaseLegend())];
}
function chooseLayout(graph, width, paneWidth, fit) {
  const size = { width, height: BOX_HEIGHT };
  const available = (paneWidth - 32) * 1.12;
  const { nodes, edges } = graph;
  const down = layered(nodes, edges, {
    ...size,
    rankGap: 46,
    siblingGap: 12,
    direction: "down",
    available
  });
  const right = layered(nodes, edges, {
    ...size,
    rankGap: 62,
    siblingGap: hasLoops(edges) ? LOOP_ROOM + 8 : 10,
    direction: "right",
    available
  });
  const chosen = fit(down) >= fit(right) - 0.08 ? down : right;
  return withRoom(chosen, edges, BOX_HEIGHT);
}
function distanceTowards(key, dx, dy) {
  switch (key) {
    case "ArrowRight":
      return dx > 0 ? Math.hypot(dx, 3 * dy) : 0;
    case "ArrowLeft":
      return dx < 0 ? Math.hypot(dx, 3 * dy) : 0;
    case "ArrowDown":
      return dy > 0 ? Math.hypot(2 * dx, dy) : 0;
    default:
      return dy < 0 ? Math.hypot(2 * dx, dy) : 0;
  }
}

// src/facts/dropped.ts
function droppedCall(trace, id) {
  return [
    h("div", { class: "breadcrumb" }, "no longer kept"),
    h("h3", {}, `call ${id}`),
    h("p", { class: "note" }, whyDropped(trace, id))
  ];
}
function whyDropped({ header, n }, id) {
  const { calls = n, dropped } = header.run;
  const drop = dropped?.calls;
  if (drop && id <= drop.last) return `Call ${id} is no longer kept: ${drop.because}.`;
  return `Call ${id} is only counted: this view shows ${count(n)} of ${count(calls)} calls one by one.`;
}
function notices(dropped) {
  const drops = [dropped?.calls, dropped?.values];
  return drops.flatMap(
    (drop) => drop ? [h("p", {}, h("b", {}, drop.notice), `: ${drop.because}.`)] : []
  );
}
function lacking(words2) {
  return words2 ? [h("p", { class: "note lacks" }, `${words2[0].toUpperCase()}${words2.slice(1)}.`)] : [];
}

// src/trace/filter.ts
var SCALES = { ns: 1e-3, us: 1, µs: 1, ms: 1e3, s: 1e6 };
var STATES = /* @__PURE__ */ new Map([
  ["error", Flag.ERROR],
  ["stream", Flag.DECOUPLED],
  ["async", Flag.ASYNC],
  ["running", Flag.RUNNING],
  ["cancelled", Flag.CANCELLED],
  ["cached", Flag.CACHE_HIT]
]);
function filterOf(text, trace) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const { comparison } = trace;
  if (comparison && wanted === "changed") return (call) => comparison.changed.has(call);
  if (comparison && wanted === "new") return (call) => comparison.isNew(call);
  if (wanted === "batched") return (call) => trace.calls.batch[call] > 1;
  const field = /^(corr|id|param):(.+)$/.exec(wanted);
  if (field) return fieldFilter(trace, field[1], field[2].trim());
  const flag = STATES.get(wanted);
  if (flag) return (call) => trace.has(call, flag);
  const bound = /^([<>])\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)?$/.exec(wanted);
  if (bound) return bounded(trace, bound[1], Number(bound[2]) * SCALES[bound[3] ?? "ms"]);
  const named = trace.header.models.map(
    ({ device }, model) => trace.names[model].toLowerCase().includes(wanted) || device.toLowerCase().includes(wanted)
  );
  return (call) => named[trace.calls.model[call]];
}
function fieldFilter(trace, what, wanted) {
  const { requests, response_parameters: responses2 } = trace.header;
  if (what === "corr") return (call) => is(requests[trace.id(call)]?.correlation_id, wanted);
  if (what === "id")
    return (call) => requests[trace.id(call)]?.request_id?.toLowerCase().includes(wanted) ?? false;
  const matches = ([name, text]) => is(name, wanted) || `${name}=${text}`.toLowerCase() === wanted || is(`${name}=${unquoted(text)}`, wanted);
  return (call) => {
    const id = trace.id(call);
    const sent = (responses2[id] ?? []).some(([, pairs]) => pairs.some(matches));
    return sent || (requests[id]?.parameters ?? []).some(matches);
  };
}
function is(text, wanted) {
  const found3 = text?.toLowerCase();
  return found3 !== void 0 && (found3 === wanted || unquoted(found3) === wanted);
}
function unquoted(text) {
  return /^(['"]).*\1$/s.test(text) ? text.slice(1, -1) : text;
}
function bounded(trace, side, us) {
  return (call) => side === ">" ? trace.duration[call] > us : trace.duration[call] < us;
}

// src/session/session.ts
function selectedBatch(selection, trace) {
  const batch2 = selection?.kind === "call" ? trace.batch(selection.call) : [];
  return new Set(batch2.length > 1 ? batch2 : []);
}
function selectedModel(selection, trace) {
  if (!selection || selection.kind === "missing" || selection.kind === "dropped") return null;
  if (selection.kind === "models") return OTHERS;
  return selection.kind === "call" ? trace.calls.model[selection.call] : selection.model;
}

// src/session/relevance.ts
function relevanceOf(trace, filter, selection, hover) {
  if (filter) return { marks: spread2(trace, filter), strict: true };
  const models = hover && "models" in hover ? hover.models : modelsOf(selection);
  if (models === null) return null;
  const meant = new Set(models);
  return { marks: spread2(trace, (call) => meant.has(trace.calls.model[call])), strict: false };
}
function modelsOf(selection) {
  if (selection?.kind === "model") return [selection.model];
  return selection?.kind === "models" ? selection.models : null;
}
function dims(relevance, row5, open) {
  if (!relevance) return false;
  if (row5.kind === "missing") return true;
  const bright = relevance.strict && open ? 1 : 3;
  return !row5.calls.some((call) => relevance.marks[call] & bright);
}
function pathTo(trace, selection) {
  if (selection?.kind !== "call") return null;
  const { model } = trace.calls;
  const chain = [...trace.ancestors(selection.call), selection.call];
  return chain.slice(1).map((call, k) => ({ from: model[chain[k]], to: model[call] }));
}
function litModels(trace, filter, selection, hover) {
  const { model } = trace.calls;
  const lit = /* @__PURE__ */ new Set();
  if (hover && "call" in hover) {
    const kin = [...trace.ancestors(hover.call), hover.call, ...trace.children(hover.call)];
    for (const call of kin) lit.add(model[call]);
  } else if (filter) {
    for (const [call, id] of model.entries()) if (filter(call)) lit.add(id);
  } else return null;
  const selected = selectedModel(selection, trace);
  return selected === null ? lit : lit.add(selected);
}
function spread2(trace, meant) {
  const marks = new Uint8Array(trace.n);
  const { parent } = trace.calls;
  for (let call = 0; call < trace.n; call++) {
    if (!meant(call)) continue;
    marks[call] |= 1;
    for (let at2 = parent[call]; at2 >= 0 && !(marks[at2] & 2); at2 = parent[at2]) marks[at2] |= 2;
  }
  return marks;
}

// src/session/viewstate.ts
function held(trace, selection) {
  switch (selection?.kind) {
    case void 0:
      return null;
    case "call":
      return { kind: "call", id: trace.id(selection.call) };
    case "dropped":
      return selection;
    case "model":
      return { kind: "model", model: trace.modelKeys[selection.model] };
    case "models":
      return { kind: "models", models: selection.models.map((each) => trace.modelKeys[each]) };
    case "fold": {
      const { key, model, calls } = selection;
      const ids = calls.map((call) => trace.id(call));
      return { kind: "fold", key, model: trace.modelKeys[model], ids };
    }
    case "missing": {
      const { key, missing } = selection;
      const baseline = trace.comparison?.baseline;
      return { kind: "missing", key, ids: missing.map((call) => baseline?.id(call) ?? call) };
    }
  }
}
function found(trace, sought) {
  switch (sought?.kind) {
    case void 0:
      return null;
    case "call":
    case "dropped": {
      const call = trace.at(sought.id);
      return call < 0 ? { kind: "dropped", id: sought.id } : { kind: "call", call };
    }
    case "model": {
      const model = trace.modelKeys.indexOf(sought.model);
      return model < 0 ? null : { kind: "model", model };
    }
    case "models": {
      const models = rows(sought.models, (key) => trace.modelKeys.indexOf(key));
      return models.length ? { kind: "models", models } : null;
    }
    case "fold": {
      const model = trace.modelKeys.indexOf(sought.model);
      const calls = rows(sought.ids, (id) => trace.at(id));
      return model < 0 || !calls.length ? null : { kind: "fold", key: sought.key, model, calls };
    }
    case "missing": {
      const baseline = trace.comparison?.baseline;
      const missing = rows(sought.ids, (id) => baseline?.at(id) ?? -1);
      return missing.length ? { kind: "missing", key: sought.key, missing } : null;
    }
  }
}
var Selected = class {
  value = null;
  /** The same by ids, which stay when rows change. */
  held = null;
  set(trace, selection) {
    this.value = selection;
    this.held = held(trace, selection);
  }
  /** Find the selection in another trace: a call may have another row, or be dropped. */
  refind(trace) {
    this.value = found(trace, this.held);
  }
  /** Id of the selected call, kept or dropped; −1 for none. */
  get id() {
    return this.held?.kind === "call" || this.held?.kind === "dropped" ? this.held.id : -1;
  }
};
function hoveredIn(trace, before2, over) {
  if (!over || trace === before2) return over;
  if ("call" in over) {
    const call = trace.at(before2.id(over.call));
    return call < 0 ? null : { call };
  }
  const models = rows(over.models, (each) => trace.modelKeys.indexOf(before2.modelKeys[each]));
  return models.length ? { models } : null;
}
function rows(sought, rowOf2) {
  return sought.map(rowOf2).filter((row5) => row5 >= 0);
}

// src/frame/emphasis.ts
var Emphasis = class {
  #hovered = null;
  #trace = null;
  #relevance = null;
  /** Set the hovered call or models; returns whether they changed. */
  hover(over) {
    const changed = JSON.stringify(over) !== JSON.stringify(this.#hovered);
    this.#hovered = over;
    return changed;
  }
  /** Compute the emphasis, and return what the graph shows of it. */
  relate(trace, text, selection) {
    this.#hovered = hoveredIn(trace, this.#trace ?? trace, this.#hovered);
    this.#trace = trace;
    const filter = filterOf(text, trace);
    this.#relevance = relevanceOf(trace, filter, selection, this.#hovered);
    return {
      model: selectedModel(selection, trace),
      path: pathTo(trace, selection),
      lit: litModels(trace, filter, selection, this.#hovered)
    };
  }
  /** Return whether a row of the timeline is dimmed. */
  dims(row5, open) {
    return dims(this.#relevance, row5, open);
  }
};

// src/page/keys.ts
var COMMANDS = {
  ArrowDown: "down",
  ArrowUp: "up",
  Home: "first",
  End: "last",
  PageDown: "pageDown",
  PageUp: "pageUp",
  ArrowRight: "unfold",
  ArrowLeft: "fold",
  "Shift+ArrowRight": "panRight",
  "Shift+ArrowLeft": "panLeft",
  Enter: "inspect",
  "+": "zoomIn",
  "=": "zoomIn",
  "-": "zoomOut",
  "0": "zoomAll",
  f: "zoomSelected",
  n: "nextError",
  c: "criticalPath",
  "/": "filter",
  "?": "help",
  Escape: "clear"
};
var EVERYWHERE = /* @__PURE__ */ new Set([
  "nextError",
  "criticalPath",
  "filter",
  "clear",
  "help"
]);
var HELP = [
  ["↑ ↓ Home End PgUp PgDn", "move between rows"],
  ["← →", "fold, unfold, to the caller"],
  ["Enter", "to the inspector, Esc back"],
  ["+ − 0 f", "zoom in, out, whole run, selected call"],
  ["Shift ← →", "pan"],
  ["n", "next error, unfolding its path"],
  ["c", "critical path"],
  ["/", "filter: part of a name or device, error, stream, async, running, cancelled, cached, batched, >5ms, <200us, corr:7, id:abc, param:key=value; compared: changed, new"],
  ["arrows, Enter in the graph", "to the nearest box, select"],
  ["Ctrl or ⌘ + wheel", "zoom; with Shift pan; alone it scrolls"],
  ["Esc", "clear filter and selection"]
];
function commandOf(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return void 0;
  const shifted = event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key;
  return COMMANDS[shifted];
}
function commandEverywhere(event) {
  const command = commandOf(event);
  if (!command || !EVERYWHERE.has(command) || event.defaultPrevented) return null;
  return event.target.closest(".filter, .help") ? null : command;
}

// src/frame/help.ts
var Help = class {
  #root;
  #closed;
  #sheet = null;
  /** Cover `root`; `closed` moves the focus when the help is closed. */
  constructor(root, closed) {
    this.#root = root;
    this.#closed = closed;
  }
  toggle() {
    if (this.#sheet) return this.#close();
    this.#sheet = this.#newSheet();
    this.#root.append(this.#sheet);
    this.#sheet.focus();
  }
  #close() {
    this.#sheet?.remove();
    this.#sheet = null;
    this.#closed();
  }
  #newSheet() {
    const onkeydown = (event) => {
      if (event.key !== "Escape" && event.key !== "?") return;
      event.preventDefault();
      this.#close();
    };
    const entries = HELP.flatMap(([keys, meaning]) => [
      h("dt", { class: "code" }, keys),
      h("dd", {}, meaning)
    ]);
    const role = { role: "dialog", "aria-label": "Keyboard help", tabindex: -1 };
    return h(
      "div",
      { class: "help", ...role, onkeydown },
      h("h3", {}, "Keyboard"),
      h("dl", {}, entries),
      h("button", { type: "button", onclick: () => this.#close() }, "close")
    );
  }
};

// src/trace/concurrency.ts
function concurrency(starts, ends) {
  const opening = ordered(new Float64Array(starts));
  const closing = ordered(new Float64Array(ends));
  const times = new Float64Array(opening.length + closing.length);
  const counts = new Int32Array(times.length);
  let size = 0;
  let running = 0;
  let max = 0;
  for (let open = 0, close = 0; close < closing.length; ) {
    const at2 = open < opening.length ? Math.min(opening[open], closing[close]) : closing[close];
    while (close < closing.length && closing[close] === at2) close++, running--;
    while (open < opening.length && opening[open] === at2) open++, running++;
    times[size] = at2;
    counts[size++] = running;
    max = Math.max(max, running);
  }
  return { times: times.subarray(0, size), counts: counts.subarray(0, size), max };
}
function ordered(times) {
  for (let k = 1; k < times.length; k++) if (times[k] < times[k - 1]) return times.sort();
  return times;
}
function perPixel(steps, from, to, width) {
  const most = new Uint32Array(width);
  const { times, counts } = steps;
  const scale = width / (to - from);
  for (let k = firstVisible(times, from); k < times.length && times[k] < to; k++) {
    if (counts[k] === 0) continue;
    const end = k + 1 < times.length ? times[k + 1] : times[k];
    const first = Math.max(0, Math.floor((times[k] - from) * scale));
    const last = Math.min(width - 1, Math.max(first, Math.ceil((end - from) * scale) - 1));
    for (let x = first; x <= last; x++) if (counts[k] > most[x]) most[x] = counts[k];
  }
  return most;
}
function firstVisible(times, from) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle2 = low + high >> 1;
    if (times[middle2] <= from) low = middle2 + 1;
    else high = middle2;
  }
  return Math.max(0, low - 1);
}

// src/trace/folded.ts
function middle(latencyClass) {
  return 2 ** ((latencyClass + 0.5) / 8) / 1e3;
}
var Folded = class {
  entries;
  #rows;
  #kept;
  #known = /* @__PURE__ */ new WeakMap();
  constructor(entries, rows2) {
    this.entries = entries;
    this.#rows = rows2;
  }
  /** Return the counted calls of a model, or null. */
  of(model) {
    return summed(this.entries.filter(([, each]) => each === model));
  }
  /** Return the counted calls by a model, or null. */
  by(caller) {
    return summed(this.entries.filter(([each]) => each === caller));
  }
  /** Return the counted calls of the same model and caller, if these are all such calls with rows. */
  beside(calls) {
    if (this.entries.length === 0 || calls.length === 0) return null;
    let known = this.#known.get(calls);
    if (known === void 0) this.#known.set(calls, known = this.#beside(calls));
    return known;
  }
  /** Return whether calls of the same model and caller as any of these are only counted. */
  has(calls) {
    const pairs = new Set(this.entries.map(([caller, model]) => pairOf(caller, model)));
    return pairs.size > 0 && calls.some((call) => pairs.has(this.#pair(call)));
  }
  /** Return when counted calls ran that call no other model, and their mean concurrency. */
  get stretches() {
    const callers = new Set(this.entries.map(([caller]) => caller));
    return this.entries.filter(([, model]) => !callers.has(model)).map(([, , , , us, from = 0, to = 0]) => ({ from, to, level: us / (to - from) })).filter(({ from, to }) => to > from);
  }
  #beside(calls) {
    const pair = this.#pair(calls[0]);
    if (calls.length !== this.#byPair().get(pair)) return null;
    if (calls.some((call) => this.#pair(call) !== pair)) return null;
    return summed(this.entries.filter(([caller, model]) => pairOf(caller, model) === pair));
  }
  #pair(call) {
    const { parent, model } = this.#rows;
    return pairOf(parent[call] < 0 ? -1 : model[parent[call]], model[call]);
  }
  #byPair() {
    if (this.#kept) return this.#kept;
    const kept = this.#kept = /* @__PURE__ */ new Map();
    for (let call = 0; call < this.#rows.model.length; call++) {
      const pair = this.#pair(call);
      kept.set(pair, (kept.get(pair) ?? 0) + 1);
    }
    return kept;
  }
};
function pairOf(caller, model) {
  return caller * 65536 + model;
}
function summed(entries) {
  if (entries.length === 0) return null;
  const sum = { calls: 0, errors: 0, us: 0, from: Infinity, to: 0, latencies: [] };
  for (const [, , calls, errors2, us, from = Infinity, to = 0, latencies = []] of entries) {
    sum.calls += calls;
    sum.errors += errors2;
    sum.us += us;
    sum.from = Math.min(sum.from, from);
    sum.to = Math.max(sum.to, to);
    for (const [each, number] of latencies) sum.latencies.push([middle(each), number]);
  }
  return sum;
}

// src/trace/modelnames.ts
function distinctKeys({ models }) {
  const seen = /* @__PURE__ */ new Map();
  return models.map(({ name, version, kind }) => {
    const key = encodeURIComponent(`${name}@${version}:${kind}`);
    const number = seen.get(key) ?? 0;
    seen.set(key, number + 1);
    return number ? `${key}.${number}` : key;
  });
}
function distinctNames({ models }) {
  const seen = /* @__PURE__ */ new Map();
  for (const { name } of models) seen.set(name, (seen.get(name) ?? 0) + 1);
  return models.map(
    ({ name, version }) => (seen.get(name) ?? 0) > 1 ? `${name} v${version}` : name
  );
}

// src/trace/trace.ts
var Trace = class {
  header;
  calls;
  /** Number of calls. */
  n;
  /** Keys of the models, the same in every message and document of a run. */
  modelKeys;
  /** Names of the models, with the version where a name alone would be ambiguous. */
  names;
  roots;
  duration;
  /** Time of each call that is not covered by child calls. */
  own;
  /** Number of failed calls. */
  errors;
  /** End of the last call. */
  wall;
  /** The comparison with a baseline; null for a run without one. */
  comparison;
  /** The calls that are only counted. */
  folded;
  /** The samples of the run; null without. */
  profile;
  #store;
  #offsets;
  #below;
  #critical;
  #concurrency;
  #executions = /* @__PURE__ */ new Map();
  #intervals = /* @__PURE__ */ new Map();
  #failed = /* @__PURE__ */ new WeakMap();
  #allFailed;
  constructor(store) {
    this.#store = store;
    this.header = store.header;
    this.calls = store.calls;
    this.n = store.n;
    this.names = distinctNames(this.header);
    this.modelKeys = distinctKeys(this.header);
    [this.#offsets, this.#below] = this.#index();
    this.roots = this.#rootCalls();
    this.duration = this.#durations();
    this.own = new Float64Array(this.n);
    [this.errors, this.wall] = [0, 0];
    for (let call = 0; call < this.n; call++) {
      this.own[call] = this.duration[call] - this.#covered(call);
      this.wall = Math.max(this.wall, this.end(call));
      if (this.has(call, Flag.ERROR)) this.errors++;
    }
    this.comparison = Comparison.of(store);
    this.profile = store.profile;
    this.folded = new Folded(this.header.run.folded ?? [], this.calls);
  }
  /** Return the id of a call: users, files and kernels name it by its id, views by its row. */
  id(call) {
    return this.calls.id[call];
  }
  /** Return the call of an id; −1 if it is not kept. */
  at(id) {
    return rowOf(this.calls.id, id);
  }
  /** Whether a call of an id was dropped or is only counted. */
  wasDropped(id) {
    const { calls = this.n, dropped, folded } = this.header.run;
    return id >= 0 && (id <= (dropped?.calls?.last ?? -1) || !!folded?.length && id < calls);
  }
  start(call) {
    return this.calls.start_us[call];
  }
  end(call) {
    return this.calls.start_us[call] + this.duration[call];
  }
  name(call) {
    return this.names[this.calls.model[call]];
  }
  /** Whether the call's model is an ensemble. */
  isEnsemble(call) {
    return this.header.models[this.calls.model[call]]?.backend === "ensemble";
  }
  has(call, flag) {
    return (this.calls.flags[call] & flag) !== 0;
  }
  /** All failed calls, found once. */
  get failed() {
    const all2 = this.errors ? this.own.keys() : [];
    return this.#allFailed ??= Array.from(all2).filter((call) => this.has(call, Flag.ERROR));
  }
  /** Return the failed ones of some calls, found once per list. */
  failedOf(calls) {
    let known = this.#failed.get(calls);
    if (!known)
      this.#failed.set(calls, known = calls.filter((call) => this.has(call, Flag.ERROR)));
    return known;
  }
  /** Return the first failed call after another one, from the start after the last; -1 for none. */
  nextFailed(call) {
    return this.failed.find((each) => each > call) ?? this.failed[0] ?? -1;
  }
  /** Return the duration of a phase, NaN if it was not recorded. */
  phase(call, phase) {
    return this.calls[phase][call];
  }
  responses(call) {
    return this.#store.responses(this.id(call));
  }
  gaps(call) {
    return this.#store.gaps(this.id(call));
  }
  /** Return the child calls, in order of their start. */
  children(call) {
    return this.#below.subarray(this.#offsets[call], this.#offsets[call + 1]);
  }
  isLeaf(call) {
    return this.#offsets[call] === this.#offsets[call + 1];
  }
  /** Return the callers, outermost first, without the call itself. */
  ancestors(call) {
    const path = [];
    for (let at2 = this.calls.parent[call]; at2 >= 0; at2 = this.calls.parent[at2]) path.push(at2);
    return path.reverse();
  }
  /** Return merged intervals in which child calls ran, as start, end, start, end, … */
  childIntervals(call) {
    let merged = this.#intervals.get(call);
    if (merged) return merged;
    this.#intervals.set(call, merged = []);
    const ran = Array.from(this.children(call), (child) => [this.start(child), this.end(child)]);
    const counted2 = this.#countedBelow(call);
    if (counted2) {
      ran.push([counted2.from, counted2.to]);
      ran.sort(([a], [b]) => a - b);
    }
    for (const [start, end] of ran) {
      const last = merged.length - 1;
      if (last >= 0 && start <= merged[last]) merged[last] = Math.max(merged[last], end);
      else merged.push(start, end);
    }
    return merged;
  }
  /** Return counted child calls that no other call can have made. */
  #countedBelow(call) {
    const model = this.calls.model[call];
    const gone = this.folded.by(model);
    if (!gone || !(gone.to > gone.from) || this.folded.of(model)) return null;
    const { model: models } = this.calls;
    return models.indexOf(model) === models.lastIndexOf(model) ? gone : null;
  }
  /** Return the periods in which any of some calls ran, in order. */
  merged(calls) {
    const merged = [];
    for (const call of [...calls].sort((a, b) => this.start(a) - this.start(b))) {
      const last = merged[merged.length - 1];
      if (last && this.start(call) <= last[1]) last[1] = Math.max(last[1], this.end(call));
      else merged.push([this.start(call), this.end(call)]);
    }
    return merged;
  }
  /** Return the sums of the phases of some calls. */
  phases(calls) {
    const sums = noPhases();
    for (const call of calls) this.addPhases(sums, call);
    return sums;
  }
  /** Add the phases of a call to sums. */
  addPhases(sums, call) {
    const part = (phase) => this.calls[phase][call] || 0;
    const infer = part("compute_infer_us");
    const child = Math.min(this.duration[call] - this.own[call], infer);
    sums.pre += part("pre_us");
    sums.queue += part("queue_us");
    sums.input += part("compute_input_us");
    if (this.isEnsemble(call)) sums.between += infer - child;
    else sums.infer += infer - child;
    sums.child += child;
    sums.output += part("compute_output_us");
    sums.post += part("post_us");
  }
  /** Return the calls of the same `execute`, this one included. */
  batch(call) {
    return this.executed(this.calls.model[call], this.calls.execution[call]);
  }
  /** Return the calls of an execution of a model; empty for execution 0. */
  executed(model, execution) {
    const key = `${model} ${execution}`;
    let known = this.#executions.get(key);
    if (!known) this.#executions.set(key, known = this.#executed(model, execution));
    return known;
  }
  #executed(model, execution) {
    const { model: models, execution: executions } = this.calls;
    const found3 = [];
    if (execution === 0) return found3;
    for (let call = 0; call < this.n; call++)
      if (executions[call] === execution && models[call] === model) found3.push(call);
    return found3;
  }
  /** The calls that determine the wall time, from the last-ending child backwards. */
  get critical() {
    if (this.#critical) return this.#critical;
    const path = /* @__PURE__ */ new Set();
    const open = [...this.roots];
    for (let call = open.pop(); call !== void 0; call = open.pop()) {
      path.add(call);
      let limit = Infinity;
      for (const child of this.#byEnd(call)) {
        if (this.end(child) > limit + 1e-3) continue;
        open.push(child);
        limit = this.start(child);
      }
    }
    return this.#critical = path;
  }
  /** Concurrency of the calls without child calls. */
  get concurrency() {
    if (this.#concurrency) return this.#concurrency;
    const leaves = [];
    for (let call = 0; call < this.n; call++) if (this.isLeaf(call)) leaves.push(call);
    return this.#concurrency = this.concurrencyOf(leaves);
  }
  concurrencyOf(calls) {
    const { start_us } = this.calls;
    const [starts, ends] = [new Float64Array(calls.length), new Float64Array(calls.length)];
    for (let k = 0; k < calls.length; k++) {
      starts[k] = start_us[calls[k]];
      ends[k] = starts[k] + this.duration[calls[k]];
    }
    return concurrency(starts, ends);
  }
  #index() {
    const { parent, start_us } = this.calls;
    const offsets = new Int32Array(this.n + 1);
    for (const caller of parent) if (caller >= 0) offsets[caller + 1]++;
    for (let call = 0; call < this.n; call++) offsets[call + 1] += offsets[call];
    const below = new Int32Array(offsets[this.n]);
    const next = offsets.slice();
    for (let call = 0; call < this.n; call++)
      if (parent[call] >= 0) below[next[parent[call]]++] = call;
    for (let call = 0; call < this.n; call++) {
      const [from, to] = [offsets[call], offsets[call + 1]];
      let ordered2 = true;
      for (let k = from + 1; k < to && ordered2; k++)
        ordered2 = start_us[below[k]] >= start_us[below[k - 1]];
      if (!ordered2) below.subarray(from, to).sort((a, b) => start_us[a] - start_us[b]);
    }
    return [offsets, below];
  }
  #rootCalls() {
    const roots = [];
    this.calls.parent.forEach((parent, call) => {
      if (parent < 0) roots.push(call);
    });
    return roots;
  }
  #durations() {
    const duration = new Float64Array(this.n);
    for (const phase of PHASES) {
      const took = this.calls[phase];
      for (let call = 0; call < this.n; call++) if (took[call] > 0) duration[call] += took[call];
    }
    return duration;
  }
  #covered(call) {
    let covered = 0;
    let upTo = this.start(call);
    const end = this.end(call);
    for (let k = this.#offsets[call]; k < this.#offsets[call + 1]; k++) {
      const child = this.#below[k];
      const from = Math.max(upTo, this.start(child));
      const to = Math.min(end, this.end(child));
      if (to > from) covered += to - from;
      upTo = Math.max(upTo, to);
    }
    return covered;
  }
  #byEnd(call) {
    return Array.from(this.children(call)).sort((a, b) => this.end(b) - this.end(a));
  }
};

// src/trace/comparison.ts
var [NEW, COUNTED] = [-1, -2];
var Comparison = class _Comparison {
  baseline;
  /** Calls that both runs have with different inputs, outputs or errors. */
  changed;
  #of;
  #changes;
  #missing;
  #unknown = /* @__PURE__ */ new Map();
  #own;
  constructor(baseline, { of, missing, changed, changes, unknown }) {
    this.baseline = baseline;
    this.#of = of.map((call) => call < baseline.n ? call : NEW);
    this.#changes = changes ?? {};
    this.changed = new Set(changed);
    this.#missing = new Uint8Array(baseline.n);
    for (const call of Array.from(missing)) this.#missing[call] = 1;
    for (const [why, stretches] of Object.entries(unknown ?? {}))
      for (const [first, many] of stretches)
        for (let call = first; call < first + many && call < of.length; call++)
          this.#unknown.set(call, why);
  }
  /** Return the comparison of a run; null without a baseline. */
  static of({ baseline, compared: compared2 }) {
    return baseline && compared2 ? new _Comparison(new Trace(baseline), compared2) : null;
  }
  /** Return the counterpart of a call; negative if it has none. */
  before(call) {
    return this.#of[call] ?? NEW;
  }
  isNew(call) {
    return this.before(call) === NEW;
  }
  /** Whether the baseline has the call, but only counts it. */
  isCounted(call) {
    return this.before(call) === COUNTED;
  }
  /** Return why a call was not compared in full; empty if it was. */
  unknown(call) {
    return this.#unknown.get(call) ?? "";
  }
  /** Return the counterparts of calls that have one. */
  beforeAll(calls) {
    return calls.map((call) => this.before(call)).filter((call) => call >= 0);
  }
  change(call) {
    return this.#changes[call];
  }
  /** Return missing calls of the baseline: client requests, or calls by some callers. */
  missing(callers) {
    const below = callers ? callers.flatMap((caller) => Array.from(this.baseline.children(caller))) : this.baseline.roots;
    return below.filter((call) => this.#missing[call] === 1);
  }
  /** Return the own time of a model in the baseline; null if it has no such model. */
  ownOf(name) {
    if (!this.#own) {
      const own = /* @__PURE__ */ new Map();
      const { header, calls, own: times, n } = this.baseline;
      for (let call = 0; call < n; call++) {
        const { name: model } = header.models[calls.model[call]];
        own.set(model, (own.get(model) ?? 0) + times[call]);
      }
      for (const [caller, model, , , us] of this.baseline.folded.entries) {
        for (const [id, gained] of [[model, us], [caller, -us]]) {
          const known = header.models[id]?.name;
          if (known) own.set(known, Math.max(0, (own.get(known) ?? 0) + gained));
        }
      }
      this.#own = own;
    }
    return this.#own.get(name) ?? null;
  }
};
function total2(trace, calls) {
  return calls.reduce((sum, call) => sum + trace.duration[call], 0);
}

// src/inspector/inspectbaseline.ts
var NAMES = [
  ["queue", "queue"],
  ["input", "compute input"],
  ["infer", "compute infer"],
  ["child", "in child calls"],
  ["between", "between steps"],
  ["output", "compute output"]
];
var ONLY_COUNTED = "are only counted in the baseline; the times are of the others.";
var SOMETIMES = /* @__PURE__ */ new Set(["child", "between"]);
function besideBaseline(trace, calls) {
  const { comparison } = trace;
  if (!comparison) return [];
  const before2 = comparison.beforeAll(calls);
  const heading2 = h("h4", {}, "Compared with baseline");
  if (before2.length === 0) return [heading2, hint(nothingBeside(comparison, calls))];
  const { baseline } = comparison;
  const known = calls.filter((call) => !comparison.isCounted(call));
  const rows2 = [row2("total", total2(trace, known), total2(baseline, before2))];
  const [now, then] = [trace.phases(known), baseline.phases(before2)];
  for (const [part, name] of NAMES)
    if (!SOMETIMES.has(part) || now[part] > 0 || then[part] > 0)
      rows2.push(row2(name, now[part], then[part]));
  const head = ["", "this", "baseline", "Δ"].map((text) => h("th", { scope: "col" }, text));
  const table = h(
    "table",
    { class: "phases beside" },
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, rows2)
  );
  return [heading2, table, ...notes(comparison, calls, known).map(hint)];
}
function nothingBeside(comparison, calls) {
  return calls.some((call) => comparison.isCounted(call)) ? "The baseline only counts such calls: it was too long to keep all of them." : "New: the baseline has no such call.";
}
function notes(comparison, calls, known) {
  const added = calls.filter((call) => comparison.isNew(call)).length;
  const counted2 = calls.length - known.length;
  const unknown = /* @__PURE__ */ new Map();
  for (const call of calls) {
    const why = comparison.unknown(call);
    if (why) unknown.set(why, (unknown.get(why) ?? 0) + 1);
  }
  return [
    ...added ? [`${count(added)} of these calls are new.`] : [],
    ...counted2 ? [`${count(counted2)} of these calls ${ONLY_COUNTED}`] : [],
    ...[...unknown].map(
      ([why, number]) => calls.length === 1 ? `Not compared: ${why}.` : `${count(number)} not compared: ${why}.`
    )
  ];
}
function hint(text) {
  return h("p", { class: "hint" }, text);
}
function differences(trace, call) {
  const { comparison } = trace;
  const change = comparison?.change(call);
  if (!comparison || !change) {
    const changed = comparison?.changed.has(call) ?? false;
    return changed ? [hint("It differs; how is not in this document.")] : [];
  }
  const items = [...errors(change), ...responses(change), ...said(change), ...tensors(change)];
  const heading2 = h("h4", {}, "Differences", h("span", {}, count(items.length + change.more)));
  const more = change.more ? [hint(`… ${count(change.more)} more`)] : [];
  return [heading2, ...items, ...more];
}
function missingCalls(baseline, calls) {
  const [call] = calls;
  const many = calls.length > 1 ? ` ×${count(calls.length)}` : "";
  const rows2 = [["total", total2(baseline, calls)]];
  const sums = baseline.phases(calls);
  for (const [part, name] of NAMES)
    if (!SOMETIMES.has(part) || sums[part] > 0) rows2.push([name, sums[part]]);
  const error = baseline.header.errors[baseline.id(call)];
  return [
    h("div", { class: "breadcrumb" }, "in the baseline only"),
    h("h3", {}, `${baseline.name(call)}${many}`),
    hint("Missing: this run did not make the call again."),
    h(
      "table",
      { class: "phases" },
      h(
        "tbody",
        {},
        rows2.map(([name, us]) => h("tr", {}, h("th", {}, name), h("td", {}, time(us))))
      )
    ),
    ...error ? [h("div", { class: "error", role: "note" }, h("div", { class: "code" }, error))] : []
  ];
}
function row2(name, now, before2) {
  const tone = toneOf(signOf(now, before2));
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, name),
    h("td", {}, time(now)),
    h("td", {}, time(before2)),
    h("td", { class: `tone-${tone}` }, deltaText(now, before2))
  );
}
function errors({ error }) {
  if (!error) return [];
  const [now, before2] = error;
  return [item("error", now ? `now: ${now}` : "none now", before2 ? `before: ${before2}` : "none before")];
}
function responses({ responses: sent }) {
  return sent ? [item("responses", `${count(sent[0])}, before ${count(sent[1])}`)] : [];
}
function said({ request = [] }) {
  return request.map(
    ([name, now, before2]) => item(name, now ? `now: ${now}` : "none now", before2 ? `before: ${before2}` : "none before")
  );
}
function tensors(change) {
  return change.tensors.map(([role, name, response, words2]) => {
    const number = response > 0 ? ` #${response + 1}` : "";
    return item(`${role === "output" ? "←" : "→"} ${name}${number}`, words2);
  });
}
function item(name, ...lines2) {
  const texts2 = lines2.map((line) => h("div", {}, line));
  return h("div", { class: "difference" }, h("b", { class: "code" }, name), texts2);
}

// src/kernel/connections.ts
var CONNECTED = "blsnb-connected";
var DISCONNECTED = "blsnb-disconnected";
function connections() {
  const page = globalThis;
  return page[/* @__PURE__ */ Symbol.for("blsnb-connections")] ??= /* @__PURE__ */ new Set();
}
function listenWeakly(target, events, changed) {
  const held2 = new WeakRef(target);
  const notify = () => {
    const target2 = held2.deref();
    if (target2) changed(target2);
    else stop();
  };
  const stop = () => events.forEach((each) => globalThis.removeEventListener(each, notify));
  for (const each of events) globalThis.addEventListener(each, notify);
  return stop;
}

// src/kernel/slot.ts
var Slot = class {
  #send;
  #restMs;
  #newest = null;
  #inFlight = false;
  #resting;
  /** Queries that follow each other within `restMs` are not sent until none has come for that time. */
  constructor(send, restMs = 0) {
    this.#send = send;
    this.#restMs = restMs;
  }
  query(query) {
    this.cancel(superseded());
    return new Promise((resolve, reject) => {
      this.#newest = { query, resolve, reject };
      const isBurst = this.#resting !== void 0;
      if (this.#restMs > 0) this.#rest();
      if (!isBurst) void this.#next();
    });
  }
  /** Reject the query that waits. */
  cancel(error) {
    this.#newest?.reject(error);
    this.#newest = null;
  }
  #rest() {
    clearTimeout(this.#resting);
    this.#resting = setTimeout(() => {
      this.#resting = void 0;
      void this.#next();
    }, this.#restMs);
  }
  async #next() {
    const sent = this.#newest;
    if (!sent || this.#inFlight) return;
    this.#newest = null;
    this.#inFlight = true;
    try {
      const answer = await this.#send(sent.query);
      if (this.#newest) sent.reject(superseded());
      else sent.resolve(answer);
    } catch (error) {
      sent.reject(error);
    } finally {
      this.#inFlight = false;
      if (this.#resting === void 0) void this.#next();
    }
  }
};
function superseded() {
  return new QueryError({ code: "superseded", text: "a newer query took its place" });
}

// src/kernel/widget.ts
var VERSION = 1;

// src/kernel/kernel.ts
var QueryError = class extends Error {
  code;
  dropped;
  constructor({ code, text, dropped }) {
    super(text);
    this.code = code;
    this.dropped = dropped;
  }
};
var REST_MS = 40;
var GONE = { code: "gone", text: "the kernel that ran this is gone" };
var PAGE = Math.random().toString(36).slice(2);
var lastId = 0;
var orphans = /* @__PURE__ */ new WeakSet();
var REPLIES = /* @__PURE__ */ new Set(["snapshot", "welcome"]);
function watchKernel(model, lost) {
  const gone = () => {
    orphans.add(model);
    lost();
  };
  const received = (message) => {
    if (REPLIES.has(message?.type ?? "")) orphans.delete(model);
  };
  model.on("comm_live_update", gone);
  model.on("msg:custom", received);
  return () => {
    model.off("comm_live_update", gone);
    model.off("msg:custom", received);
  };
}
var Kernel = class {
  #models;
  /** The model that has answered; others have other runs. */
  #home;
  #name = `${PAGE}-${++lastId}`;
  #tensors;
  #slices = /* @__PURE__ */ new Map();
  #cancels = /* @__PURE__ */ new Set();
  #onFound;
  /** Queries go to the first of the models that has the run; they are listed with each query. */
  constructor(models) {
    this.#models = models;
    this.#tensors = new Slot((query) => this.#query(query), REST_MS);
  }
  /** Query the tensors of a call: a run is named by its page id, a call by its id. */
  tensors(run, call) {
    return this.#tensors.query({ type: "tensors", slot: `${this.#name}/tensors`, run, call });
  }
  slice(query) {
    const place4 = query.tensor;
    const slot = this.#slices.get(place4) ?? new Slot((each) => this.#query(each));
    this.#slices.set(place4, slot);
    return slot.query({ type: "slice", slot: `${this.#name}/slice/${place4}`, ...query });
  }
  /** Execute a call again in the debugger; the answer comes when it has ended. */
  debug(run, call) {
    return this.#query({ type: "action", name: "debug", slot: `${this.#name}/debug`, run, call });
  }
  /** Whether a connection to the kernel has the run, and not only the run's own widget. */
  get isConnected() {
    const home = this.#home;
    return home !== void 0 && connections().has(home) && !orphans.has(home);
  }
  /** Whether no connection is left to be queried: a run is with its widget first, then with a connection. */
  get isSettled() {
    return this.isConnected || ![...this.#models()].some((model) => connections().has(model));
  }
  /** Call back when the model that has the run is found. */
  onFound(found3) {
    this.#onFound = found3;
  }
  dispose() {
    this.#onFound = void 0;
    const closed = new QueryError({ code: "superseded", text: "the view was closed" });
    for (const slot of [this.#tensors, ...this.#slices.values()]) slot.cancel(closed);
    for (const cancel of this.#cancels) cancel(closed);
  }
  async #query(query) {
    const models = [...new Set(this.#models())].filter((model) => !orphans.has(model));
    const { isSettled } = this;
    const home = models.filter((model) => isSettled && model === this.#home);
    if (models.length === 0) throw new QueryError(GONE);
    try {
      const replies = (home.length ? home : models).map((each) => this.#send(each, query));
      return (await Promise.any(replies))();
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
  }
  /** Return how the model answered; throw if it does not have the run. */
  async #send(model, query) {
    try {
      const answer = await this.#sent(model, query);
      this.#find(model);
      return () => answer;
    } catch (error) {
      if (isGone(error)) throw error;
      this.#find(model);
      return () => {
        throw error;
      };
    }
  }
  /** Note a model that has the run; a connection is preferred. */
  #find(model) {
    if (this.isConnected || this.#home === model) return;
    this.#home = model;
    this.#onFound?.();
  }
  #sent(model, query) {
    const id = `${PAGE}-${++lastId}`;
    return new Promise((resolve, reject) => {
      const received = (message, buffers = []) => {
        if (message?.type !== "answer" || message.id !== id) return;
        stop();
        const { error, ...answer } = message;
        const buffer = buffers.length ? ownBuffer(buffers[0]) : new ArrayBuffer(0);
        if (error === void 0) resolve({ ...answer, buffer });
        else reject(new QueryError(error));
      };
      const cancel = (error) => {
        stop();
        reject(error);
      };
      const unwatch = watchKernel(model, () => cancel(new QueryError(GONE)));
      const stop = () => {
        unwatch();
        model.off("msg:custom", received);
        this.#cancels.delete(cancel);
      };
      this.#cancels.add(cancel);
      model.on("msg:custom", received);
      try {
        model.send({ v: VERSION, ...query, id });
      } catch {
        cancel(new QueryError(GONE));
      }
    });
  }
};
function isGone(error) {
  return error instanceof QueryError && error.code === "gone";
}

// src/inspector/debugcall.ts
var WAITING = "The call runs in the debugger: continue there when it has stopped.";
var DebugPart = class {
  #session;
  #button = h(
    "button",
    { type: "button", "data-focus": "debug", onclick: () => void this.#debug() },
    "Debug this call"
  );
  #status = h("span", { class: "hint", role: "status" });
  #element = h("div", { class: "debug" });
  /** Sentences by call id. */
  #said = /* @__PURE__ */ new Map();
  /** Id of the call that is shown. */
  #shown = -1;
  /** Id of the call that has no answer yet; −1 for none. */
  #waiting = -1;
  #stop;
  constructor(session) {
    this.#session = session;
    this.#stop = listenWeakly(this, [CONNECTED, DISCONNECTED], (part) => part.#draw());
  }
  /** Return the button of a call that a model's code has served; it appears with the kernel that has the run. */
  show(call) {
    const { kernel, trace } = this.#session;
    const { backend, kind } = trace.header.models[trace.calls.model[call]] ?? {};
    const isServed = backend === "python" && kind === "model" && trace.calls.execution[call] > 0;
    if (!kernel || !isServed || trace.has(call, Flag.RUNNING)) return [];
    this.#shown = trace.id(call);
    kernel.onFound(() => this.#draw());
    this.#draw();
    return [this.#element];
  }
  dispose() {
    this.#stop();
  }
  #draw() {
    const isConnected = this.#session.kernel?.isConnected ?? false;
    const said2 = this.#said.get(this.#shown) ?? "";
    setText(this.#status, said2);
    this.#button.setAttribute("aria-disabled", String(this.#waiting >= 0));
    const wanted = [...isConnected ? [this.#button] : [], ...isConnected || said2 ? [this.#status] : []];
    if (wanted.length !== this.#element.childElementCount) this.#element.replaceChildren(...wanted);
  }
  async #debug() {
    const { kernel, trace } = this.#session;
    if (!kernel || this.#waiting >= 0) return;
    const id = this.#waiting = this.#shown;
    this.#said.set(id, WAITING);
    this.#draw();
    try {
      const { done } = await kernel.debug(trace.header.run.id, id);
      this.#said.set(id, done ?? "");
    } catch (error) {
      const isClosed = error instanceof QueryError && error.code === "superseded";
      this.#said.set(id, isClosed ? "" : messageOf(error));
    } finally {
      this.#waiting = -1;
      this.#draw();
    }
  }
};

// src/inspector/calllinks.ts
var LISTED_CALLS = 6;
var MAX_CRUMBS = 6;
function callLink(session, call, place4, focus = `call-${session.trace.id(call)}`) {
  const onclick = () => session.select({ kind: "call", call }, { reveal: true });
  return h(
    "button",
    { type: "button", class: "link", onclick, "data-focus": focus },
    h("span", {}, place4),
    h("span", {}, time(session.trace.duration[call]))
  );
}
function callLinks(session, heading2, some) {
  if (some.length === 0) return [];
  const { trace } = session;
  const place4 = (call) => `call ${trace.id(call)} at ${time(trace.start(call))}`;
  const links = some.slice(0, LISTED_CALLS).map((call) => callLink(session, call, place4(call)));
  return [h("h4", {}, heading2), ...links];
}
function breadcrumb(session, call) {
  const path = session.trace.ancestors(call);
  if (path.length === 0) return h("div", { class: "breadcrumb" }, "client request");
  const steps = (callers) => callers.map((each) => crumb(session, each));
  const shown = path.length > MAX_CRUMBS ? [...steps(path.slice(0, 2)), h("span", {}, "…"), ...steps(path.slice(-3))] : steps(path);
  return h(
    "div",
    { class: "breadcrumb" },
    shown.map((each) => [each, " › "])
  );
}
function crumb(session, caller, kind = "crumb") {
  const onclick = () => session.select({ kind: "call", call: caller }, { reveal: true });
  const attributes = { type: "button", class: "crumb", onclick, "data-focus": `${kind}-${session.trace.id(caller)}` };
  return h("button", attributes, session.trace.name(caller));
}

// src/facts/batching.ts
function batchFacts(trace, call) {
  const entries = trace.header.batching[trace.id(call)] ?? [];
  const mates = trace.batch(call).filter((each) => each !== call);
  const size = Math.max(trace.calls.batch[call], mates.length ? mates.length + 1 : 0);
  if (entries.length === 0 && size < 2) return null;
  const joined = entries.filter(([, joins]) => joins).at(-1);
  return {
    size,
    because: joined?.[3] ?? "",
    mates,
    others: others(size - 1 - mates.length, joined?.[4] ?? []),
    apart: entries.filter(([, joins]) => !joins).map((entry) => apart(trace, call, entry))
  };
}
function others(number, runs) {
  if (number <= 0) return "";
  const named = runs.length ? `: runs ${runs.join(", ")}${runs.length === 8 ? ", …" : ""}` : "";
  return `${counted(number, "request")} of other runs${named}`;
}
function apart(trace, call, [execution, , , words2, , times]) {
  const before2 = times > 1 ? `not with ${count(times)} executions before: ` : "";
  const [first = -1] = trace.executed(trace.calls.model[call], execution);
  return { words: before2 + words2, call: first };
}

// src/facts/chips.ts
function chipList(chips2) {
  const shown = chips2.filter(([text]) => text);
  return h(
    "div",
    { class: "chips" },
    shown.map(
      ([text, kind = "", meaning]) => h("span", { class: `chip ${kind}`, title: meaning ?? null }, text)
    )
  );
}
function chipsOf(trace, call) {
  const { header, calls } = trace;
  const request = header.requests[trace.id(call)]?.request_id;
  return [
    [time(trace.duration[call])],
    ...placeOf(trace, call),
    [header.instances[calls.instance[call]] ?? ""],
    [`call ${trace.id(call)}`, "", callMeaning(trace, call)],
    [request ? `request ${request}` : "", "", "The request id, given by the caller."],
    ...statesOf(trace, call)
  ];
}
function callMeaning(trace, call) {
  const id = trace.id(call);
  return `Number of the call in this run, in order of start: run.replay(${id}) repeats it.`;
}
function inShort(trace, call) {
  const [first] = trace.has(call, Flag.DECOUPLED) ? trace.responses(call) : [];
  const states = statesOf(trace, call).map(([text]) => text);
  if (first !== void 0) states.push(`the first after ${time(first)}`);
  return states.join(" · ");
}
function placeOf({ header, calls }, call) {
  const { kind, version, backend, device } = header.models[calls.model[call]];
  if (kind === "span") return [["span"]];
  return [[backend], [device], [version === "" ? "" : `v${version}`]];
}
function statesOf(trace, call) {
  const batch2 = batchFacts(trace, call)?.size ?? 0;
  const states = [
    [batch2 > 1, `batch of ${count(batch2)}`],
    [trace.has(call, Flag.ASYNC), "async"],
    [trace.has(call, Flag.DECOUPLED), counted(trace.calls.responses[call], "response")],
    [trace.has(call, Flag.CACHE_HIT), "cache hit"],
    [trace.has(call, Flag.CANCELLED), "cancelled", "error"],
    [trace.has(call, Flag.RUNNING), "running", "running"],
    [trace.has(call, Flag.ERROR), "error", "error"]
  ];
  return states.filter(([is2]) => is2).map(([, text, kind]) => [text, kind]);
}

// src/facts/tensorfacts.ts
function statistics({ count: size, min, max, mean, std, nan, inf, zeros }) {
  const facts = [
    ["min", value(min)],
    ["mean", value(mean)],
    ["zeros", percent(zeros, size)],
    ["max", value(max)],
    ["std", value(std)],
    ["NaN", count(nan)]
  ];
  if (inf) facts.push(["Inf", count(inf)]);
  return factGrid(facts);
}
function factGrid(facts) {
  return h(
    "div",
    { class: "facts" },
    facts.map(([name, text]) => h("div", {}, name, h("b", {}, text)))
  );
}
function distribution({ low, high, counts }, what, show = value) {
  const [width, height] = [6, 46];
  const most = Math.max(1, ...counts);
  const bars = counts.map((each, k) => {
    const tall = each ? Math.max(1.5, each / most * (height - 4)) : 0;
    return svg("rect", {
      class: "fill-infer",
      x: k * width + 0.5,
      y: height - tall,
      width: width - 1,
      height: tall
    });
  });
  const label2 = `Histogram of ${what} from ${show(low)} to ${show(high)}`;
  const box = {
    class: "histogram",
    viewBox: `0 0 ${counts.length * width} ${height}`,
    preserveAspectRatio: "none"
  };
  const picture = svg("svg", { ...box, role: "img", "aria-label": label2 }, bars);
  const bounds = h(
    "div",
    { class: "caption" },
    h("span", {}, show(low)),
    h("span", {}, show(high))
  );
  return [h("div", {}, picture), bounds];
}
function isEmptyText(preview) {
  return preview.kind === "text" && preview.strings.length === 0;
}
function texts({ strings, count: all2 }) {
  const lines2 = strings.map(
    (text, k) => h("div", {}, h("span", { class: "number" }, String(k)), h("span", {}, text))
  );
  const list = h(
    "div",
    { class: "strings code", tabindex: 0, role: "group", "aria-label": "Strings" },
    lines2
  );
  return strings.length < all2 ? [list, h("div", { class: "caption" }, `first ${count(strings.length)} of ${count(all2)}`)] : [list];
}

// src/facts/device.ts
var MAX_LISTED = 12;
function copied(trace, calls) {
  const sums = { bytes: 0, us: 0 };
  for (const call of calls) {
    sums.bytes += trace.calls.copy_bytes[call];
    sums.us += trace.calls.copy_us[call];
  }
  return sums;
}
function deviceWork(trace, calls) {
  const sums = copied(trace, calls);
  const [call] = calls;
  const single = calls.length === 1;
  const use = single ? trace.header.device_use[trace.id(call)] : void 0;
  if (sums.us === 0 && sums.bytes === 0 && !use) return [];
  const facts = [];
  if (use) {
    const [, us, inUse, peak] = use;
    facts.push(["compute", time(us)], ["in use", bytes(inUse)], ["peak", bytes(peak)]);
  }
  if (sums.us || sums.bytes) facts.push(["copied", bytes(sums.bytes)], ["in", time(sums.us)]);
  const copies = single ? trace.header.copies[trace.id(call)] ?? [] : [];
  return [
    h("h4", {}, "Device", h("span", {}, use?.[0] ?? "copies")),
    factGrid(facts),
    ...copies.slice(0, MAX_LISTED).map(row3),
    ...copies.length > MAX_LISTED ? [h("p", { class: "reason" }, `… ${count(copies.length - MAX_LISTED)} more`)] : []
  ];
}
function row3([, us, tensor, size, source, target, hostile]) {
  const why = hostile ? ", by hostile placement" : "";
  const words2 = `${tensor}: ${source} → ${target}, ${bytes(size)} in ${time(us)}${why}`;
  return h("p", { class: "reason" }, words2);
}

// src/inspector/latency.ts
var BINS = 36;
var FAR_OUT = 3;
var LEAST_US = 1;
var MIN_FOR_HISTOGRAM = 4;
function latency(durations, gone) {
  const kept = durations.map((us) => [us, 1]);
  const all2 = [...kept, ...gone?.latencies ?? []].sort(([a], [b]) => a - b);
  const calls = all2.reduce((sum, [, each]) => sum + each, 0);
  const within = calls > kept.length ? h("span", {}, `all ${count(calls)}, within 5 %`) : "";
  const heading2 = h("h4", {}, "Latency per call", within);
  const alike = time(all2[0]?.[0] ?? NaN) === time(all2[all2.length - 1]?.[0] ?? NaN);
  const shape2 = calls < MIN_FOR_HISTOGRAM || alike ? [] : histogram(all2, calls);
  return [heading2, factGrid(quantiles(all2, calls)), ...shape2];
}
function quantiles(all2, calls) {
  const quantile = (share) => time(quantileOf(all2, calls, share));
  const mean = all2.reduce((sum, [us, each]) => sum + us * each, 0) / calls;
  return [
    ["p50", quantile(0.5)],
    ["p90", quantile(0.9)],
    ["p99", quantile(0.99)],
    ["min", quantile(0)],
    ["max", quantile(1)],
    ["mean", time(mean)]
  ];
}
function quantileOf(all2, calls, share) {
  const at2 = Math.min(calls - 1, Math.floor(share * calls));
  let before2 = 0;
  for (const [us, each] of all2) if ((before2 += each) > at2) return us;
  return NaN;
}
function histogram(all2, calls) {
  const [low, most] = [all2[0][0], all2[all2.length - 1][0]];
  const usual = quantileOf(all2, calls, 0.9);
  const high = most > Math.max(LEAST_US, FAR_OUT * usual) ? Math.max(LEAST_US, 1.5 * usual) : most;
  const counts = new Array(BINS).fill(0);
  let beyond = 0;
  for (const [us, each] of all2)
    if (us > high) beyond += each;
    else counts[Math.min(BINS - 1, Math.floor((us - low) / (high - low) * BINS))] += each;
  const more = beyond ? `, ${count(beyond)} more up to ${time(most)}` : "";
  const show = (each) => time(each ?? NaN) + (each === high ? more : "");
  return distribution({ low, high, counts }, "latencies", show);
}

// src/inspector/responses.ts
function timesOf(trace, calls) {
  const times = { streams: 0, responses: 0, first: [], gaps: [] };
  for (const call of calls) {
    const sent = trace.responses(call);
    if (!trace.has(call, Flag.DECOUPLED) || sent.length === 0) continue;
    times.streams++;
    times.responses += trace.calls.responses[call];
    times.first.push(sent[0]);
    for (const gap2 of trace.gaps(call)) times.gaps.push(gap2);
  }
  for (const each of [times.first, times.gaps]) each.sort((a, b) => a - b);
  return times;
}
function responseTimes(trace, calls) {
  const { streams, responses: responses2, first, gaps } = timesOf(trace, calls);
  if (streams === 0) return [];
  const heading2 = h("h4", {}, "Responses", h("span", {}, counted(responses2, "response")));
  if (streams === 1) {
    const facts = [["first", at(first, 0)]];
    if (gaps.length) facts.push(["gap", at(gaps, 0.5)], ["max gap", at(gaps, 1)]);
    return [heading2, factGrid(facts)];
  }
  return [heading2, ...spread3("first", first), ...spread3("between them", gaps)];
}
function spread3(what, us) {
  if (us.length === 0) return [];
  const facts = [
    ["p50", at(us, 0.5)],
    ["p90", at(us, 0.9)],
    ["max", at(us, 1)]
  ];
  return [h("div", { class: "caption" }, h("span", {}, what)), factGrid(facts)];
}
function at(us, share) {
  return time(us[Math.min(us.length - 1, Math.floor(share * us.length))]);
}

// src/inspector/inspectcalls.ts
function manyCalls(session, selection, profile) {
  const { trace } = session;
  const calls = callsOf(trace, selection);
  const gone = countedOf(trace, selection, calls);
  const slowest = [...calls].sort((a, b) => trace.duration[b] - trace.duration[a]);
  const durations = slowest.map((call) => trace.duration[call]);
  const changed = calls.filter((call) => trace.comparison?.changed.has(call));
  const what = selection.kind === "fold" ? "calls to one model from the same caller" : "model";
  return [
    h("div", { class: "breadcrumb" }, what),
    h("h3", {}, trace.names[selection.model]),
    chipList(chips(trace, selection.model, calls, gone)),
    ...gone ? [onlyCounted(calls.length, gone)] : [],
    ...phaseTable(trace, calls),
    ...profile.show(`${selection.kind} ${selection.kind === "fold" ? selection.key : selection.model}`, selection.model, calls),
    ...besideBaseline(trace, calls),
    ...latency(durations, gone),
    ...responseTimes(trace, calls),
    ...deviceWork(trace, calls),
    ...callLinks(session, "Changed calls", changed),
    ...callLinks(session, "Failed calls", trace.failedOf(calls)),
    ...callLinks(session, "Slowest calls", slowest)
  ];
}
function factsOfCalls(trace, selection) {
  return `${callsOf(trace, selection).length} ${trace.wall}`;
}
function callsOf(trace, selection) {
  if (selection.kind === "fold") return selection.calls;
  return Array.from({ length: trace.n }, (_, call) => call).filter(
    (call) => trace.calls.model[call] === selection.model
  );
}
function countedOf({ folded }, selection, calls) {
  return selection.kind === "fold" ? folded.beside(calls) : folded.of(selection.model);
}
function chips(trace, model, calls, gone) {
  const { backend, device } = trace.header.models[model];
  const failed = calls.filter((call) => trace.has(call, Flag.ERROR)).length;
  const errors2 = failed + (gone?.errors ?? 0);
  return [
    [counted(calls.length + (gone?.calls ?? 0), "call")],
    [backend],
    [device],
    [errors2 ? counted(errors2, "error") : "", "error"]
  ];
}
function onlyCounted(kept, { calls, us }) {
  const mean = `${time(us)} in all, ${time(us / calls)} on average`;
  const text = `${counted(calls, "call")} are only counted: ${mean}. Phases and links below: of the ${count(kept)} kept.`;
  return h("p", { class: "note" }, text);
}

// src/inspector/inspectmodels.ts
var MAX_LISTED2 = 100;
function manyModels(session, models) {
  const rows2 = rowsOf(session.trace, models);
  const hidden = rows2.length - MAX_LISTED2;
  return [
    h("div", { class: "breadcrumb" }, "the smallest by own time"),
    h("h3", {}, counted(models.length, "model")),
    h("h4", {}, "Model", h("span", {}, "own time")),
    ...rows2.slice(0, MAX_LISTED2).map((row5) => link(session, row5)),
    ...hidden > 0 ? [h("p", { class: "reason" }, `… ${counted(hidden, "more model")}`)] : []
  ];
}
function rowsOf(trace, models) {
  const rows2 = new Map(models.map((model) => [model, { model, calls: 0, own: 0 }]));
  for (let call = 0; call < trace.n; call++) {
    const row5 = rows2.get(trace.calls.model[call]);
    if (!row5) continue;
    row5.calls++;
    row5.own += trace.own[call];
  }
  return [...rows2.values()].sort((a, b) => b.own - a.own);
}
function link(session, { model, calls, own }) {
  const { model: models } = session.trace.calls;
  const onclick = () => session.select(
    calls === 1 ? { kind: "call", call: models.indexOf(model) } : { kind: "model", model },
    { reveal: true }
  );
  const times = calls > 1 ? ` ×${count(calls)}` : "";
  return h(
    "button",
    { type: "button", class: "link", onclick, "data-focus": `model-${model}` },
    h("span", {}, `${session.trace.names[model]}${times}`),
    h("span", {}, time(own))
  );
}

// src/inspector/inspectlines.ts
function timedLines(files = []) {
  const most = Math.max(...files.flatMap(([, lines2]) => lines2.map((line) => line?.[2] ?? 0)), 1e-9);
  return files.flatMap(([file, lines2]) => [
    h("h4", {}, `Exact lines of ${file}`, h("span", {}, "time without child calls")),
    h(
      "div",
      { class: "timed", tabindex: 0, role: "group", "aria-label": `Lines of ${file}` },
      h(
        "table",
        { class: "code" },
        h("thead", {}, h("tr", {}, ["line", "hits", "time", "in calls", "source"].map((each) => h("th", { scope: "col" }, each)))),
        h("tbody", {}, lines2.map((line) => line ? row4(line, most) : gap()))
      )
    )
  ]);
}
function row4([place4, hits, us, calls, text], most) {
  const number = place4.slice(place4.search(/\d+$/));
  const share = Math.round(100 * us / most);
  const heat = hits ? { background: `linear-gradient(to right, var(--heat) ${share}%, transparent ${share}%)` } : {};
  const cell = (shown) => h("td", { class: "figure" }, shown);
  return h(
    "tr",
    { title: place4, class: hits ? "" : "idle" },
    h("th", { scope: "row" }, number),
    cell(hits ? count(hits) : ""),
    h("td", { class: "figure", style: heat }, hits ? time(us) : ""),
    cell(calls ? time(calls) : ""),
    h("td", { class: "text" }, text || " ")
  );
}
function gap() {
  return h("tr", { class: "idle" }, h("td", {}, "…"));
}

// src/trace/sequences.ts
var found2 = /* @__PURE__ */ new WeakMap();
function sequenceOf(trace, call) {
  const id = trace.header.requests[trace.id(call)]?.correlation_id;
  if (id === void 0) return null;
  const calls = sequences(trace).get(call) ?? [call];
  return { id, calls, position: calls.indexOf(call) };
}
function sequences(trace) {
  let known = found2.get(trace);
  if (!known) found2.set(trace, known = bySequence(trace));
  return known;
}
function bySequence(trace) {
  const [open, of] = [/* @__PURE__ */ new Map(), /* @__PURE__ */ new Map()];
  const { requests } = trace.header;
  for (const key of Object.keys(requests)) {
    const call = trace.at(Number(key));
    const { correlation_id: id, sequence_start: starts } = requests[key];
    if (call < 0 || id === void 0) continue;
    const name = `${trace.calls.model[call]} ${id}`;
    const known = starts ? void 0 : open.get(name);
    const calls = known ?? [];
    if (!known) open.set(name, calls);
    calls.push(call);
    of.set(call, calls);
  }
  return of;
}

// src/inspector/requests.ts
var FIELDS = [
  "version",
  "correlation_id",
  "sequence_start",
  "sequence_end",
  "priority",
  "timeout_us"
];
var MAX_LISTED3 = 24;
function requestFacts(trace, call) {
  const { requests, response_parameters } = trace.header;
  const id = trace.id(call);
  const request = fieldsOf(requests[id] ?? {}, before(trace, call));
  const responses2 = (response_parameters[id] ?? []).flatMap(
    ([number, pairs]) => pairs.map(([name, text]) => [number > 0 ? `#${number + 1} ${name}` : name, text])
  );
  const parameters = (requests[id]?.parameters ?? []).map(([name, text]) => [name, text]);
  return [
    ...section("Request", request),
    ...section("Request parameters", parameters),
    ...section("Response parameters", responses2)
  ];
}
function sequenceLinks(session, call) {
  const { trace } = session;
  const found3 = sequenceOf(trace, call);
  if (!found3) return [];
  const { id, position, calls } = found3;
  const place4 = `request ${count(position + 1)} of ${count(calls.length)} in this run`;
  const link2 = (at2, words2) => at2 < 0 || at2 >= calls.length ? [] : [callLink(session, calls[at2], `${words2}: call ${trace.id(calls[at2])}`, words2)];
  return [
    h("h4", {}, `Sequence ${id}`, h("span", {}, place4)),
    ...link2(position - 1, "previous"),
    ...link2(position + 1, "next")
  ];
}
function before({ comparison }, call) {
  const other = comparison ? comparison.before(call) : -1;
  if (!comparison || other < 0) return void 0;
  return comparison.baseline.header.requests[comparison.baseline.id(other)] ?? {};
}
function fieldsOf(entry, baseline) {
  const names = baseline ? ["request_id", ...FIELDS] : FIELDS;
  return names.flatMap((name) => {
    const [text, was] = [entry[name] ?? "", baseline?.[name] ?? ""];
    const differs = baseline !== void 0 && text !== was;
    if (name === "request_id" && !differs) return [];
    return text || differs ? [[name, text || "none", differs ? was || "none" : void 0]] : [];
  });
}
function section(title, facts) {
  if (facts.length === 0) return [];
  const rows2 = facts.slice(0, MAX_LISTED3).map(
    ([name, text, was]) => h(
      "tr",
      {},
      h("th", { scope: "row", class: "code" }, name),
      h("td", { class: "code" }, text, ...was === void 0 ? [] : [h("div", {}, `before: ${was}`)])
    )
  );
  const hidden = facts.length - MAX_LISTED3;
  const more = hidden > 0 ? [h("p", { class: "hint" }, `… ${counted(hidden, "more parameter")}`)] : [];
  return [h("h4", {}, title), h("table", { class: "said" }, h("tbody", {}, rows2)), ...more];
}

// src/inspector/source.ts
var CONTEXT_LINES = 2;
var MAX_BEFORE = 12;
function sourceLines(session, call) {
  const { trace } = session;
  const [caller, line] = [trace.calls.parent[call], trace.calls.line[call]];
  if (caller < 0 || line === 0) return [];
  const text = trace.header.sources[trace.calls.model[caller]];
  const lines2 = text?.trimEnd().split("\n") ?? [];
  if (line > lines2.length) return [];
  const begun = beginningOf(lines2, line);
  const first = Math.max(1, Math.min(begun, line - CONTEXT_LINES));
  const around = lines2.slice(first - 1, line + CONTEXT_LINES);
  const indent = Math.min(...around.filter((each) => each.trim()).map((each) => each.search(/\S/)));
  const origin = trace.header.models[trace.calls.model[caller]].origin;
  const above = origin?.[1] ?? 0;
  const shown = around.map((each, k) => {
    const number = first + k;
    const part = number >= begun && number <= line;
    return sourceLine(each.slice(indent), number + above, part, number === line);
  });
  const place4 = origin ? `${origin[0]} line ${line + above}` : `model.py:${line}`;
  const inFile = origin ? `model.py:${line}` : null;
  const title = h(
    "h4",
    {},
    h("span", {}, "Called by ", crumb(session, caller, "caller")),
    h("span", { title: inFile }, place4)
  );
  return [
    title,
    h(
      "div",
      { class: "source code", tabindex: 0, role: "group", "aria-label": "Source of the call" },
      shown
    )
  ];
}
function beginningOf(lines2, line) {
  const closing = /^\s*[)\]}]/;
  if (!closing.test(lines2[line - 1])) return line;
  const indent = lines2[line - 1].search(/\S/);
  for (let before2 = line - 1; before2 >= Math.max(1, line - MAX_BEFORE); before2--) {
    const text = lines2[before2 - 1];
    if (text.search(/\S/) === indent && !closing.test(text)) return before2;
  }
  return line;
}
function sourceLine(text, number, part, called) {
  const kind = called ? "here" : part ? "part" : "";
  const attributes = { class: kind, "aria-current": called ? "location" : null };
  return h(
    "div",
    attributes,
    h("span", { class: "number" }, String(number)),
    h("span", {}, text || " ")
  );
}

// src/tensors/picture.ts
var SEQUENTIAL = [
  "#00224e",
  "#1a386f",
  "#434e6c",
  "#5f6270",
  "#7d7c78",
  "#9c9074",
  "#bda269",
  "#dfbb4e",
  "#fee838"
];
var DIVERGING = [
  "#084081",
  "#4389be",
  "#9ecae1",
  "#deebf2",
  "#f7f6f3",
  "#fae2c8",
  "#f5b06e",
  "#d6701c",
  "#8c3c04"
];
var NOT_A_NUMBER = 255;
var LEVELS = 254;
var MIN_SIDE = 8;
function pixelsOf(preview, data) {
  return preview.kind === "image" ? imagePixels(data) : gridPixels(preview, data);
}
function imagePixels(data) {
  const pixels = new Uint8ClampedArray(data.length / 3 * 4).fill(255);
  for (let from = 0, to = 0; from < data.length; from += 3, to += 4) {
    pixels.set(data.subarray(from, from + 3), to);
  }
  return pixels;
}
function gridPixels(preview, data) {
  const table = colourTable(preview);
  const pixels = new Uint8ClampedArray(data.length * 4);
  data.forEach((level, k) => level !== NOT_A_NUMBER && pixels.set(table[level], 4 * k));
  return pixels;
}
function scaleOf({ low, high }) {
  const [from, to] = [low ?? 0, high ?? 0];
  const most = Math.max(-from, to);
  return from < 0 && to > 0 ? [-most, most] : [from, to];
}
function scaleColours(preview) {
  const [from, to] = scaleOf(preview);
  return from < 0 && to > 0 ? DIVERGING : SEQUENTIAL;
}
function valueOf({ low, high }, level) {
  if (level === NOT_A_NUMBER || low === null || high === null) return null;
  return low + level / LEVELS * (high - low);
}
function colourTable(preview) {
  const [from, to] = scaleOf(preview);
  const stops = scaleColours(preview).map(channels);
  return Array.from({ length: LEVELS + 1 }, (_, level) => {
    const value2 = valueOf(preview, level) ?? from;
    return blend(stops, to > from ? (value2 - from) / (to - from) : 0.5);
  });
}
function channels(colour) {
  return [1, 3, 5].map((at2) => parseInt(colour.slice(at2, at2 + 2), 16));
}
function blend(stops, share) {
  const at2 = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const lower = Math.min(stops.length - 2, Math.floor(at2));
  const mixed = stops[lower].map((from, k) => from + (stops[lower + 1][k] - from) * (at2 - lower));
  return Uint8ClampedArray.of(...mixed, 255);
}
function proportion([rows2, columns]) {
  return Math.min(8, Math.max(1 / 4, columns / rows2));
}
function imageLayout(shape2, datatype) {
  if (datatype === "BYTES" || shape2.length < 3) return null;
  const [first, middle2, last] = shape2.slice(-3);
  if ([1, 3, 4].includes(last) && Math.min(first, middle2) >= MIN_SIDE) return "HWC";
  return first === 3 && Math.min(middle2, last) >= MIN_SIDE ? "CHW" : null;
}
function leadingAxes(shape2, mode) {
  if (mode === "grid" && imageLayout(shape2, "") === "HWC")
    return [...shape2.slice(0, -3), shape2[shape2.length - 1]];
  return shape2.slice(0, Math.max(0, shape2.length - (mode === "image" ? 3 : 2)));
}

// src/tensors/cells.ts
var MAX_COLUMNS = 6;
var MAX_CHARACTERS = 7;
var LIGHT = 118;
function columnsOf(picture) {
  if (picture.kind !== "grid" || !picture.values?.length) return 0;
  if (picture.rows === 1) return Math.min(MAX_COLUMNS, picture.columns);
  return picture.columns <= MAX_COLUMNS ? picture.columns : 0;
}
function shortened(text) {
  const number = Number(text);
  if (text.length <= MAX_CHARACTERS || !Number.isFinite(number)) return text;
  const roundings = [5, 4, 3, 2].map((digits) => number.toPrecision(digits));
  return roundings.find((each) => each.length <= MAX_CHARACTERS) ?? number.toExponential(1);
}
function cells(picture, data) {
  const pixels = pixelsOf(picture, data);
  return (picture.values ?? []).map((text, k) => {
    const [red, green, blue, alpha] = pixels.subarray(4 * k, 4 * k + 4);
    const at2 = [...picture.rows > 1 ? [Math.floor(k / picture.columns)] : [], k % picture.columns];
    const attributes = { title: `[${at2.join(", ")}] ${text}` };
    if (alpha === 0) return h("span", attributes, shortened(text));
    const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue > LIGHT;
    const style = {
      background: `rgb(${red} ${green} ${blue})`,
      color: light ? "#000000" : "#ffffff"
    };
    return h("span", { ...attributes, style }, shortened(text));
  });
}

// src/tensors/slice.ts
var BUSY_AFTER_MS = 300;
var MAX_HEIGHT2 = 230;
var [MIN_HEIGHT2, ROW_HEIGHT] = [36, 28];
var SliceView = class {
  element = h("div", { class: "slice" });
  #source;
  #state;
  #picture;
  #buffer;
  #canvas = h("canvas", { class: "picture", role: "img" });
  #cells = h("div", { class: "cells", role: "group" });
  #size = h("span");
  #scale = h("i", { class: "scale", "aria-hidden": "true" });
  #range = h("span");
  #note = h("div", { class: "caption", role: "status" });
  #requested = 0;
  constructor(source, preview, state) {
    this.#source = source;
    this.#buffer = source.buffer;
    this.#picture = preview;
    this.#state = state ?? { mode: preview.kind, index: [...preview.index] };
    this.#canvas.addEventListener("pointermove", (event) => this.#read(event));
    this.#canvas.addEventListener("pointerleave", () => this.#caption());
    this.#fill();
    if (state && (state.mode !== preview.kind || state.index.join() !== preview.index.join())) this.#show();
  }
  get state() {
    return this.#state;
  }
  #fill() {
    const range = h("span", {}, this.#scale, this.#range);
    const caption = h("div", { class: "caption" }, this.#size, range);
    this.element.replaceChildren(
      ...this.#modes(),
      this.#canvas,
      this.#cells,
      caption,
      this.#note,
      ...this.#sliders(),
      ...this.#unreachable()
    );
    this.#paint();
  }
  #modes() {
    const { shape: shape2, datatype } = this.#source.entry;
    if (!imageLayout(shape2, datatype) || !(this.#source.kernel || this.#embedded("image")))
      return [];
    const button = (mode, text) => h(
      "button",
      {
        type: "button",
        "aria-pressed": String(this.#state.mode === mode),
        onclick: () => this.#setMode(mode)
      },
      text
    );
    const group = { class: "segments", role: "group", "aria-label": "View" };
    return [h("div", group, button("image", "image"), button("grid", "heatmap"))];
  }
  #setMode(mode) {
    const axes = leadingAxes(this.#source.entry.shape, mode);
    this.#state = { mode, index: axes.map((_, axis) => this.#state.index[axis] ?? 0) };
    this.#fill();
    this.#show();
    const pressed = this.element.querySelector("[aria-pressed=true]");
    pressed?.focus();
  }
  #sliders() {
    const axes = leadingAxes(this.#source.entry.shape, this.#state.mode);
    return axes.flatMap((size, axis) => size > 1 ? [this.#slider(size, axis)] : []);
  }
  /** Return why the sliders are disabled. */
  #unreachable() {
    const axes = leadingAxes(this.#source.entry.shape, this.#state.mode);
    if (this.#source.kernel || !axes.some((size) => size > 1)) return [];
    const how = "Other slices are in the kernel that ran this: run.widget() can show them.";
    return [h("p", { class: "hint" }, how)];
  }
  #slider(size, axis) {
    const place4 = h("span", {}, `${this.#state.index[axis] ?? 0} / ${size - 1}`);
    const disabled = this.#source.kernel === null;
    const attributes = {
      type: "range",
      min: 0,
      max: size - 1,
      step: 1,
      value: this.#state.index[axis] ?? 0
    };
    const oninput = (event) => {
      this.#state.index[axis] = Number(event.target.value);
      setText(place4, `${this.#state.index[axis]} / ${size - 1}`);
      this.#show();
    };
    const input = h("input", {
      ...attributes,
      disabled,
      oninput,
      "aria-label": `axis ${axis}`
    });
    return h(
      "div",
      { class: "slider" },
      h("span", { class: "code" }, `axis ${axis}`),
      input,
      place4
    );
  }
  /** Return the embedded preview of a mode. */
  #embedded(mode) {
    const { preview, grid, image } = this.#source.entry;
    const found3 = [preview, grid, image].find((each) => each?.kind === mode);
    return found3 && found3.kind !== "text" ? found3 : null;
  }
  /** Show the chosen slice: the embedded one, else the answer of the kernel. */
  #show() {
    const embedded = this.#embedded(this.#state.mode);
    const { kernel } = this.#source;
    if (embedded && (!kernel || embedded.index.join() === this.#state.index.join())) {
      this.#requested++;
      this.#take(embedded, this.#source.buffer);
    } else if (kernel) this.#request(kernel);
  }
  async #request(kernel) {
    const number = ++this.#requested;
    const busy = setTimeout(() => this.#showNote("the kernel is busy"), BUSY_AFTER_MS);
    const { run, call, tensor } = this.#source;
    try {
      const { mode, index } = this.#state;
      const answer = await kernel.slice({ run, call, tensor, mode, index: [...index] });
      if (number === this.#requested) this.#answered(answer);
    } catch (error) {
      const superseded2 = error instanceof QueryError && error.code === "superseded";
      if (number === this.#requested && !superseded2) this.#showNote(messageOf(error));
    } finally {
      clearTimeout(busy);
    }
  }
  #answered({ preview, buffer }) {
    if (preview && preview.kind !== "text") this.#take(preview, buffer);
  }
  #take(picture, buffer) {
    this.#picture = picture;
    this.#buffer = buffer;
    this.#showNote("");
    this.#paint();
  }
  #showNote(text) {
    setText(this.#note, text);
  }
  #paint() {
    const { rows: rows2, columns } = this.#picture;
    const inLine = columnsOf(this.#picture);
    const shown = inLine ? this.#cells : this.#canvas;
    this.#cells.hidden = inLine === 0;
    this.#canvas.hidden = inLine > 0;
    shown.setAttribute("aria-label", `${this.#source.entry.name}, ${rows2} × ${columns}`);
    if (inLine) this.#write(inLine);
    else this.#draw();
    this.#caption();
  }
  #write(inLine) {
    if (this.#picture.kind !== "grid") return;
    this.#cells.style.gridTemplateColumns = `repeat(${inLine}, minmax(0, 1fr))`;
    this.#cells.replaceChildren(...cells(this.#picture, this.#bytes()));
  }
  #draw() {
    const { rows: rows2, columns } = this.#picture;
    const pen2 = this.#canvas.getContext("2d");
    if (!pen2 || rows2 === 0 || columns === 0) return;
    this.#canvas.width = columns;
    this.#canvas.height = rows2;
    const ratio = proportion(this.#picture.of);
    const height = Math.min(MAX_HEIGHT2, Math.max(MIN_HEIGHT2, ROW_HEIGHT * rows2));
    this.#canvas.style.aspectRatio = String(ratio);
    this.#canvas.style.width = `min(100%, ${Math.round(ratio * height)}px)`;
    pen2.putImageData(new ImageData(pixelsOf(this.#picture, this.#bytes()), columns, rows2), 0, 0);
  }
  #bytes() {
    const [offset, size] = this.#picture.data;
    return new Uint8Array(this.#buffer, offset, size);
  }
  #caption() {
    const { rows: rows2, columns, of } = this.#picture;
    const whole = of[0] === rows2 && of[1] === columns;
    const reduced = this.#picture.kind === "grid" && this.#picture.reduced ? ` by ${this.#picture.reduced}` : "";
    const size = whole ? `${rows2} × ${columns}` : `${rows2} × ${columns} of ${of[0]} × ${of[1]}${reduced}`;
    setText(this.#size, `${this.#place()}${size}`);
    const scale = this.#picture.kind === "grid" ? this.#picture : null;
    const isFinite = scale !== null && scale.low !== null;
    this.#scale.hidden = !isFinite;
    if (isFinite) this.#scale.style.background = `linear-gradient(90deg, ${scaleColours(scale)})`;
    const range = isFinite ? scaleOf(scale).map(value).join(" … ") : "no finite value";
    setText(this.#range, scale ? range : "");
  }
  /** Return the index of the picture, if there are other slices; a slider may be ahead of it. */
  #place() {
    const { kind, index } = this.#picture;
    const axes = leadingAxes(this.#source.entry.shape, kind);
    return axes.some((size) => size > 1) ? `[${index.join(", ")}, …]  ` : "";
  }
  /** Show the value under the pointer. */
  #read(event) {
    if (this.#picture.kind !== "grid") return;
    const { rows: rows2, columns, of } = this.#picture;
    const box = this.#canvas.getBoundingClientRect();
    const column2 = Math.floor((event.clientX - box.left) / box.width * columns);
    const row5 = Math.floor((event.clientY - box.top) / box.height * rows2);
    if (row5 < 0 || column2 < 0 || row5 >= rows2 || column2 >= columns) return this.#caption();
    const level = this.#bytes()[row5 * columns + column2];
    const at2 = [Math.floor(row5 * of[0] / rows2), Math.floor(column2 * of[1] / columns)];
    setText(this.#range, `[${at2.join(", ")}] ≈ ${value(valueOf(this.#picture, level))}`);
  }
};

// src/tensors/tensors.ts
var INITIAL_TENSORS = 24;
var MAX_TENSORS = 200;
var FRESH_MS = 2e3;
var SHARE = 10;
var FEW_VALUES = 32;
var EMPTY = "It has no elements.";
var NOT_ALL = `The view lists the first ${MAX_TENSORS} tensors of a call; its span in run.trace has all that are kept.`;
var WHAT_HELPS = "Run the cell again; or, while its kernel lives, run.widget() shows each tensor that is kept. run.keep() pins a run, and blsnb.options.embed_previews embeds previews.";
var HEADINGS = [
  ["input", "Inputs"],
  ["output", "Outputs"]
];
function hasFewValues(entries = []) {
  const size = ({ shape: axes }) => axes.reduce((all2, axis) => all2 * axis, 1);
  return entries.length > 0 && entries.length <= 4 && entries.every((each) => size(each) <= FEW_VALUES);
}
function keyOf({ role, name, response }) {
  return `${role}/${name}/${response}`;
}
var TensorList = class {
  #session;
  /** What was opened is kept from call to call. */
  #state = { opened: /* @__PURE__ */ new Map(), slices: /* @__PURE__ */ new Map() };
  /** Answers by call id. */
  #answers = /* @__PURE__ */ new Map();
  /** When a running call may be queried again, by call id. */
  #fresh = /* @__PURE__ */ new Map();
  /** Pending queries by call id: a repaint must not send another one. */
  #pending = /* @__PURE__ */ new Map();
  #shown = -1;
  constructor(session) {
    this.#session = session;
  }
  /** A copy of what is open, to be handed over. */
  get state() {
    return structuredClone(this.#state);
  }
  set state(state) {
    this.#state = state;
  }
  /** Discard the answers of an earlier kernel. */
  forget() {
    this.#answers.clear();
    this.#fresh.clear();
    this.#pending.clear();
  }
  /** Return the tensors of a call; they are replaced when the kernel answers. */
  show(call) {
    const element = h("div", { class: "tensors" });
    const { trace } = this.#session;
    const id = trace.id(call);
    this.#shown = id;
    const known = this.#answers.get(id);
    const embedded = this.#embedded(id);
    if (known) this.#fill(element, id, known);
    else if (embedded) this.#fill(element, id, embedded);
    const { kernel } = this.#session;
    if (kernel && (!known || this.#isStale(call) || !kernel.isSettled))
      this.#request(element, call, Boolean(known ?? embedded));
    else if (!known && !embedded) element.append(...this.#nothing());
    return element;
  }
  /** Return what the document has of a call, and why values are missing. */
  #embedded(id) {
    const { header } = this.#session.trace;
    const tensors2 = header.tensors[id];
    if (!tensors2) return void 0;
    const gone = tensors2.some(({ evicted }) => evicted);
    return { tensors: tensors2, lacks: gone ? header.run.lacks ?? "values are no longer kept" : "", buffer: this.#session.buffer };
  }
  /** Whether a running call may have more tensors by now, or has ended. */
  #isStale(call) {
    const until = this.#fresh.get(this.#session.trace.id(call));
    if (until === void 0) return false;
    return performance.now() > until || !this.#session.trace.has(call, Flag.RUNNING);
  }
  #nothing() {
    const { lost, saved, state } = this.#session.trace.header.run;
    const text = lost ? "Not kept: the kernel that ran this is gone." : saved ? "Not kept: the run was still executing when this was saved." : state === "running" ? "Shown when the run has ended." : `Not embedded in this document. ${WHAT_HELPS}`;
    return [h("h4", {}, "Tensors"), h("p", { class: "hint" }, text)];
  }
  async #request(element, call, filled2) {
    const note = h("p", { class: "hint", role: "status" });
    if (!filled2) element.append(h("h4", {}, "Tensors"), note);
    const busy = setTimeout(() => setText(note, "the kernel is busy"), BUSY_AFTER_MS);
    const id = this.#session.trace.id(call);
    try {
      const answer = await this.#query(call);
      if (answer.dropped) this.#session.noteDropped(answer.dropped);
      if (this.#shown === id) this.#fill(element, id, answer);
    } catch (error) {
      this.#failed(error, element, note);
    } finally {
      clearTimeout(busy);
    }
  }
  /** Show an error; embedded tensors stay below it. */
  #failed(error, element, note) {
    const code = error instanceof QueryError ? error.code : "failed";
    if (code === "superseded") return;
    if (isGone(error) && note.isConnected) return element.replaceChildren(...this.#nothing());
    if (code !== "dropped") return setText(note, error.message);
    note.remove();
    const heading2 = element.childElementCount ? [] : [h("h4", {}, "Tensors")];
    element.append(...heading2, ...lacking(error.message));
    const { dropped } = error;
    if (dropped) this.#session.noteDropped(dropped);
  }
  async #query(call) {
    const { kernel, trace } = this.#session;
    const id = trace.id(call);
    const answering = this.#pending.get(id) ?? kernel?.tensors(trace.header.run.id, id);
    if (!answering) throw new Error("no kernel");
    this.#pending.set(id, answering);
    const running = trace.has(call, Flag.RUNNING);
    const began = performance.now();
    try {
      const answer = this.#withEmbedded(await answering, id);
      const now = performance.now();
      this.#answers.set(id, answer);
      this.#fresh.delete(id);
      if (running) this.#fresh.set(id, now + Math.max(FRESH_MS, SHARE * (now - began)));
      return answer;
    } finally {
      this.#pending.delete(id);
    }
  }
  /** Prefer embedded values where the kernel no longer keeps them. */
  #withEmbedded(answer, id) {
    const embedded = answer.lacks ? this.#embedded(id) : void 0;
    const has = embedded?.tensors?.some(({ preview, stats }) => preview || stats);
    return embedded && has ? { ...answer, ...embedded, lacks: answer.lacks } : answer;
  }
  #fill(element, call, answer) {
    const tensors2 = answer.tensors ?? [];
    if (tensors2.length === 0)
      return element.replaceChildren(
        h("h4", {}, "Tensors"),
        h("p", { class: "hint" }, "None were recorded.")
      );
    const sections = HEADINGS.flatMap(([role, heading2]) => {
      const own = tensors2.map((entry, position) => ({ entry, position })).filter(({ entry }) => entry.role === role);
      if (own.length === 0) return [];
      const list = h("div");
      const items = own.map(
        ({ entry, position }) => this.#item(call, entry, position, answer, tensors2)
      );
      this.#list(list, items, INITIAL_TENSORS);
      return [h("h4", {}, heading2, h("span", {}, count(own.length))), list];
    });
    const more = tensors2.length < MAX_TENSORS ? [] : [h("p", { class: "hint" }, NOT_ALL)];
    element.replaceChildren(...lacking(answer.lacks), ...sections, ...more);
  }
  #list(list, items, shown) {
    list.replaceChildren(...items.slice(0, shown));
    const rest = items.length - shown;
    if (rest <= 0) return;
    const onclick = () => this.#list(list, items, shown + 4 * INITIAL_TENSORS);
    list.append(h("button", { type: "button", class: "more", onclick }, `${count(rest)} more`));
  }
  #item(call, entry, position, answer, all2) {
    const key = keyOf(entry);
    const isOpen = () => this.#state.opened.get(key) ?? entry === this.#openAtFirst(all2);
    const item2 = h("div", { class: "tensor" });
    const fill = () => {
      const head = this.#head(entry, isOpen(), `${call}/${position}`);
      head.addEventListener("click", () => {
        const opens = !isOpen();
        const first = this.#openAtFirst(all2);
        if (first) this.#state.opened.set(keyOf(first), true);
        this.#state.opened.set(key, opens);
        fill();
        item2.querySelector("button")?.focus();
      });
      item2.replaceChildren(head);
      if (isOpen()) item2.append(this.#detail(call, entry, position, answer));
    };
    fill();
    return item2;
  }
  /** Return the tensor to open, unless the user opened one: the first output with values. */
  #openAtFirst(all2) {
    if (this.#state.opened.size > 0) return void 0;
    const shows = ({ preview, stats }) => stats ? stats.count > 0 : preview !== null && !isEmptyText(preview);
    return all2.find((entry) => entry.role === "output" && shows(entry)) ?? all2.find(shows);
  }
  #head(entry, open, key) {
    const place4 = [entry.device, bytes(entry.byte_size)].filter(Boolean).join(" · ");
    const number = entry.response > 0 ? ` #${entry.response + 1}` : "";
    return h(
      "button",
      {
        type: "button",
        class: "head",
        "aria-expanded": String(open),
        "data-focus": `tensor-${key}`
      },
      h("span", { class: "arrow", "aria-hidden": "true" }, entry.role === "output" ? "←" : "→"),
      h("span", { class: "name code" }, entry.name, number),
      h("span", { class: "datatype code" }, entry.datatype),
      h("span", { class: "shape code" }, shape(entry.shape)),
      h("span", { class: "place" }, place4)
    );
  }
  #detail(call, entry, position, answer) {
    const { stats, histogram: histogram2, preview } = entry;
    const parts = [];
    const facts = [];
    if (stats?.count) facts.push(statistics(stats));
    if (histogram2) facts.push(...distribution(histogram2, "values"));
    const few = (stats?.count ?? 0) <= FEW_VALUES;
    if (!few) parts.push(...facts);
    if (preview && isEmptyText(preview)) parts.push(h("p", { class: "hint" }, EMPTY));
    else if (preview?.kind === "text") parts.push(...texts(preview));
    else if (preview) {
      const key = `${call}/${position}`;
      const source = {
        entry,
        buffer: answer.buffer,
        run: this.#session.trace.header.run.id,
        call,
        tensor: position,
        kernel: this.#session.kernel
      };
      const slice = new SliceView(source, preview, this.#state.slices.get(key));
      this.#state.slices.set(key, slice.state);
      slice.element.addEventListener("input", () => this.#state.slices.set(key, slice.state));
      slice.element.addEventListener("click", () => this.#state.slices.set(key, slice.state));
      parts.push(slice.element);
    } else parts.push(h("p", { class: "hint" }, this.#absent(entry)));
    if (few) parts.push(...facts);
    return h("div", { class: "detail" }, parts);
  }
  #absent({ evicted, byte_size }) {
    const { file } = this.#session.trace.header.run;
    if (evicted && file) return `${file} does not hold its values.`;
    if (evicted) return "Its values are no longer kept.";
    if (byte_size === 0) return EMPTY;
    return this.#session.kernel ? "Nothing to preview." : `Its values are not embedded in this document. ${WHAT_HELPS}`;
  }
};

// src/inspector/inspectcall.ts
var MAX_CHAIN = 8;
function oneCall(session, call, { tensors: tensors2, profile, debug }) {
  const { trace } = session;
  const { notes: notes2, logs } = trace.header;
  const id = trace.id(call);
  const failed = trace.has(call, Flag.ERROR);
  const source = sourceLines(session, call);
  const values = tensors2.show(call);
  const few = !failed && !trace.profile && !trace.header.lines?.[id] && hasFewValues(trace.header.tensors[id]);
  return [
    breadcrumb(session, call),
    h("h3", {}, trace.name(call)),
    chipList(chipsOf(trace, call)),
    ...debug.show(call),
    // Few values are seen without scrolling.
    ...few ? [values] : [],
    ...requestFacts(trace, call),
    ...sequenceLinks(session, call),
    ...phaseTable(trace, [call]),
    ...uncounted(trace.folded.by(trace.calls.model[call])),
    ...timedLines(trace.header.lines?.[id]),
    ...profile.show(`call ${id}`, trace.calls.model[call], [call]),
    // Of a failed call the source comes first, of others the tensors.
    ...failed ? [errorOf(trace, call), ...source] : [],
    ...besideBaseline(trace, [call]),
    ...differences(trace, call),
    ...(notes2[id] ?? []).map((note) => h("p", { class: "note" }, note)),
    ...batch(session, call),
    ...responseTimes(trace, [call]),
    ...deviceWork(trace, [call]),
    ...few ? [] : [values],
    ...failed ? [] : source,
    ...logs[id]?.length ? logLines(logs[id]) : []
  ];
}
function factsOfCall(trace, call) {
  const { batching, copies, errors: errors2, logs, notes: notes2, tensors: tensors2 } = trace.header;
  const { batch: batch2, flags, responses: responses2 } = trace.calls;
  const id = trace.id(call);
  return [
    flags[call],
    trace.duration[call],
    responses2[call],
    errors2[id],
    logs[id]?.length,
    notes2[id],
    batching[id]?.length,
    batch2[call],
    copies[id]?.length,
    trace.header.response_parameters[id]?.length,
    sequenceOf(trace, call)?.calls.length,
    id in tensors2,
    trace.header.run.dropped?.values?.calls
  ].join();
}
function errorOf(trace, call) {
  const { codes, errors: errors2 } = trace.header;
  const chain = [...trace.ancestors(call), call].map((each) => trace.name(each));
  const where = chain.length > MAX_CHAIN ? [...chain.slice(0, 3), "…", ...chain.slice(-4)] : chain;
  const id = trace.id(call);
  const head = [...codes[id] ? [codes[id]] : [], where.join(" › ")].join(" · ");
  const text = h("div", { class: "code" }, errors2[id] ?? "failed");
  return h("div", { class: "error", role: "note" }, h("div", { class: "chain" }, head), text);
}
function batch(session, call) {
  const facts = batchFacts(session.trace, call);
  if (!facts) return [];
  const { size, because, mates, others: others2, apart: apart2 } = facts;
  const link2 = (other, before3 = "") => callLink(session, other, `${before3}${place2(session.trace, other)}`);
  const before2 = apart2.flatMap(({ words: words2, call: other }) => [
    ...reason(words2),
    ...other < 0 ? [] : [link2(other, "see ")]
  ]);
  const hidden = mates.length - LISTED_CALLS;
  return [
    ...size ? [h("h4", {}, "Batch", h("span", {}, counted(size, "request")))] : [],
    ...reason(because && `left because ${because}`),
    ...mates.slice(0, LISTED_CALLS).map((mate) => link2(mate)),
    ...reason(hidden > 0 && `… ${counted(hidden, "more call")} of this run`),
    ...reason(others2 && `with ${others2}`),
    ...apart2.length ? [h("h4", {}, "Not in a batch before"), ...before2] : []
  ];
}
function reason(words2) {
  return words2 ? [h("p", { class: "reason" }, words2)] : [];
}
function place2(trace, call) {
  return `${trace.name(call)}, call ${trace.id(call)} at ${time(trace.start(call))}`;
}
function logLines(lines2) {
  const line = ([us, level, text]) => h(
    "div",
    { class: `log-${level.toLowerCase()}` },
    h("span", { class: "number" }, time(us)),
    h("span", { class: "level" }, level),
    h("span", {}, text.trimEnd())
  );
  const role = { tabindex: 0, role: "group", "aria-label": "Log lines" };
  const list = h("div", { class: "logs code", ...role }, lines2.map(line));
  return [h("h4", {}, "Log", h("span", {}, count(lines2.length))), list];
}
function uncounted(counts) {
  if (!counts) return [];
  const took = `${counted(counts.calls, "call")} that calls of this model made, ${time(counts.us)}`;
  return [h("p", { class: "hint" }, `${took}, are only counted, not in child calls above.`)];
}

// src/inspector/flamegraph.ts
var ROW = 18;
var MIN_SHARE2 = 4e-3;
var MAX_BOXES2 = 1e3;
var FlameGraph = class {
  element = h("div", { class: "flame code", role: "tree", "aria-label": "Flame graph" });
  #session;
  #root = null;
  #subject = "";
  /** Key of the box that fills the width. */
  #zoomed = "all";
  /** Key of the box that receives the focus. */
  #cursor = "all";
  #drawn = /* @__PURE__ */ new Map();
  constructor(session) {
    this.#session = session;
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("pointerleave", () => session.tip(null));
  }
  /** Show the boxes of a call or a model; the zoom stays while its samples arrive. */
  show(subject, root) {
    if (subject !== this.#subject) [this.#zoomed, this.#cursor] = ["all", "all"];
    [this.#subject, this.#root] = [subject, root];
    this.#draw();
    return this.element;
  }
  #draw() {
    const root = this.#root;
    const zoomed = find(root, this.#zoomed) ?? root;
    const focused = this.element.contains(this.element.getRootNode().activeElement);
    this.#drawn = /* @__PURE__ */ new Map();
    for (let at2 = zoomed.parent; at2; at2 = at2.parent) this.#add(at2, 0, 1);
    this.#place(zoomed, 0, 1);
    const all2 = [...this.#drawn.values()].sort((a, b) => a.box.depth - b.box.depth);
    const depth = all2.reduce((most, { box }) => Math.max(most, box.depth), 0);
    this.element.replaceChildren(
      h("div", { class: "flames", role: "presentation", style: { height: `${ROW * (depth + 1)}px` } }, all2.map(({ element }) => element))
    );
    this.#aim(this.#drawn.has(this.#cursor) ? this.#cursor : zoomed.key, focused);
  }
  /** Draw a box and what is below it, while it is wide enough. */
  #place(box, left, width) {
    if (this.#drawn.size >= MAX_BOXES2) return;
    this.#add(box, left, width);
    let from = left;
    for (const each of box.below) {
      const share = box.us > 0 ? width * each.us / box.us : 0;
      if (share >= MIN_SHARE2) this.#place(each, from, share);
      from += share;
    }
  }
  #add(box, left, width) {
    const whole = this.#root.us;
    const { key, kind, name, place: place4, us, samples } = box;
    const sampled = kind === "child" ? "" : `, ${counted(samples, "sample")}`;
    const element = h(
      "div",
      {
        class: `flamebox ${kind}`,
        role: "treeitem",
        tabindex: -1,
        "aria-level": box.depth + 1,
        "aria-description": `${time(us)}, ${percent(us, whole)}${sampled}`,
        "data-focus": `flame-${key}`,
        style: { left: `${100 * left}%`, width: `${100 * width}%`, top: `${ROW * box.depth}px` },
        onclick: () => this.#open(box),
        onpointermove: (event) => this.#tip(box, event),
        onfocus: () => this.#aim(key, false)
      },
      kind === "child" ? "→ " : "",
      h("b", {}, name),
      place4 ? ` ${place4}` : ""
    );
    this.#drawn.set(key, { box, element });
  }
  /** Zoom to a box, or select the model of child calls. */
  #open(box) {
    this.#session.tip(null);
    if (box.model !== void 0) return this.#session.select(this.#calls(box.model), { reveal: true });
    this.#zoomed = this.#zoomed === box.key && box.parent ? "all" : box.key;
    this.#cursor = box.key;
    this.#draw();
    this.#drawn.get(box.key)?.element.focus({ preventScroll: true });
  }
  #calls(model) {
    const { model: models } = this.#session.trace.calls;
    const first = models.indexOf(model);
    return first === models.lastIndexOf(model) ? { kind: "call", call: first } : { kind: "model", model };
  }
  #tip(box, event) {
    const { name, place: place4, text, us, samples, kind } = box;
    const whole = this.#root.us;
    const own = us - box.below.reduce((sum, each) => sum + each.us, 0);
    const parts = [
      `${time(us)}, ${percent(us, whole)}`,
      kind === "child" ? "in child calls, not own code" : `${counted(samples, "sample")}`,
      ...box.below.length && own > 0.5 ? [`${time(own)} in this line itself`] : []
    ];
    const facts = [parts.join(" · "), text.trim()].filter(Boolean).join("\n");
    this.#session.tip({ title: [name, place4].join(" ").trim(), phases: noPhases(), facts }, event);
  }
  /** Let a box receive the focus; it is the only one in the tab order. */
  #aim(key, focus) {
    for (const [each, { element }] of this.#drawn) element.tabIndex = each === key ? 0 : -1;
    this.#cursor = key;
    if (focus) this.#drawn.get(key)?.element.focus({ preventScroll: true });
  }
  #key(event) {
    const at2 = this.#drawn.get(this.#cursor)?.box;
    if (!at2 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.#zoomed === "all") return;
    const move = MOVES[event.key];
    const opens = event.key === "Enter" || event.key === " ";
    if (!move && !opens && event.key !== "Escape") return;
    event.preventDefault();
    if (opens) this.#open(at2);
    else if (event.key === "Escape") this.#zoomOut();
    else this.#move(move(at2));
  }
  #zoomOut() {
    this.#zoomed = "all";
    this.#draw();
    this.#aim(this.#cursor, true);
  }
  #move(to) {
    const drawn = to && this.#drawn.get(to.key);
    if (!drawn) return;
    this.#aim(to.key, true);
    drawn.element.scrollIntoView?.({ block: "nearest" });
  }
};
var MOVES = {
  ArrowDown: (box) => box.below[0],
  ArrowUp: (box) => box.parent,
  ArrowRight: (box) => beside(box, 1),
  ArrowLeft: (box) => beside(box, -1),
  Home: (box) => top(box)
};
function beside(box, step) {
  const all2 = box.parent?.below ?? [];
  return all2[all2.indexOf(box) + step];
}
function top(box) {
  return box.parent ? top(box.parent) : box;
}
function find(box, key) {
  if (box.key === key) return box;
  for (const each of box.below) {
    const found3 = find(each, key);
    if (found3) return found3;
  }
  return null;
}
function heading(samples, interval, wanted, calls) {
  const missed = interval > 1.25 * wanted ? ` (${time(wanted)} was not reached)` : "";
  const text = `${counted(samples, "sample")}, one every ${time(interval)}${missed}`;
  return h("h4", {}, calls === 1 ? "Inside the call" : "Inside the calls", h("span", {}, text));
}

// src/trace/profile.ts
var Profile = class {
  entry;
  /** Node of the caller; -1 for the root of a model. */
  parent;
  total;
  #columns;
  #byCall;
  constructor(entry, buffer) {
    this.entry = entry;
    const columns = Object.entries(entry.columns);
    this.#columns = Object.fromEntries(
      columns.map(([name, each]) => [name, column(buffer, each).slice()])
    );
    this.parent = this.#columns.parent;
    this.total = Array.from(this.#columns.samples).reduce((sum, each) => sum + each, 0);
  }
  frame(node) {
    return this.entry.frames[this.#columns.frame[node]];
  }
  /** Return the samples of all calls of a model. */
  ofModel(model) {
    const { model: models, samples } = this.#columns;
    const counts = /* @__PURE__ */ new Map();
    for (let node = 0; node < models.length; node++)
      if (models[node] === model && samples[node]) counts.set(node, samples[node]);
    return counts;
  }
  /** Return the samples of some calls, by their ids. */
  ofCalls(ids) {
    const byCall = this.#byCall ??= this.#index();
    const counts = /* @__PURE__ */ new Map();
    for (const id of ids)
      for (const [node, each] of byCall.get(id) ?? [])
        counts.set(node, (counts.get(node) ?? 0) + each);
    return counts;
  }
  #index() {
    const { call, node, count: count2 } = this.#columns;
    const byCall = /* @__PURE__ */ new Map();
    for (let row5 = 0; row5 < call.length; row5++) {
      let counts = byCall.get(call[row5]);
      if (!counts) byCall.set(call[row5], counts = /* @__PURE__ */ new Map());
      counts.set(node[row5], count2[row5]);
    }
    return byCall;
  }
};
function flame(profile, counts, places, children) {
  const root = newBox2("all", "all", "whole time", null);
  const boxes = /* @__PURE__ */ new Map();
  const boxOf = (node) => {
    const known = boxes.get(node);
    if (known) return known;
    const [function_, , , own] = profile.frame(node);
    const caller = profile.parent[node];
    if (caller < 0) boxes.set(node, root);
    else {
      const { place: place4, text } = places(profile.frame(node));
      const name = function_.slice(function_.lastIndexOf(".") + 1);
      const box = newBox2(`${node}`, own ? "own" : "library", name, boxOf(caller));
      boxes.set(node, Object.assign(box, { place: place4, text }));
    }
    return boxes.get(node);
  };
  const each = profile.entry.interval_us;
  for (const [node, samples] of counts) grow(boxOf(node), samples * each, samples);
  for (const { model, name, calls, us } of children) {
    const box = newBox2(`model-${model}`, "child", name, root);
    grow(Object.assign(box, { model, place: calls > 1 ? `×${calls}` : "" }), us, 0);
  }
  order2(root);
  return root;
}
function hotLines(profile, counts, places) {
  const lines2 = /* @__PURE__ */ new Map();
  for (const [node, samples] of counts) {
    const frame = profile.frame(ownNode(profile, node));
    const { place: place4, text } = places(frame);
    const line = lines2.get(place4) ?? { place: place4, text, samples: 0 };
    line.samples += samples;
    lines2.set(place4, line);
  }
  return [...lines2.values()].sort((a, b) => b.samples - a.samples);
}
function totalOf(counts) {
  let sum = 0;
  for (const each of counts.values()) sum += each;
  return sum;
}
function ownNode(profile, node) {
  let at2 = node;
  while (!profile.frame(at2)[3] && profile.parent[at2] >= 0) at2 = profile.parent[at2];
  return profile.frame(at2)[3] ? at2 : node;
}
function newBox2(key, kind, name, parent) {
  const depth = parent ? parent.depth + 1 : 0;
  const box = { key, kind, name, place: "", text: "", us: 0, samples: 0, depth, parent, below: [] };
  parent?.below.push(box);
  return box;
}
function grow(box, us, samples) {
  for (let at2 = box; at2; at2 = at2.parent) {
    at2.us += us;
    at2.samples += samples;
  }
}
function order2(box) {
  const last = (each) => each.kind === "child" ? 1 : 0;
  box.below.sort((a, b) => last(a) - last(b) || b.us - a.us);
  for (const each of box.below) order2(each);
}

// src/inspector/inspectprofile.ts
var LISTED = 8;
var NOT_HERE = "The samples of this call are not in this page, which has those of the calls with most samples. Those of all calls of its model are: select the model. run.profile has all.";
var ProfilePart = class {
  #session;
  #graph;
  constructor(session) {
    this.#session = session;
    this.#graph = new FlameGraph(session);
  }
  /** Return what is known of the inside of some calls of a model; empty for a run without samples. */
  show(subject, model, calls) {
    const { trace } = this.#session;
    const { profile } = trace;
    if (!profile || trace.header.models[model]?.backend !== "python") return [];
    const isWhole = subject.startsWith("model");
    const counts = isWhole ? profile.ofModel(model) : profile.ofCalls(calls.map((call) => trace.id(call)));
    const { interval_us, wanted_us, left_out } = profile.entry;
    const head = heading(totalOf(counts), interval_us, wanted_us, calls.length);
    if (!counts.size) {
      const text = left_out && !isWhole ? NOT_HERE : "No code of the model was sampled: it took less than the interval.";
      return [head, h("p", { class: "hint" }, text)];
    }
    const places = placesOf(trace, model);
    const root = flame(profile, counts, places, childTimes(trace, calls));
    return [head, split(root.us, totalOf(counts) * interval_us), this.#graph.show(subject, root), ...lines(profile, counts, places)];
  }
};
function childTimes(trace, calls) {
  const found3 = /* @__PURE__ */ new Map();
  let sum = 0;
  for (const call of calls)
    for (const child of trace.children(call)) {
      const model = trace.calls.model[child];
      const known = found3.get(model) ?? { model, name: trace.names[model], calls: 0, us: 0 };
      known.calls++;
      known.us += trace.duration[child];
      sum += trace.duration[child];
      found3.set(model, known);
    }
  const { child: covered } = trace.phases(calls);
  return [...found3.values()].map((each) => ({ ...each, us: sum > 0 ? each.us * covered / sum : 0 }));
}
function placesOf(trace, model) {
  const source = trace.header.sources[model]?.split("\n") ?? [];
  const origin = trace.header.models[model]?.origin;
  return ([, file, line, own]) => {
    const isModel = own === 1 && file === "model.py";
    const text = isModel ? source[line - 1] ?? "" : "";
    const place4 = isModel && origin ? `${origin[0]} line ${line + origin[1]}` : `${file}:${line}`;
    return { place: place4, text };
  };
}
function split(whole, own) {
  const swatch = (kind) => h("i", { class: `swatch back-${kind}` });
  return h(
    "p",
    { class: "hint split" },
    h("span", {}, swatch("infer"), ` own code ${time(own)}`),
    h("span", {}, swatch("child"), ` in child calls ${time(whole - own)}`)
  );
}
function lines(profile, counts, places) {
  const all2 = hotLines(profile, counts, places);
  const whole = totalOf(counts);
  const rows2 = all2.slice(0, LISTED).map(
    ({ place: place4, text, samples }) => h("tr", {}, h("td", {}, percent(samples, whole)), h("th", { scope: "row" }, place4, h("div", { class: "code" }, text.trim())))
  );
  const hidden = all2.length - LISTED;
  const more = hidden > 0 ? [h("p", { class: "reason" }, `… ${counted(hidden, "more line")}`)] : [];
  return [h("h4", {}, "Lines", h("span", {}, "share of own code")), h("table", { class: "hotlines" }, h("tbody", {}, rows2)), ...more];
}

// src/inspector/inspector.ts
var REFRESH_MS = 500;
var Inspector = class {
  element = h("div", {
    class: "inspector",
    role: "region",
    "aria-label": "Inspector",
    tabindex: 0
  });
  #session;
  #tensors;
  #profile;
  #debug;
  #facts = "";
  #drawn = -Infinity;
  #later;
  #stop;
  constructor(session) {
    this.#session = session;
    this.#tensors = new TensorList(session);
    this.#profile = new ProfilePart(session);
    this.#debug = new DebugPart(session);
    this.#stop = listenWeakly(this, [CONNECTED], (inspector) => inspector.reach());
  }
  /** Show the selection; elements stay if no fact has changed. */
  draw() {
    const { selection, trace } = this.#session;
    const facts = this.#factsOf(selection);
    clearTimeout(this.#later);
    if (facts === this.#facts) return;
    const sameSubject = facts.split("\n")[0] === this.#facts.split("\n")[0];
    const running = trace.header.run.state === "running";
    const wait = sameSubject && running ? this.#drawn + REFRESH_MS - performance.now() : 0;
    if (wait > 0) {
      this.#later = setTimeout(() => this.#drawNow(), wait);
      return;
    }
    this.#drawn = performance.now();
    this.#facts = facts;
    this.#replace(this.#content(selection), sameSubject);
  }
  #drawNow() {
    this.#drawn = -Infinity;
    this.draw();
  }
  /** The preferred height. */
  get wantedHeight() {
    return this.element.scrollHeight;
  }
  /** The tensors that are open. */
  get tensors() {
    return this.#tensors.state;
  }
  set tensors(state) {
    this.#tensors.state = state;
  }
  focus() {
    this.element.focus();
  }
  /** Discard the answers of an earlier kernel. */
  forget() {
    this.#tensors.forget();
    this.#facts = "";
  }
  dispose() {
    clearTimeout(this.#later);
    this.#debug.dispose();
    this.#stop();
    this.element.remove();
  }
  /** Query a further connection, if none of the earlier ones has the run. */
  reach() {
    if (this.#session.kernel?.isSettled ?? true) return;
    this.forget();
    this.draw();
  }
  /** Replace the content; focus stays on the same control, or in the pane. */
  #replace(content2, sameSubject) {
    const { activeElement } = this.element.getRootNode();
    const focused = this.element.contains(activeElement) && activeElement;
    const top2 = this.element.scrollTop;
    this.element.replaceChildren(...content2);
    this.element.scrollTop = sameSubject ? top2 : 0;
    if (focused) this.#focusAgain(focused.getAttribute("data-focus"));
  }
  #focusAgain(name) {
    const all2 = [...this.element.querySelectorAll("[data-focus]")];
    const same = all2.find((each) => each.dataset.focus === name);
    (same ?? this.element).focus({ preventScroll: true });
  }
  /** Return the identity of the selection, and in a second line the facts that can change. */
  #factsOf(selection) {
    if (!selection) return "nothing";
    const { trace } = this.#session;
    const state = `${trace.header.run.state} ${trace.profile?.total ?? ""}`;
    if (selection.kind === "missing") return `missing ${selection.key}`;
    if (selection.kind === "dropped") return `dropped ${selection.id}`;
    if (selection.kind === "models") return `models
${selection.models} ${trace.n} ${state}`;
    if (selection.kind === "call")
      return `call ${trace.id(selection.call)}
${factsOfCall(trace, selection.call)} ${state}`;
    const key = selection.kind === "fold" ? selection.key : selection.model;
    return `${selection.kind} ${key}
${factsOfCalls(trace, selection)} ${state}`;
  }
  #content(selection) {
    if (!selection) return [h("p", { class: "hint" }, "Select a model or a call.")];
    const { comparison } = this.#session.trace;
    if (selection.kind === "call")
      return oneCall(this.#session, selection.call, { tensors: this.#tensors, profile: this.#profile, debug: this.#debug });
    if (selection.kind === "missing")
      return comparison ? missingCalls(comparison.baseline, selection.missing) : [];
    if (selection.kind === "dropped") return droppedCall(this.#session.trace, selection.id);
    if (selection.kind === "models") return manyModels(this.#session, selection.models);
    return manyCalls(this.#session, selection, this.#profile);
  }
};

// src/frame/splitter.ts
var KEY_STEP = 16;
function splitter(options) {
  const { label: label2, axis, behind } = options;
  const orientation = axis === "x" ? "vertical" : "horizontal";
  const role = {
    role: "separator",
    tabindex: 0,
    "aria-label": label2,
    "aria-orientation": orientation,
    "aria-valuenow": 0
  };
  const element = h("div", { class: `splitter ${axis}`, ...role });
  const show = () => element.setAttribute("aria-valuenow", String(Math.round(options.size())));
  const moveTo = (size) => {
    const [least, most] = options.bounds();
    options.resize(Math.round(Math.max(least, Math.min(most, size))));
    show();
  };
  const along2 = (event) => axis === "x" ? event.clientX : event.clientY;
  element.addEventListener("focus", show);
  element.addEventListener("pointerdown", (start) => {
    const from = options.size();
    drag(
      element,
      start,
      (event) => moveTo(from + (along2(event) - along2(start)) * (behind ? -1 : 1))
    );
  });
  element.addEventListener("keydown", (event) => {
    const [less, more] = axis === "x" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    if (event.key !== less && event.key !== more) return;
    event.preventDefault();
    moveTo(options.size() + (event.key === more ? KEY_STEP : -KEY_STEP) * (behind ? -1 : 1));
  });
  return element;
}

// src/frame/panes.ts
var [MIN_TIMELINE, MAX_TIMELINE] = [150, 300];
var [MIN_SIDE2, BESIDE_SIDE] = [220, 360];
var [MIN_GRAPH, BELOW_GRAPH] = [80, 120];
var Panes = class {
  element;
  #graph;
  #inspector;
  #sizes = { graph: null, side: null };
  #dragged;
  constructor(graph, timeline, inspector, dragged) {
    this.#graph = graph;
    this.#inspector = inspector;
    this.#dragged = dragged;
    const borders = [this.#sideBorder(), this.#graphBorder()];
    const panes = [graph.element, timeline.element, inspector.element];
    this.element = h("div", { class: "panes" }, panes, borders);
  }
  /** Sizes that the user has set. */
  get sizes() {
    return { ...this.#sizes };
  }
  set sizes({ graph, side }) {
    this.#sizes.graph = graph;
    if (side !== null) this.#resizeSide(side);
  }
  arrange({ graph: wanted, timeline, least }) {
    const graph = this.#sizes.graph ?? wanted;
    const below = Math.max(MIN_TIMELINE, Math.min(MAX_TIMELINE, timeline));
    this.#set("graph", graph);
    this.#set("timeline", below);
    this.#set("height", Math.max(least, graph + below));
  }
  #set(name, pixels) {
    this.element.style.setProperty(`--${name}`, `${pixels}px`);
  }
  #sideBorder() {
    return splitter({
      label: "Width of the inspector",
      axis: "x",
      behind: true,
      size: () => this.#inspector.element.offsetWidth,
      bounds: () => [MIN_SIDE2, Math.max(MIN_SIDE2, this.element.clientWidth - BESIDE_SIDE)],
      resize: (size) => {
        this.#resizeSide(size);
        this.#dragged();
      }
    });
  }
  #resizeSide(size) {
    this.#sizes.side = size;
    this.#set("side", size);
  }
  #graphBorder() {
    return splitter({
      label: "Height of the call graph",
      axis: "y",
      behind: false,
      size: () => this.#graph.element.offsetHeight,
      bounds: () => [MIN_GRAPH, Math.max(MIN_GRAPH, this.element.clientHeight - BELOW_GRAPH)],
      resize: (size) => {
        this.#sizes.graph = size;
        this.#set("graph", size);
        this.#dragged();
      }
    });
  }
};

// src/page/style.css
var style_default = '/* Colours: phases and error keep 3:1 to the background and differ for every kind of colour vision. */\n.view {\n  --bg: #ffffff; --bg2: #f6f7f9; --card: #ffffff;\n  --fg: #1c2128; --fg2: #57606a; --fg3: #818b98;\n  --line: #d8dee4; --line2: #eceff2; --shade: #0f172a14; --over: #0f172a0a; --error-bg: #fdf0ee;\n  --accent: #1f6feb; --queue: #c27c00; --input: #4a9bd3; --infer: #1b4f93; --output: #12866a;\n  --error: #b42318; --running: #7a5cc9;\n  color-scheme: light;\n}\n.view[data-theme="dark"] {\n  --bg: #111317; --bg2: #181b20; --card: #1d2127;\n  --fg: #e6e9ed; --fg2: #a3adb8; --fg3: #77818d;\n  --line: #31373f; --line2: #23282e; --shade: #ffffff1a; --over: #ffffff0d; --error-bg: #331a1d;\n  --accent: #6cb0ff; --queue: #f7c948; --input: #a5dbfa; --infer: #4593e0; --output: #3ccf9b;\n  --error: #f2545b; --running: #b79cf5;\n  color-scheme: dark;\n}\n\n:host { all: initial; display: block; padding-top: 4px; }\n.view {\n  --code: var(--jp-code-font-family, ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace);\n  position: relative; overflow: hidden; container-type: inline-size;\n  border: 1px solid var(--line); border-radius: 8px;\n  background: var(--bg); color: var(--fg); text-align: left;\n  font: 12px/1.4 var(--jp-ui-font-family, system-ui, -apple-system, "Segoe UI", sans-serif);\n  font-variant-numeric: tabular-nums;\n}\n.view *, .view *::before { box-sizing: border-box; }\n.code { font-family: var(--code); font-size: 11px; }\n.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }\n:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }\nh3 { margin: 0; font-size: 14px; font-weight: 600; line-height: 1.3; overflow-wrap: anywhere; }\nh4 { display: flex; justify-content: space-between; gap: 8px; margin: 14px 0 5px; color: var(--fg2); font-size: 11px; font-weight: 600; line-height: 1.3; }\nh4 > span { text-align: right; }\np { margin: 0; }\n\nbutton {\n  min-width: 24px; min-height: 24px; padding: 2px 6px;\n  border: 1px solid var(--line); border-radius: 5px; background: none;\n  color: var(--fg2); font: inherit; font-size: 11px; cursor: pointer;\n}\nbutton:hover { background: var(--over); color: var(--fg); }\nbutton[aria-pressed="true"] { background: var(--shade); color: var(--fg); }\nbutton.quiet { border-color: transparent; }\n\n.back-queue { background: var(--queue); }\n.back-input { background: var(--input); }\n.back-infer { background: var(--infer); }\n.back-child { background: color-mix(in srgb, var(--infer) 28%, transparent); }\n.back-output { background: var(--output); }\n.back-fg3, .back-between { background: var(--fg3); }\n.fill-queue { fill: var(--queue); }\n.fill-input { fill: var(--input); }\n.fill-infer { fill: var(--infer); }\n.fill-between { fill: var(--fg3); }\n.fill-output { fill: var(--output); }\n.swatch { display: inline-block; flex: none; width: 12px; height: 9px; border-radius: 2px; }\n.swatch.queue { height: 4px; vertical-align: 2px; }\n.swatch.pre, .swatch.post { height: 1px; vertical-align: 4px; }\n\n/* the line above the panes */\n.toolbar { display: flex; align-items: center; gap: 4px 10px; min-height: 37px; padding: 5px 10px; border-bottom: 1px solid var(--line); }\n.state { flex: none; width: 8px; height: 8px; border-radius: 50%; background: var(--output); }\n.state.error { background: var(--error); }\n.state.running { background: var(--running); }\n.state.cancelled { background: var(--fg3); }\n.toolbar > * { flex: none; }\n.toolbar > .title { flex: 0 1 auto; min-width: 4ch; max-width: 36ch; overflow: hidden; font-weight: 600; text-overflow: ellipsis; white-space: nowrap; }\n.figures { display: flex; gap: 12px; color: var(--fg2); white-space: nowrap; }\n.figures b { color: var(--fg); font-weight: 600; }\n.figures .failed, .figures .failed b { color: var(--error); }\n.figures .simulated { padding: 0 7px; border: 1px dashed var(--running); border-radius: 9px; color: var(--fg); font-weight: 600; }\n.figures .running { color: var(--running); }\n.toolbar > .space { flex: 1; }\n.legend { display: flex; gap: 10px; color: var(--fg2); font-size: 11px; white-space: nowrap; }\n.legend span { display: inline-flex; align-items: center; gap: 4px; }\n.legend .swatch { vertical-align: 0; }\n.toolbar > .filter { flex: 0 1 150px; width: 150px; min-width: 90px; min-height: 24px; padding: 2px 7px; border: 1px solid var(--line); border-radius: 5px; background: var(--bg2); color: var(--fg); font: inherit; }\n.filter::placeholder { color: var(--fg2); opacity: 1; }\n\n.notices:not(:empty) { padding: 4px 10px; border-bottom: 1px solid var(--line); background: var(--bg2); color: var(--fg2); font-size: 11px; }\n.notices b { color: var(--fg); font-weight: 600; }\n\n/* the panes */\n.panes { position: relative; display: grid; grid-template: var(--graph, 200px) minmax(0, 1fr) / minmax(0, 1fr) max(220px, min(var(--side, 322px), 100cqw - 360px)); height: var(--height, 500px); }\n.callgraph { grid-area: 1 / 1; position: relative; min-height: 0; overflow: hidden; border-bottom: 1px solid var(--line); background: var(--bg2); }\n.timeline { grid-area: 2 / 1; display: flex; flex-direction: column; min-height: 0; min-width: 0; }\n.inspector { grid-area: 1 / 2 / 3 / 3; min-width: 0; padding: 10px 12px 16px; overflow: auto; border-left: 1px solid var(--line); }\n.splitter { position: relative; z-index: 2; touch-action: none; }\n.splitter.x { grid-area: 1 / 2 / 3 / 3; justify-self: start; width: 7px; margin-left: -3px; cursor: col-resize; }\n.splitter.y { grid-area: 2 / 1; align-self: start; height: 7px; margin-top: -4px; cursor: row-resize; }\n.splitter:hover, .splitter:focus-visible { background: var(--shade); }\n\n/* call graph */\n.callgraph > svg { display: block; width: 100%; height: 100%; cursor: grab; user-select: none; }\n.callgraph > svg:active { cursor: grabbing; }\n.box { cursor: pointer; outline: none; }\n.box .frame { fill: var(--card); stroke: var(--line); }\n.box:hover .frame { stroke: var(--fg3); }\n.box.failing .frame { stroke: var(--error); }\n.box.span .frame { stroke-dasharray: 4 3; }\n.box.selected .frame { stroke: var(--accent); stroke-width: 2.5; }\n.box:focus-visible .frame { stroke: var(--accent); stroke-width: 3; }\n.box .track { fill: var(--line2); }\n.box .name { fill: var(--fg); font-size: 12px; font-weight: 600; }\n.box .second { fill: var(--fg2); font-size: 10.5px; }\n.box .failed { fill: var(--error); font-weight: 600; }\n/* What is left aside is paler, except for its texts. */\n.box.dim .frame { stroke-opacity: .4; }\n.box.dim .name { fill: var(--fg2); font-weight: 400; }\n.box.dim .second { font-weight: 400; }\n.box.dim .track, .box.dim .track + g { opacity: .3; }\n.far .box .second, .far .edge text, .far .edge rect { display: none; }\n.far .box .name { font-size: max(12px, min(var(--grown, 14px), 26px, 11px / var(--scale, 1))); dominant-baseline: central; translate: 0 3px; }\n.edge path { fill: none; stroke: var(--fg3); stroke-width: 1.25; opacity: .75; marker-end: var(--arrow); }\n.edge.async path { stroke-dasharray: 5 3; }\n.edge.stream path { stroke-width: 2; stroke-dasharray: 1.5 3; stroke-linecap: round; }\n.edge.dim path { opacity: .25; }\n.edge.failing path { stroke: var(--error); }\n.edge.path path { stroke: var(--fg); opacity: 1; }\n.edge.path.failing path { stroke: var(--error); stroke-width: 2; }\n.edge .label { fill: var(--bg2); }\n.edge text { fill: var(--fg2); font-size: 10.5px; }\n.edge.failing text { fill: var(--error); }\n.edges { position: absolute; bottom: 6px; left: 10px; display: flex; flex-wrap: wrap; gap: 0 12px; max-width: calc(100% - 112px); padding: 0 4px; background: var(--bg2); color: var(--fg2); font-size: 10.5px; }\n.edges i { display: inline-block; width: 20px; margin-right: 4px; border-top: 1.5px solid var(--fg2); vertical-align: middle; }\n.edges .async { border-top-style: dashed; }\n.edges .stream { border-top: 2px dotted var(--fg2); }\n.edges .legend { display: none; }\n.edges .legend i { width: 12px; margin: 0; border: 0; }\n.zoom { position: absolute; right: 6px; bottom: 6px; display: flex; gap: 2px; border-radius: 6px; background: var(--bg2); }\n\n/* timeline */\n.strip, .axis { display: block; flex: none; border-bottom: 1px solid var(--line2); }\n.strip { height: 26px; cursor: crosshair; touch-action: none; }\n.axis { height: 20px; }\n.tree { position: relative; flex: 1; min-height: 0; overflow: hidden auto; outline-offset: -2px; }\n.bars { position: sticky; top: 0; left: 0; display: block; pointer-events: none; }\n.rows { position: absolute; inset: 0 0 auto; }\n.row { position: absolute; right: 0; left: 0; display: flex; height: 22px; white-space: nowrap; cursor: default; }\n.row:hover { background: var(--over); }\n.row.mate { box-shadow: inset 2px 0 var(--fg3); }\n.row.selected { background: var(--shade); box-shadow: inset 2px 0 var(--accent); }\n.tree:focus-visible .row.cursor { outline: 1px solid var(--accent); outline-offset: -1px; }\n.row.dim .names { color: var(--fg2); }\n.names { display: flex; flex: none; align-items: center; width: var(--names, 220px); padding: 0 6px 0 2px; overflow: hidden; }\n.guide { flex: none; align-self: stretch; width: 12px; border-right: 1px solid var(--line2); }\n.triangle { display: grid; flex: none; place-items: center; width: 16px; height: 22px; color: var(--fg2); }\n.triangle svg { width: 8px; height: 8px; }\n.row[aria-expanded="true"] .triangle svg { rotate: 90deg; }\n.names .name { flex: 0 99999 auto; min-width: 1.5em; overflow: hidden; text-overflow: ellipsis; }\n.names .calls, .names .span { font-style: italic; }\n.names .calls { color: var(--fg2); }\n.count { flex: none; margin-left: 5px; color: var(--fg2); font-size: 11px; }\n.badge { flex: none; margin-left: 5px; padding: 0 3px; border: 1px solid var(--line); border-radius: 3px; color: var(--fg2); font-size: 10px; line-height: 14px; }\n.names .badge { background: var(--bg); flex: 0 1 auto; min-width: 32px; overflow: hidden; text-align: center; text-overflow: ellipsis; }\n.badge.compared { border-color: var(--infer); color: var(--infer); }\n.name.missing { color: var(--fg2); font-style: italic; }\n.badge.error { border-color: var(--error); color: var(--error); }\n\n/* inspector */\n.breadcrumb, .hint { margin-bottom: 2px; color: var(--fg2); font-size: 11px; overflow-wrap: anywhere; }\n.crumb { min-width: 0; text-align: left; min-height: 22px; padding: 0; border: 0; border-radius: 3px; }\n.crumb:hover { background: none; text-decoration: underline; }\n.chips { display: flex; flex-wrap: wrap; gap: 4px; margin-top: 5px; }\n.chip { max-width: 100%; padding: 0 7px; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: 10px; color: var(--fg2); font-size: 10.5px; line-height: 17px; }\n.chip.error { border-color: var(--error); color: var(--error); }\n.chip.running { border-color: var(--running); color: var(--running); }\n.debug { display: flex; flex-wrap: wrap; gap: 4px 8px; align-items: center; }\n.debug > button { margin-top: 6px; }\n.debug > .hint { min-width: 0; margin: 6px 0 0; }\n.debug > [aria-disabled="true"] { border-style: dashed; cursor: default; }\n.stack { display: flex; gap: 1px; height: 10px; margin: 9px 0 6px; overflow: hidden; border-radius: 3px; background: var(--line2); }\n.stack i { min-width: 1px; }\n.phases { width: 100%; border-collapse: collapse; font-size: 11.5px; }\n.phases th, .phases td { padding: 1px 0; border: 0; font-weight: 400; text-align: left; }\n.phases .swatch { margin-right: 6px; }\n.phases td { padding-left: 8px; color: var(--fg2); text-align: right; }\n.phases td:nth-child(2) { color: var(--fg); }\n.said { width: 100%; border-collapse: collapse; font-size: 11px; }\n.said th, .said td { padding: 1px 0; border: 0; font-weight: 400; text-align: left; vertical-align: top; }\n.said th { padding-right: 10px; color: var(--fg2); overflow-wrap: anywhere; }\n.said td { width: 60%; overflow-wrap: anywhere; white-space: pre-wrap; }\n.said td div { color: var(--fg2); }\n.phases .absent { color: var(--fg2); font-style: italic; }\n.split { display: flex; flex-wrap: wrap; gap: 0 14px; }\n.split .swatch { margin-right: 3px; }\n.flame { max-height: 240px; overflow: hidden auto; border-radius: 4px; background: var(--bg2); }\n.flames { position: relative; min-width: 0; }\n.flamebox { position: absolute; height: 17px; padding: 0 3px; overflow: hidden; border-right: 1px solid var(--bg); font-size: 10.5px; line-height: 17px; text-overflow: ellipsis; white-space: nowrap; cursor: pointer; }\n.flamebox b { font-weight: 600; }\n.flamebox.all { background: var(--line2); color: var(--fg); }\n.flamebox.own { background: var(--infer); color: var(--bg); }\n.flamebox.library { background: color-mix(in srgb, var(--infer) 40%, var(--bg)); color: var(--fg); }\n.flamebox.child { background: color-mix(in srgb, var(--infer) 18%, var(--bg)); color: var(--fg); font-style: italic; }\n.flamebox:hover { filter: brightness(1.12); }\n.flamebox:focus-visible { z-index: 1; outline: 2px solid var(--accent); outline-offset: -2px; box-shadow: inset 0 0 0 3px var(--bg); }\n.timed { --heat: color-mix(in srgb, var(--queue) 38%, var(--bg)); max-height: 300px; overflow: auto; border: 1px solid var(--line2); border-radius: 4px; }\n.timed table { border-collapse: collapse; font-size: 10.5px; line-height: 17px; }\n.timed th, .timed td { padding: 0 5px; border: 0; color: var(--fg); font-weight: 400; text-align: right; white-space: pre; }\n.timed thead th { position: sticky; top: 0; background: var(--bg2); }\n.timed th, .timed .idle td { color: var(--fg2); }\n.timed .text { text-align: left; }\n.timed thead th:last-child { text-align: left; }\n.hotlines { width: 100%; border-collapse: collapse; font-size: 11px; table-layout: fixed; }\n.hotlines th, .hotlines td { padding: 2px 0; border: 0; border-top: 1px solid var(--line2); font-weight: 400; text-align: left; vertical-align: top; }\n.hotlines td { width: 52px; padding-right: 8px; color: var(--fg2); text-align: right; }\n.hotlines .code { overflow: hidden; color: var(--fg2); text-overflow: ellipsis; white-space: nowrap; }\n.error:not(.badge, .chip, .state) { margin-top: 8px; padding: 6px 8px; border-left: 3px solid var(--error); border-radius: 0 4px 4px 0; background: var(--error-bg); overflow-wrap: anywhere; white-space: pre-wrap; }\n.chain { margin-bottom: 3px; color: var(--fg2); font-size: 10.5px; }\n.reason { margin: 2px 0; color: var(--fg2); font-size: 11.5px; overflow-wrap: anywhere; white-space: pre-wrap; }\n.chips + .hint, .phases + .hint { margin-top: 6px; }\n.note { margin-top: 8px; padding: 4px 8px; font-size: 11px; border-left: 3px solid var(--queue); background: var(--bg2); overflow-wrap: anywhere; white-space: pre-wrap; }\n.head { display: grid; grid-template-columns: 14px minmax(0, 1fr) auto; gap: 0 6px; align-items: baseline; width: 100%; padding: 4px 2px; border: 0; border-top: 1px solid var(--line2); border-radius: 0; color: var(--fg); text-align: left; }\n.head[aria-expanded="true"] { background: var(--over); }\n.head .name { overflow: hidden; font-weight: 600; text-overflow: ellipsis; }\n.head .arrow, .head .datatype, .head .shape, .head .place { color: var(--fg2); }\n.head .shape { grid-column: 2; }\n.head .place { font-size: 10.5px; text-align: right; }\n.detail { padding: 6px 2px 10px; }\n.facts { display: grid; grid-template-columns: repeat(3, auto); gap: 2px 14px; margin-bottom: 6px; font-size: 11px; }\n.facts div { display: flex; justify-content: space-between; gap: 4px; color: var(--fg2); }\n.facts div { white-space: nowrap; }\n.facts b { color: var(--fg); font-weight: 500; }\n.histogram { display: block; width: 100%; height: 46px; border-radius: 4px; background: var(--bg2); }\n.caption { display: flex; justify-content: space-between; gap: 8px; margin-top: 1px; color: var(--fg2); font-size: 10.5px; }\n.slice { margin-top: 8px; }\n.picture { display: block; width: 100%; margin: 0 auto; object-fit: fill; border-radius: 4px; background: var(--bg2); image-rendering: pixelated; }\n.cells { display: grid; gap: 1px; overflow: hidden; border-radius: 4px; }\n.cells span { padding: 3px 1px; overflow: hidden; background: var(--bg2); font-size: 10.5px; text-align: center; text-overflow: ellipsis; white-space: nowrap; }\n.scale { display: inline-block; width: 36px; height: 7px; margin-right: 5px; border-radius: 2px; }\n.segments { display: inline-flex; margin-bottom: 6px; overflow: hidden; border: 1px solid var(--line); border-radius: 5px; }\n.segments button { padding: 0 8px; border: 0; border-radius: 0; }\n.slider { display: grid; grid-template-columns: 46px 1fr auto; gap: 6px; align-items: center; min-height: 22px; color: var(--fg2); font-size: 11px; }\n.slider input { width: 100%; height: 16px; margin: 0; accent-color: var(--accent); }\n.strings, .logs, .source { max-height: 170px; overflow: auto; border: 1px solid var(--line2); border-radius: 4px; }\n.strings > div, .logs > div { display: grid; gap: 6px; padding: 1px 6px; overflow-wrap: anywhere; white-space: pre-wrap; border-top: 1px solid var(--line2); }\n.strings > div { grid-template-columns: 24px minmax(0, 1fr); }\n.logs > div { grid-template-columns: 52px 52px minmax(0, 1fr); }\n.strings > div:first-child, .logs > div:first-child { border-top: 0; }\n.number, .level { color: var(--fg2); }\n.logs > .log-warning { box-shadow: inset 2px 0 var(--queue); }\n.logs > .log-error { box-shadow: inset 2px 0 var(--error); }\n.log-warning .level { color: var(--fg); font-weight: 600; }\n.log-error .level { color: var(--error); font-weight: 600; }\n.source > div { display: grid; grid-template-columns: 30px max-content; padding: 0 6px; line-height: 17px; white-space: pre; }\n.source .here, .source .part { background: var(--shade); box-shadow: inset 2px 0 var(--accent); }\n.link { display: flex; justify-content: space-between; gap: 8px; width: 100%; padding: 2px; border: 0; border-top: 1px solid var(--line2); border-radius: 0; color: var(--fg); font-size: 11.5px; }\n.link span:last-child { color: var(--fg2); }\n.more { width: 100%; margin-top: 4px; }\n\n.box .tone-error { fill: var(--error); font-weight: 600; }\n.box .tone-output { fill: var(--output); font-weight: 600; }\n.box .tone-infer { fill: var(--infer); font-weight: 600; }\n.toolbar.compared .legend { display: none; }\n/* more is told of two runs than fits beside a name */\n.toolbar.compared > .figures { flex: 0 8 auto; flex-wrap: wrap; gap: 2px 12px; min-width: 240px; }\n.toolbar.compared ~ .panes .edges .legend { display: flex; }\n.beside thead th { color: var(--fg2); text-align: right; }\n.beside td { white-space: nowrap; }\n.beside td.tone-error { color: var(--error); font-weight: 600; }\n.beside td.tone-output { color: var(--output); font-weight: 600; }\n.difference { padding: 3px 8px; margin-top: 4px; border-left: 3px solid var(--infer); background: var(--bg2); font-size: 11px; overflow-wrap: anywhere; white-space: pre-wrap; }\n\n/* over the panes */\n.tip { position: absolute; z-index: 9; top: 0; left: 0; max-width: 300px; padding: 6px 8px; border: 1px solid var(--line); border-radius: 6px; background: var(--card); box-shadow: 0 4px 16px #0003; font-size: 11px; pointer-events: none; overflow-wrap: anywhere; }\n.shares { display: grid; grid-template-columns: auto auto auto; gap: 0 10px; margin-top: 3px; }\n.shares > :not(:nth-child(3n + 1)) { text-align: right; }\n.tip .swatch { margin-right: 5px; }\n.tip .share { color: var(--fg2); }\n.tip .failed { margin-top: 4px; color: var(--error); white-space: pre-wrap; }\n[hidden] { display: none; }\n.help { position: absolute; z-index: 8; inset: 37px 0 0; padding: 14px 18px; overflow: auto; background: var(--bg); }\n.help:focus { outline: none; }\n.help dl { display: grid; grid-template-columns: auto 1fr; gap: 4px 14px; margin: 8px 0 12px; }\n.help dd { margin: 0; color: var(--fg2); }\n\n@container (max-width: 980px) {\n  .toolbar .legend { display: none; }\n  .edges { column-gap: 9px; }\n  .edges i { width: 14px; }\n  .edges .legend { display: flex; gap: 8px; }\n  .panes { grid-template-columns: minmax(0, 1fr) max(220px, min(var(--side, 288px), 100cqw - 360px)); }\n}\n@container (max-width: 700px) {\n  .toolbar { flex-wrap: wrap; }\n  .toolbar > .figures { flex: 0 1 auto; flex-wrap: wrap; gap: 2px 12px; }\n  .toolbar > .space { display: none; }\n  .toolbar > .filter { flex: 1 1 90px; }\n  .panes { grid-template: var(--graph, 200px) var(--timeline, 240px) auto / minmax(0, 1fr); height: auto; }\n  .inspector { grid-area: 3 / 1; max-height: 560px; border-top: 1px solid var(--line); border-left: 0; }\n  .splitter.x { display: none; }\n  .names .name { min-width: 2.5em; }\n}\n@container (max-width: 520px) {\n  .names .badge { min-width: 18px; }\n  .panes .edges .legend, .toolbar.compared ~ .panes .edges .legend { display: none; }\n}\n@media (prefers-reduced-motion: no-preference) {\n  .state.running { animation: pulse 1.4s ease-in-out infinite; }\n  @keyframes pulse { 50% { opacity: .35; } }\n}\n@media print {\n  .view { break-inside: avoid; print-color-adjust: exact; }\n  .panes .inspector { max-height: none; }\n  .toolbar button, .toolbar > .filter, .zoom { display: none; }\n  /* A canvas that was cleared for paper hides what is below it. */\n  .rows { z-index: 1; }\n  .row.selected { background: none; }\n}\n@media (forced-colors: active) {\n  .state, .swatch, .stack, .stack i { forced-color-adjust: none; }\n  .row.selected { outline: 2px solid Highlight; }\n  .box .frame { stroke: CanvasText; }\n  .box.selected .frame { stroke: Highlight; }\n  .source .here { outline: 1px solid Highlight; outline-offset: -1px; }\n}\n';

// src/page/theme.ts
var TOKENS = [
  "bg",
  "fg",
  "fg2",
  "fg3",
  "line",
  "line2",
  "shade",
  "accent",
  "queue",
  "input",
  "infer",
  "output",
  "error",
  "running"
];
var WATCHED = [
  "class",
  "theme",
  "style",
  "data-jp-theme-name",
  "data-jp-theme-light",
  "data-vscode-theme-kind"
];
function themeOf(element) {
  const { vscodeThemeKind, jpThemeLight } = document.body.dataset;
  if (vscodeThemeKind) return /light/.test(vscodeThemeKind) ? "light" : "dark";
  if (jpThemeLight) return jpThemeLight === "false" ? "dark" : "light";
  const colab = document.documentElement.getAttribute("theme");
  if (colab) return colab.includes("dark") ? "dark" : "light";
  return backgroundTheme(element) ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}
function watchTheme(changed) {
  const observer = new MutationObserver(changed);
  for (const element of [document.body, document.documentElement]) {
    observer.observe(element, { attributes: true, attributeFilter: WATCHED });
  }
  const preference = matchMedia("(prefers-color-scheme: dark)");
  preference.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    preference.removeEventListener("change", changed);
  };
}
function coloursOf(root) {
  const style = getComputedStyle(root);
  const tokens = TOKENS.map((token) => [token, style.getPropertyValue(`--${token}`).trim()]);
  return { ...Object.fromEntries(tokens), font: style.fontFamily };
}
function backgroundTheme(element) {
  for (let at2 = element; at2; at2 = parentOf(at2)) {
    const [red, green, blue, alpha = 1] = (getComputedStyle(at2).backgroundColor.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    if (alpha > 0.5) return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 110 ? "dark" : "light";
  }
  return null;
}
function parentOf(element) {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}

// src/page/skin.ts
var MAX_PRINT_WIDTH = "700px";
var Skin = class {
  /** The shadow host. */
  element = h("div", { class: "blsnb-view", "data-lm-suppress-shortcuts": "true" });
  colours;
  #root;
  #changed = () => void 0;
  #resized = () => void 0;
  #onPaper = false;
  constructor(root) {
    this.#root = root;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style_default);
    const shadow = this.element.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [sheet];
    shadow.append(root);
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
  }
  /** Apply the theme of the host; the element must be in the page. */
  apply() {
    const theme = themeOf(this.element.parentElement ?? this.element);
    this.#root.dataset.theme = this.#onPaper ? "light" : theme;
    this.colours = coloursOf(this.#root);
  }
  /**
   * Call back when the theme may have changed, and when the width has; returns how to stop.
   *
   * A document is not notified when its output is removed, so the page must not keep its view alive.
   */
  watch(changed, resized) {
    const waiting = new WeakRef(this);
    this.#changed = changed;
    this.#resized = resized;
    const notify = (callback) => {
      const alive = waiting.deref();
      if (alive) callback(alive);
      else stop();
    };
    const stops = [
      watchTheme(() => notify((skin) => skin.#changed())),
      watchPrinting((printing) => notify((skin) => skin.#print(printing)))
    ];
    const stop = () => stops.forEach((each) => each());
    return stop;
  }
  /** Apply the width of paper: a page that is printed sends no resize event. */
  #print(printing) {
    this.#onPaper = printing;
    this.element.style.maxWidth = printing ? MAX_PRINT_WIDTH : "";
    this.#changed();
    this.#resized();
  }
};
function watchPrinting(changed) {
  const begin = () => changed(true);
  const end = () => changed(false);
  globalThis.addEventListener("beforeprint", begin);
  globalThis.addEventListener("afterprint", end);
  return () => {
    globalThis.removeEventListener("beforeprint", begin);
    globalThis.removeEventListener("afterprint", end);
  };
}

// src/timeline/brush.ts
var BAR_HEIGHT = 12;
var QUEUE_HEIGHT = 5;
var LABEL_GAP = 6;
var BEYOND = 50;
var LABEL_INSIDE = 8;
var [PLATE, PLATE_MARGIN] = [0.9, 3];
var [CRITICAL_BELOW, CRITICAL_HEIGHT] = [8.75, 1.5];
var Brush = class {
  pen;
  plane;
  colours;
  #strength = 1;
  constructor(pen2, plane, colours) {
    this.pen = pen2;
    this.plane = plane;
    this.colours = colours;
    pen2.font = `10.5px ${colours.font}`;
    pen2.textBaseline = "middle";
    pen2.textAlign = "left";
  }
  /** The opacity from now on. */
  set strength(strength) {
    this.#strength = strength;
    this.pen.globalAlpha = strength;
  }
  /** Paint with a share of the opacity. */
  weakly(share, paint) {
    this.#at(this.#strength * share, paint);
  }
  #at(opacity, paint) {
    this.pen.globalAlpha = opacity;
    paint();
    this.pen.globalAlpha = this.#strength;
  }
  /** Paint a bar between two times, clipped to the canvas. */
  span(from, to, middle2, height, colour, least = 0.8) {
    const start = Math.max(this.plane.x(from), -BEYOND);
    const end = Math.min(this.plane.x(to), this.plane.right + BEYOND);
    if (end > start) this.rect(start, middle2, Math.max(least, end - start), height, colour);
  }
  rect(x, middle2, width, height, colour) {
    this.pen.fillStyle = colour;
    this.pen.fillRect(x, middle2 - height / 2, width, height);
  }
  triangle(...corners) {
    this.pen.beginPath();
    for (const [x, y] of corners) this.pen.lineTo(x, y);
    this.pen.fill();
  }
  /** Paint the line of the critical path. */
  underline(from, to, middle2) {
    this.span(from, to, middle2 + CRITICAL_BELOW, CRITICAL_HEIGHT, this.colours.fg, 1);
  }
  /** Write a label behind the bar, else before it, else in it. */
  label(label2, from, to, middle2, gap2 = LABEL_GAP) {
    const [start, end] = [this.plane.x(from), this.plane.x(to)];
    const width = this.#width(label2);
    const behind = end + gap2 + width < this.plane.right;
    const ahead = !behind && start - LABEL_GAP - width > this.plane.left;
    if (behind) this.#texts(label2, end + gap2, middle2);
    else if (ahead) this.#texts(label2, start - LABEL_GAP - width, middle2);
    else this.#plate(label2, Math.max(start, this.plane.left) + LABEL_INSIDE, middle2, width);
  }
  /** Write as much of a label as fits behind a position. */
  labelAt(label2, x, middle2) {
    let room = this.plane.right - x;
    const fits = label2.filter(([text]) => {
      const before2 = room;
      room -= this.pen.measureText(text).width + LABEL_GAP;
      return this.pen.measureText(text).width < before2;
    });
    this.#texts(fits, x, middle2);
  }
  /** Write in a bar, on a plate: the colours below change from phase to phase. */
  #plate(label2, x, middle2, width) {
    this.#at(PLATE, () => this.#ground(x, middle2, width));
    this.#texts(label2, x, middle2);
  }
  #ground(x, middle2, width) {
    this.rect(x - PLATE_MARGIN, middle2, width + 2 * PLATE_MARGIN, BAR_HEIGHT + 2, this.colours.bg);
  }
  /** Texts are legible in a row that is left aside, too. */
  #texts(label2, x, middle2) {
    this.#at(1, () => {
      for (const [text, colour] of label2) {
        const { width } = this.pen.measureText(text);
        if (colour !== this.colours.fg2) this.#ground(x, middle2, width);
        this.pen.fillStyle = colour;
        this.pen.fillText(text, x, middle2 + 0.5);
        x += width + LABEL_GAP;
      }
    });
  }
  #width(label2) {
    const widths = label2.map(([text]) => this.pen.measureText(text).width);
    return widths.reduce((sum, each) => sum + each + LABEL_GAP, -LABEL_GAP);
  }
};

// src/timeline/rowtimes.ts
var totalOf2 = oncePerRow((trace, row5) => {
  const counted2 = row5.kind === "fold" ? trace.folded.beside(row5.calls) : null;
  return total2(trace, row5.calls) + (counted2?.us ?? 0);
});
var stepsOf2 = oncePerRow((trace, row5) => trace.concurrencyOf(row5.calls));
var criticalOf = oncePerRow(
  (trace, row5) => trace.merged(row5.calls.filter((call) => trace.critical.has(call)))
);
var beforeOf = oncePerRow((trace, row5) => {
  const { comparison } = trace;
  if (!comparison) return { times: [], total: 0 };
  const { baseline } = comparison;
  const calls = row5.kind === "missing" ? row5.missing : comparison.beforeAll(row5.calls);
  return { times: baseline.merged(calls), total: total2(baseline, calls) };
});
function oncePerRow(of) {
  const known = /* @__PURE__ */ new WeakMap();
  return (trace, row5) => {
    let found3 = known.get(row5);
    if (!found3) known.set(row5, found3 = { value: of(trace, row5) });
    return found3.value;
  };
}

// src/timeline/baselinebar.ts
var [BELOW, HEIGHT] = [8.25, 2.5];
var MIN_WIDTH2 = 3;
var HOLLOW_HEIGHT = 9;
function paintBefore(trace, row5, middle2, brush) {
  if (!trace.comparison) return;
  for (const [from, to] of brush.plane.visible(beforeOf(trace, row5).times))
    brush.span(from, to, middle2 + BELOW, HEIGHT, brush.colours.fg3, MIN_WIDTH2);
}
function paintMissing(trace, row5, middle2, brush) {
  if (!trace.comparison) return;
  const { times, total: total3 } = beforeOf(trace, row5);
  const { pen: pen2, plane, colours } = brush;
  pen2.save();
  pen2.strokeStyle = colours.fg3;
  pen2.setLineDash([2, 2]);
  for (const [from, to] of plane.visible(times)) {
    const [start, end] = [plane.x(from), plane.x(to)];
    const top2 = middle2 - HOLLOW_HEIGHT / 2;
    pen2.strokeRect(start + 0.5, top2, Math.max(2, end - start - 1), HOLLOW_HEIGHT);
  }
  pen2.restore();
  const label2 = [[time(total3), colours.fg2]];
  brush.label(label2, times[0][0], times[times.length - 1][1], middle2, LABEL_GAP);
}
function beside2(trace, row5, { colours }) {
  const { comparison } = trace;
  if (!comparison) return [];
  if (row5.calls.every((call) => comparison.isNew(call))) return [["new", colours.infer]];
  const { times, total: then } = beforeOf(trace, row5);
  if (times.length === 0 || isPartial(trace, row5, comparison)) return [];
  const now = totalOf2(trace, row5);
  const sign = signOf(now, then);
  return sign === "≈" ? [] : [[deltaText(now, then), colours[toneOf(sign)]]];
}
function isPartial(trace, row5, comparison) {
  if (row5.kind === "call") return false;
  return trace.folded.has(row5.calls) || row5.calls.some((call) => comparison.isCounted(call));
}

// src/timeline/callbar.ts
var TINT = 0.28;
var MARK_WIDTH = 19;
var NOTCH_SPACE = 3;
var MIN_WIDTH3 = 2;
var CallBar = class {
  #trace;
  #brush;
  constructor(trace, brush) {
    this.#trace = trace;
    this.#brush = brush;
  }
  paint(row5, middle2, critical) {
    const [trace, brush, [call]] = [this.#trace, this.#brush, row5.calls];
    const { plane, colours } = brush;
    const [start, end] = [plane.x(trace.start(call)), plane.x(trace.end(call))];
    if (end < plane.left - MARK_WIDTH || start > plane.right) return;
    if (end - start < MIN_WIDTH3) brush.rect(start, middle2, MIN_WIDTH3, BAR_HEIGHT, colours.infer);
    else this.#phases(call, middle2);
    this.#responses(call, middle2);
    if (trace.has(call, Flag.RUNNING))
      brush.rect(end - 2, middle2, 3, BAR_HEIGHT + 2, colours.running);
    if (trace.has(call, Flag.ERROR)) this.#error(end, middle2);
    if (critical) brush.underline(trace.start(call), trace.end(call), middle2);
    if (end >= plane.left) this.#label(row5, middle2);
  }
  /** Draw a frame around the execution that the call shared with others. */
  frame(row5, middle2) {
    const [trace, { pen: pen2, plane, colours }, [call]] = [this.#trace, this.#brush, row5.calls];
    const waited = trace.phase(call, "pre_us") + trace.phase(call, "queue_us");
    const start = plane.x(trace.start(call) + (waited || 0));
    const end = plane.x(trace.end(call) - (trace.phase(call, "post_us") || 0));
    pen2.strokeStyle = colours.fg;
    pen2.lineWidth = 1;
    const [top2, height] = [middle2 - BAR_HEIGHT / 2 - 1.5, BAR_HEIGHT + 3];
    pen2.strokeRect(Math.round(start) - 0.5, top2, Math.max(2, Math.round(end - start)) + 1, height);
  }
  #phases(call, middle2) {
    const [trace, brush] = [this.#trace, this.#brush];
    const { queue, input, infer, output, fg3 } = brush.colours;
    let at2 = trace.start(call);
    const next = (us, paint) => {
      if (!(us > 0)) return;
      paint(at2 + us);
      at2 += us;
    };
    const bar = (height, colour) => (to) => brush.span(at2, to, middle2, height, colour);
    next(trace.phase(call, "pre_us"), bar(1, fg3));
    next(trace.phase(call, "queue_us"), bar(QUEUE_HEIGHT, queue));
    next(trace.phase(call, "compute_input_us"), bar(BAR_HEIGHT, input));
    const asking = (to) => this.#caller(call, at2, to, middle2);
    next(
      trace.phase(call, "compute_infer_us"),
      trace.isLeaf(call) ? bar(BAR_HEIGHT, infer) : asking
    );
    next(trace.phase(call, "compute_output_us"), bar(BAR_HEIGHT, output));
    next(trace.phase(call, "post_us"), bar(1, fg3));
  }
  /** Paint time in child calls as a tint and own time solid; an ensemble waits between its steps. */
  #caller(call, from, to, middle2) {
    const [trace, brush] = [this.#trace, this.#brush];
    const { fg3, infer } = brush.colours;
    const colour = trace.isEnsemble(call) ? fg3 : infer;
    brush.weakly(TINT, () => brush.span(from, to, middle2, BAR_HEIGHT, infer));
    for (const [start, end] of between(trace.childIntervals(call), from, to))
      if (end - start > 0.3 * brush.plane.pixel)
        brush.span(start, end, middle2, BAR_HEIGHT, colour);
  }
  /** Paint responses of a stream as notches; that of the first goes through the bar. */
  #responses(call, middle2) {
    const [trace, { plane, colours, pen: pen2 }] = [this.#trace, this.#brush];
    if (!trace.has(call, Flag.DECOUPLED)) return;
    pen2.fillStyle = trace.isLeaf(call) ? colours.bg : colours.fg;
    let last = -Infinity;
    for (const [k, us] of trace.responses(call).entries()) {
      const x = Math.round(plane.x(trace.start(call) + us));
      if (x - last < NOTCH_SPACE && k > 1) continue;
      if (x >= plane.left && x <= plane.right) this.#notch(x, middle2, k === 0);
      last = x;
    }
  }
  #notch(x, middle2, first) {
    const { pen: pen2 } = this.#brush;
    if (first) pen2.fillRect(x, middle2 - BAR_HEIGHT / 2, 1, BAR_HEIGHT);
    else pen2.fillRect(x, middle2 + 2, 1, 4);
  }
  /** Mark a failure by a bar and a triangle, not by colour alone. */
  #error(x, middle2) {
    const { colours } = this.#brush;
    this.#brush.rect(x - 1, middle2, 2, 16, colours.error);
    this.#brush.triangle([x + 8, middle2 - 6], [x + 14, middle2 + 5], [x + 2, middle2 + 5]);
    this.#brush.rect(x + 7.4, middle2 - 0.2, 1.3, 3.6, colours.bg);
    this.#brush.rect(x + 7.4, middle2 + 3.25, 1.3, 1.3, colours.bg);
  }
  #label(row5, middle2) {
    const [trace, brush, [call]] = [this.#trace, this.#brush, row5.calls];
    const running = trace.has(call, Flag.RUNNING);
    const took = running ? "running…" : time(trace.duration[call]);
    const label2 = [[took, brush.colours.fg2], ...beside2(trace, row5, brush)];
    const gap2 = trace.has(call, Flag.ERROR) ? MARK_WIDTH : LABEL_GAP;
    brush.label(label2, trace.start(call), trace.end(call), middle2, gap2);
  }
};
function between(intervals, from, to) {
  const free = [];
  let at2 = from;
  for (let k = 0; k < intervals.length && at2 < to; k += 2) {
    free.push([at2, Math.min(to, intervals[k])]);
    at2 = Math.max(at2, intervals[k + 1]);
  }
  free.push([at2, to]);
  return free;
}

// src/timeline/foldbar.ts
var [HATCH, HATCHED] = [5, 0.6];
var MIN_PARTED_WIDTH = 4;
var FoldBar = class {
  #trace;
  #brush;
  constructor(trace, brush) {
    this.#trace = trace;
    this.#brush = brush;
  }
  paint(row5, middle2, critical) {
    const [trace, brush] = [this.#trace, this.#brush];
    this.#counted(row5, middle2);
    const last = this.#strip(row5, middle2);
    if (critical)
      for (const [from, to] of brush.plane.visible(criticalOf(trace, row5)))
        brush.underline(from, to, middle2);
    for (const call of trace.failedOf(row5.calls)) this.#tick(trace.end(call), middle2);
    if (last < 0) return;
    const took = [`${time(totalOf2(trace, row5))} total`, brush.colours.fg2];
    const x = brush.plane.left + last + LABEL_GAP + 1;
    brush.labelAt([took, ...beside2(trace, row5, brush)], x, middle2);
  }
  /** When further calls ran, of which it is only known how many: hatched, since nothing is exact. */
  #counted(row5, middle2) {
    const gone = this.#trace.folded.beside(row5.calls);
    if (!gone || !(gone.to > gone.from)) return;
    const { pen: pen2, plane } = this.#brush;
    const start = Math.max(plane.x(gone.from), plane.left);
    const end = Math.min(plane.x(gone.to), plane.right);
    pen2.save();
    pen2.beginPath();
    pen2.rect(start, middle2 - QUEUE_HEIGHT / 2 - 1, Math.max(0, end - start), QUEUE_HEIGHT + 2);
    pen2.clip();
    this.#brush.weakly(HATCHED, () => this.#hatch(start, end, middle2));
    pen2.restore();
  }
  #hatch(start, end, middle2) {
    const { pen: pen2, colours } = this.#brush;
    pen2.strokeStyle = colours.infer;
    pen2.lineWidth = 1.5;
    pen2.beginPath();
    for (let x = start - HATCH; x < end; x += HATCH) {
      pen2.moveTo(x, middle2 + HATCH);
      pen2.lineTo(x + 2 * HATCH, middle2 - HATCH);
    }
    pen2.stroke();
  }
  /** Returns where the strip ends, in pixels; -1 if nothing is in view. */
  #strip(row5, middle2) {
    const { range, left, right, pixel } = this.#brush.plane;
    const steps = stepsOf2(this.#trace, row5);
    const pixels = Math.ceil(right - left);
    const most = perPixel(steps, range.from, range.from + pixels * pixel, pixels);
    let last = -1;
    for (let x = 0; x < most.length; ) {
      const from = x;
      while (x < most.length && most[x] === most[from]) x++;
      if (most[from] === 0) continue;
      this.#level(left + from, x - from, most[from] / steps.max, middle2);
      last = x;
    }
    return last;
  }
  #level(x, width, share, middle2) {
    const height = QUEUE_HEIGHT + (BAR_HEIGHT - QUEUE_HEIGHT) * Math.sqrt(share);
    const wide = width > MIN_PARTED_WIDTH ? width - 0.5 : width;
    const { infer } = this.#brush.colours;
    this.#brush.weakly(0.3 + 0.7 * share, () => this.#brush.rect(x, middle2, wide, height, infer));
  }
  #tick(us, middle2) {
    const { plane, pen: pen2, colours } = this.#brush;
    const x = plane.x(us);
    if (x < plane.left || x > plane.right) return;
    pen2.fillStyle = colours.error;
    this.#brush.triangle([x, middle2 - 9], [x + 3.5, middle2 - 5], [x - 3.5, middle2 - 5]);
  }
};

// src/timeline/bars.ts
var ROW_HEIGHT2 = 22;
var DIM = 0.4;
var Bars = class {
  #trace;
  #brush;
  #call;
  #fold;
  constructor(trace, pen2, plane, colours) {
    this.#trace = trace;
    this.#brush = new Brush(pen2, plane, colours);
    this.#call = new CallBar(trace, this.#brush);
    this.#fold = new FoldBar(trace, this.#brush);
  }
  paint(row5, top2, { dim, critical, mate }) {
    const middle2 = top2 + ROW_HEIGHT2 / 2;
    this.#brush.strength = dim ? DIM : 1;
    if (row5.kind === "missing") return paintMissing(this.#trace, row5, middle2, this.#brush);
    paintBefore(this.#trace, row5, middle2, this.#brush);
    (row5.kind === "call" ? this.#call : this.#fold).paint(row5, middle2, critical);
    if (mate) this.#call.frame(row5, middle2);
  }
};

// src/timeline/plane.ts
var NAMES2 = { min: 232, max: 340, share: 0.24, maxShare: 0.38 };
var COMPARED_NAMES = 288;
var LABEL_ROOM = 82;
var COMPARED_ROOM = 140;
var Plane = class {
  left;
  width;
  /** Right edge of the canvas, where labels end. */
  right;
  range;
  constructor(range, left, width, right) {
    this.range = range;
    this.left = left;
    this.width = width;
    this.right = right;
  }
  x(us) {
    return this.left + (us - this.range.from) / this.range.width * this.width;
  }
  time(x) {
    return this.range.from + (x - this.left) / this.width * this.range.width;
  }
  /** Duration of a pixel in microseconds. */
  get pixel() {
    return this.range.width / this.width;
  }
  /** Return the intervals in view; those less than a pixel apart are joined. */
  visible(times) {
    const [from, to] = [this.time(this.left), this.time(this.right)];
    const shown = [];
    for (const [start, end] of times) {
      if (end < from) continue;
      if (start > to) break;
      const last = shown[shown.length - 1];
      if (last && start <= last[1] + this.pixel) last[1] = Math.max(last[1], end);
      else shown.push([start, end]);
    }
    return shown;
  }
};
function planeOf(range, width, compared2) {
  const names = Math.min(NAMES2.max, Math.max(compared2 ? COMPARED_NAMES : NAMES2.min, NAMES2.share * width));
  const left = Math.round(Math.min(names, NAMES2.maxShare * width));
  const room = compared2 && width > 480 ? COMPARED_ROOM : LABEL_ROOM;
  return new Plane(range, left, Math.max(50, width - left - room), width);
}

// src/timeline/range.ts
var ROOM = 1.005;
var MIN_SHARE3 = 1e-6;
var MIN_US = 1;
var TimeRange = class {
  from = 0;
  to = 1;
  /** Whether the range grows with a running trace; until the first zoom, fold or selection. */
  following = true;
  #whole = 1;
  /** End of the whole range. */
  get whole() {
    return this.#whole;
  }
  get width() {
    return this.to - this.from;
  }
  get isWhole() {
    return this.from <= 0 && this.to >= this.#whole * 0.999;
  }
  /** The range as text. */
  get words() {
    if (this.isWhole) return "the whole run";
    const text = timeText(this, this.width / 100);
    return `${text(this.from)} to ${text(this.to)}`;
  }
  /** Set the end of the trace. */
  grow(wall) {
    const showAll = this.following || this.isWhole;
    this.#whole = Math.max(wall * ROOM, MIN_US);
    if (showAll) this.#set(0, this.#whole);
  }
  all() {
    this.#set(0, this.#whole);
  }
  show(from, to) {
    this.following = false;
    this.#set(from, to);
  }
  /** Show less (`factor` below 1) or more; the time `at` stays at its position. */
  zoom(factor, at2 = (this.from + this.to) / 2) {
    this.show(at2 - (at2 - this.from) * factor, at2 + (this.to - at2) * factor);
  }
  pan(by) {
    this.show(this.from + by, this.to + by);
  }
  #set(from, to) {
    const width = Math.min(this.#whole, Math.max(to - from, this.#whole * MIN_SHARE3));
    this.from = Math.max(0, Math.min(from, this.#whole - width));
    this.to = this.from + width;
  }
};
function timeText({ to }, step) {
  const [unit, scale] = to >= 1e6 ? ["s", 1e6] : to >= 1e3 ? ["ms", 1e3] : ["µs", 1];
  const decimals = Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9));
  return (us) => `${(us / scale).toFixed(decimals)} ${unit}`;
}
function ticks(range, width, space = 90) {
  const least = range.width / Math.max(2, width / space);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((each) => each * power >= least) ?? 10);
  const times = [];
  for (let k = Math.ceil(range.from / step); k * step <= range.to; k++) times.push(k * step);
  return { times, step };
}

// src/timeline/rowelements.ts
var MAX_GUIDES = 10;
var RowElements = class {
  element = h("div", { class: "rows", role: "none" });
  #session;
  #id;
  /** The rows that were shown last. */
  #rows;
  #cursor = "";
  #batch = /* @__PURE__ */ new Set();
  #shown = /* @__PURE__ */ new Map();
  constructor(session, id) {
    this.#session = session;
    this.#id = id;
  }
  /** Show the rows in view; an element stays as long as its row is in view. */
  show(visible2, rows2, cursor) {
    this.#rows = rows2;
    this.#cursor = cursor;
    this.#batch = selectedBatch(this.#session.selection, rows2.trace);
    const keys = new Set(visible2.map((row5) => row5.key));
    for (const [key, { element }] of this.#shown) {
      if (keys.has(key)) continue;
      element.remove();
      this.#shown.delete(key);
    }
    let next = this.element.firstElementChild;
    for (const row5 of visible2) {
      const { element } = this.#rowElement(row5);
      if (element === next) next = next.nextElementSibling;
      else this.element.insertBefore(element, next);
    }
    return this.#shown.get(cursor)?.element;
  }
  #rowElement(row5) {
    let shown = this.#shown.get(row5.key);
    if (!shown) {
      const element2 = h("div", { class: "row", role: "treeitem", id: `${this.#id}-${row5.key}` });
      this.#shown.set(row5.key, shown = { element: element2, row: row5, facts: "" });
    }
    const { element } = shown;
    shown.row = row5;
    const facts = this.#facts(row5);
    if (shown.facts !== facts) this.#fill(element, row5);
    shown.facts = facts;
    element.style.top = `${row5.index * ROW_HEIGHT2}px`;
    const selected = isSelected(row5, this.#session.selection);
    element.classList.toggle("selected", selected);
    element.classList.toggle("mate", row5.kind === "call" && this.#batch.has(row5.calls[0]));
    element.classList.toggle("cursor", row5.key === this.#cursor);
    element.classList.toggle("dim", this.#session.dims(row5, this.#rows.isOpen(row5)));
    element.setAttribute("aria-selected", String(selected));
    return shown;
  }
  /** Return all that the element of a row shows, to notice changes. */
  #facts(row5) {
    const { trace } = this.#session;
    const [call] = row5.calls;
    const { flags, responses: responses2 } = trace.calls;
    const state = [flags[call], responses2[call], trace.duration[call], trace.names[row5.model]];
    const tree = [row5.calls.length, row5.depth, row5.position, row5.siblings];
    return [
      row5.missing.length,
      this.#counted(row5)?.calls,
      ...state,
      ...tree,
      this.#rows.hasChildren(row5),
      this.#rows.isOpen(row5),
      this.#errors(row5)
    ].join();
  }
  #errors(row5) {
    const { length } = this.#session.trace.failedOf(row5.calls);
    return length + (this.#counted(row5)?.errors ?? 0);
  }
  /** Return the calls of a fold that are only counted. */
  #counted(row5) {
    return row5.kind === "fold" ? this.#session.trace.folded.beside(row5.calls) : null;
  }
  #fill(element, row5) {
    const { trace } = this.#session;
    const branches = this.#rows.hasChildren(row5);
    element.setAttribute("aria-level", String(row5.depth + 1));
    element.setAttribute("aria-posinset", String(row5.position));
    element.setAttribute("aria-setsize", String(row5.siblings));
    if (branches) element.setAttribute("aria-expanded", String(this.#rows.isOpen(row5)));
    else element.removeAttribute("aria-expanded");
    element.setAttribute(
      "aria-description",
      this.#description(row5)
    );
    const triangle = branches && svg(
      "svg",
      { viewBox: "0 0 8 8", "aria-hidden": "true" },
      svg("path", { d: "M2 0 L7 4 L2 8z", fill: "currentColor" })
    );
    const guides = Array.from(
      { length: Math.min(row5.depth, MAX_GUIDES) },
      () => h("span", { class: "guide" })
    );
    const name = this.#name(row5);
    const kind = trace.header.models[row5.model]?.kind ?? "";
    const names = h("div", { class: "names" }, guides, h("span", { class: "triangle" }, triangle));
    names.append(
      h(
        "span",
        { class: `name ${row5.kind} ${kind}`, title: name },
        name
      )
    );
    names.append(...this.#badges(row5));
    element.replaceChildren(names);
  }
  #name(row5) {
    const { trace } = this.#session;
    if (row5.kind === "calls") return "individual calls";
    if (row5.kind === "missing") return trace.comparison?.baseline.name(row5.missing[0]) ?? "";
    return trace.names[row5.model];
  }
  #description(row5) {
    const { trace } = this.#session;
    if (row5.kind === "missing") return `missing, ${counted(row5.missing.length, "call")} before`;
    const [call] = row5.calls;
    if (row5.kind !== "call")
      return counted(row5.calls.length + (this.#counted(row5)?.calls ?? 0), "call");
    const before2 = trace.comparison?.before(call) ?? -1;
    const now = time(trace.duration[call]);
    return before2 < 0 ? now : `${now}, before ${time(trace.comparison.baseline.duration[before2])}`;
  }
  #badges(row5) {
    const { trace } = this.#session;
    const [call] = row5.calls;
    const badges = [];
    const badge = (text, kind = "") => badges.push(h("span", { class: `badge ${kind}`, title: text }, text));
    if (row5.kind === "missing") {
      const { length } = row5.missing;
      if (length > 1 && trace.comparison?.baseline.folded.has(row5.missing))
        badge(`${count(length)} kept`, "kept");
      else if (length > 1) badges.push(h("span", { class: "count" }, `×${count(length)}`));
      badge("missing");
      return badges;
    }
    const gone = this.#counted(row5)?.calls ?? 0;
    if (row5.kind !== "call")
      badges.push(h("span", { class: "count" }, `×${count(row5.calls.length + gone)}`));
    else if (row5.inFold) badges.push(h("span", { class: "count" }, `call ${trace.id(call)}`));
    const errors2 = this.#errors(row5);
    if (errors2) badge(row5.kind === "call" ? "error" : counted(errors2, "error"), "error");
    if (gone) badge(`${count(row5.calls.length)} kept`, "kept");
    for (const text of this.#compared(row5)) badge(text, "compared");
    if (row5.kind !== "call") return badges;
    if (trace.has(call, Flag.CANCELLED)) badge("cancelled");
    if (trace.has(call, Flag.CACHE_HIT)) badge("cached");
    if (trace.has(call, Flag.DECOUPLED)) badge(counted(trace.calls.responses[call], "response"));
    if (trace.header.notes[trace.id(call)]) badge("note");
    return badges;
  }
  /** Return badges for new and changed calls. */
  #compared(row5) {
    const { comparison } = this.#session.trace;
    if (!comparison) return [];
    const added = row5.calls.filter((call) => comparison.isNew(call)).length;
    const changed = row5.calls.filter((call) => comparison.changed.has(call)).length;
    const word = (number, text) => row5.kind === "call" ? text : `${count(number)} ${text}`;
    return [added && word(added, "new"), changed && word(changed, "changed")].filter(
      (text) => typeof text === "string"
    );
  }
  /** Return the row of a pointer event. */
  rowAt(event) {
    const element = event.target.closest("[role=treeitem]");
    return [...this.#shown.values()].find((shown) => shown.element === element)?.row;
  }
};
function isSelected(row5, selection) {
  if (!selection || selection.kind === "dropped") return false;
  if (selection.kind === "fold" || selection.kind === "missing") return row5.key === selection.key;
  if (selection.kind === "model") return row5.model === selection.model;
  if (selection.kind === "models") return selection.models.includes(row5.model);
  return row5.kind === "call" && row5.calls[0] === selection.call;
}

// src/timeline/rowtip.ts
var ROOM2 = 0.08;
function tipOf(trace, row5, at2) {
  if (row5.kind === "missing") return { call: -1, tip: missingTip(trace, row5) };
  const away = (call2) => Math.max(trace.start(call2) - at2, at2 - trace.end(call2), 0);
  const call = row5.calls.reduce((best, each) => away(each) < away(best) ? each : best);
  const among = row5.kind === "call" ? "" : ` · 1 of ${count(row5.calls.length)}`;
  const title = `${trace.name(call)}${among}  ${time(trace.duration[call])}`;
  const [phases, error] = [trace.phases([call]), trace.header.errors[trace.id(call)]];
  return { call, tip: { title, phases, facts: inShort(trace, call), error } };
}
function missingTip({ comparison }, { missing }) {
  if (!comparison) return null;
  const { baseline } = comparison;
  const took = time(total2(baseline, missing));
  const title = `${baseline.name(missing[0])} · in the baseline only  ${took}`;
  return { title, phases: baseline.phases(missing) };
}
function extentOf(trace, row5) {
  const gone = row5.kind === "missing" && trace.comparison;
  const of = gone ? gone.baseline : trace;
  const calls = gone ? row5.missing : row5.calls;
  const from = calls.reduce((least, call) => Math.min(least, of.start(call)), Infinity);
  const to = calls.reduce((most, call) => Math.max(most, of.end(call)), 0);
  const room = ROOM2 * (to - from);
  return [from - room, to + room];
}

// src/session/rows.ts
var FOLD_FROM = 4;
var Rows = class {
  trace;
  /** Keys of the rows whose children are shown; kept when the trace grows. */
  open;
  list = [];
  #children = /* @__PURE__ */ new Map();
  #lacking = /* @__PURE__ */ new Map();
  #top;
  constructor(trace, open = []) {
    this.trace = trace;
    this.open = new Set(open);
    this.#top = this.#withMissing(null, this.#folded(null, trace.roots, FOLD_FROM), null);
    this.rebuild();
  }
  /** List the visible rows, top to bottom. */
  rebuild() {
    this.list = [];
    const waiting = this.#top.toReversed();
    for (let row5 = waiting.pop(); row5; row5 = waiting.pop()) {
      row5.index = this.list.length;
      this.list.push(row5);
      if (!this.open.has(row5.key)) continue;
      for (const child of this.children(row5).toReversed()) waiting.push(child);
    }
  }
  /** Show or hide the children of a row. */
  toggle(row5, show = !this.open.has(row5.key)) {
    if (show) this.open.add(row5.key);
    else this.open.delete(row5.key);
    this.rebuild();
  }
  hasChildren(row5) {
    const { comparison } = this.trace;
    if (row5.kind === "missing")
      return row5.missing.some((call) => !comparison?.baseline.isLeaf(call));
    return row5.kind !== "call" || !this.trace.isLeaf(row5.calls[0]) || this.#lacks(row5);
  }
  isOpen(row5) {
    return this.open.has(row5.key) && this.hasChildren(row5);
  }
  children(row5) {
    let rows2 = this.#children.get(row5);
    if (!rows2) this.#children.set(row5, rows2 = this.#childrenOf(row5));
    return rows2;
  }
  find(key) {
    return this.list.find((row5) => row5.key === key);
  }
  /** Unfold level by level up to a number of rows; single calls of folds stay hidden. */
  openDefault(atMost) {
    this.open.clear();
    const waiting = [...this.#top];
    let shown = waiting.length;
    for (let row5 = waiting.shift(); row5; row5 = waiting.shift()) {
      if (!this.hasChildren(row5) || row5.kind === "calls" || this.#isPlainFold(row5)) continue;
      const children = this.children(row5);
      if (shown + children.length > atMost && shown > 1) continue;
      this.open.add(row5.key);
      shown += children.length;
      waiting.push(...children);
    }
    this.rebuild();
  }
  /** Unfold the path to a call and return its row. */
  reveal(call) {
    let rows2 = this.#top;
    let found3 = null;
    for (const step of [...this.trace.ancestors(call), call]) {
      if (found3) this.open.add(found3.key);
      found3 = this.#descend(rows2, step);
      if (!found3) break;
      rows2 = this.children(found3);
    }
    this.rebuild();
    return found3;
  }
  /** Return the row of a call among some rows, and unfold its folds. */
  #descend(rows2, call) {
    const single = rows2.find((row5) => row5.kind === "call" && row5.calls[0] === call);
    if (single) return single;
    const fold = rows2.find(
      (row5) => row5.kind !== "call" && row5.model === this.trace.calls.model[call]
    );
    if (!fold) return null;
    this.open.add(fold.key);
    const within = this.children(fold);
    const calls = within.find((row5) => row5.kind === "calls");
    if (!calls) return within.find((row5) => row5.calls[0] === call) ?? null;
    this.open.add(calls.key);
    return this.children(calls).find((row5) => row5.calls[0] === call) ?? null;
  }
  /** Whether the children of a fold are its calls, which made no calls. */
  #isPlainFold(row5) {
    return row5.kind === "fold" && row5.calls.every((call) => this.trace.isLeaf(call)) && !this.#lacks(row5);
  }
  /** Whether calls below this row are missing. */
  #lacks(row5) {
    const { comparison } = this.trace;
    if (!comparison) return false;
    let lacks = this.#lacking.get(row5);
    if (lacks === void 0) {
      lacks = comparison.missing(comparison.beforeAll(row5.calls)).length > 0;
      this.#lacking.set(row5, lacks);
    }
    return lacks;
  }
  /** Insert the missing calls below some callers where they once started. */
  #withMissing(parent, rows2, callers) {
    const { comparison } = this.trace;
    const calls = comparison?.missing(callers) ?? [];
    if (!comparison || calls.length === 0) return rows2;
    const { baseline } = comparison;
    const at2 = parent ? `${parent.key}/` : "";
    for (const [model, group] of byModel(baseline, calls)) {
      const folded = group.length >= FOLD_FROM;
      for (const missing of folded ? [group] : group.map((call) => [call])) {
        const key = folded ? `${at2}xm${baseline.modelKeys[model]}` : `${at2}x${baseline.id(missing[0])}`;
        const row5 = newRow("missing", parent, key, -1, []);
        row5.missing = missing;
        const start = baseline.start(missing[0]);
        const later = rows2.findIndex((each) => this.#start(each) > start);
        rows2.splice(later < 0 ? rows2.length : later, 0, row5);
      }
    }
    return numbered(rows2);
  }
  #start(row5) {
    if (row5.kind !== "missing") return this.trace.start(row5.calls[0]);
    return this.trace.comparison?.baseline.start(row5.missing[0]) ?? 0;
  }
  #childrenOf(row5) {
    const before2 = this.trace.comparison?.beforeAll(row5.calls) ?? [];
    if (row5.kind === "missing") return this.#withMissing(row5, [], row5.missing);
    if (row5.kind === "call") {
      const rows3 = this.#folded(row5, this.trace.children(row5.calls[0]), FOLD_FROM);
      return this.#withMissing(row5, rows3, before2);
    }
    if (row5.kind === "calls" || this.#isPlainFold(row5)) return this.#singles(row5);
    const below = row5.calls.flatMap((call) => Array.from(this.trace.children(call)));
    const rows2 = this.#withMissing(row5, this.#folded(row5, below, 1), before2);
    rows2.push(newRow("calls", row5, `${row5.key}/calls`, row5.model, row5.calls));
    return numbered(rows2);
  }
  #singles(fold) {
    const rows2 = fold.calls.map((call) => {
      const key = `${fold.key}/${this.trace.id(call)}`;
      const row5 = newRow("call", fold, key, fold.model, [call]);
      row5.inFold = true;
      return row5;
    });
    return numbered(rows2);
  }
  /** Return rows of calls in order of their start, folded by model from `foldFrom` calls on. */
  #folded(parent, calls, foldFrom) {
    const { trace } = this;
    const at2 = parent ? `${parent.key}/` : "";
    const rows2 = [];
    for (const [model, group] of byModel(trace, calls)) {
      if (group.length >= foldFrom)
        rows2.push(newRow("fold", parent, `${at2}m${trace.modelKeys[model]}`, model, group));
      else
        for (const call of group)
          rows2.push(newRow("call", parent, `${at2}${trace.id(call)}`, model, [call]));
    }
    rows2.sort((a, b) => trace.start(a.calls[0]) - trace.start(b.calls[0]));
    return numbered(rows2);
  }
};
function byModel(trace, calls) {
  const groups = /* @__PURE__ */ new Map();
  for (const call of calls) {
    const model = trace.calls.model[call];
    const group = groups.get(model);
    if (group) group.push(call);
    else groups.set(model, [call]);
  }
  for (const group of groups.values()) group.sort((a, b) => trace.start(a) - trace.start(b));
  return groups;
}
function newRow(kind, parent, key, model, calls) {
  const depth = parent ? parent.depth + 1 : 0;
  return {
    kind,
    key,
    model,
    calls,
    missing: [],
    inFold: false,
    parent,
    depth,
    position: 0,
    siblings: 0,
    index: -1
  };
}
function numbered(rows2) {
  rows2.forEach((row5, k) => {
    row5.position = k + 1;
    row5.siblings = rows2.length;
  });
  return rows2;
}

// src/timeline/rowcanvas.ts
function paintRows(canvas, session, view) {
  const { trace, colours, showsCritical, selection } = session;
  const { plane, rows: rows2, visible: visible2, top: top2, height, times } = view;
  const pen2 = context(canvas, plane.right, height);
  pen2.fillStyle = colours.line2;
  for (const us of times)
    if (plane.x(us) >= plane.left) pen2.fillRect(Math.round(plane.x(us)), 2, 1, height - 4);
  pen2.save();
  pen2.beginPath();
  pen2.rect(plane.left - 1, 0, plane.right, height);
  pen2.clip();
  const bars = new Bars(trace, pen2, plane, colours);
  const batch2 = selectedBatch(selection, trace);
  for (const row5 of visible2) {
    const critical = showsCritical && row5.calls.some((call) => trace.critical.has(call));
    bars.paint(row5, row5.index * ROW_HEIGHT2 - top2, {
      dim: session.dims(row5, rows2.isOpen(row5)),
      critical,
      mate: row5.kind === "call" && batch2.has(row5.calls[0])
    });
  }
  pen2.restore();
}

// src/timeline/strip.ts
var HEIGHT2 = 26;
var AXIS_HEIGHT = 20;
var CURVE_HEIGHT = 18;
var LABEL_AT = 10;
var CLICK = 3;
var Strip = class {
  element = h("canvas", { class: "strip", "aria-hidden": "true" });
  #range;
  #changed;
  #plane;
  #curve = null;
  constructor(range, changed) {
    this.#range = range;
    this.#changed = changed;
    this.element.addEventListener("pointerdown", (event) => this.#brush(event));
    this.element.addEventListener("dblclick", () => {
      range.all();
      changed();
    });
  }
  paint(trace, plane, colours) {
    this.#plane = plane;
    const pen2 = context(this.element, plane.right, HEIGHT2);
    const pixels = Math.max(1, Math.floor(plane.width));
    const { concurrency: concurrency2 } = trace;
    const most = this.#curveOf(concurrency2, pixels);
    pen2.fillStyle = colours.infer;
    pen2.globalAlpha = 0.55;
    pen2.beginPath();
    most.forEach((running, x) => {
      const height = running / concurrency2.max * CURVE_HEIGHT;
      if (running) pen2.rect(plane.left + x, HEIGHT2 - 3 - height, 1, height);
    });
    pen2.fill();
    this.#paintCounted(trace, pen2, plane);
    pen2.globalAlpha = 1;
    this.#paintErrors(trace, pen2, plane, colours);
    this.#paintWindow(pen2, plane, colours);
    const words2 = `max ${count(Math.max(1, concurrency2.max))}`;
    label(pen2, colours, [`concurrent calls, ${words2}`, words2], plane.left, HEIGHT2 / 2);
  }
  /** Paint the mean concurrency of calls that are only counted, paler. */
  #paintCounted(trace, pen2, { left, width }) {
    pen2.globalAlpha = 0.22;
    const scale = width / this.#range.whole;
    for (const { from, to, level } of trace.folded.stretches) {
      const height = Math.min(1, level / Math.max(1, trace.concurrency.max)) * CURVE_HEIGHT;
      pen2.fillRect(left + from * scale, HEIGHT2 - 3 - height, (to - from) * scale, height);
    }
  }
  /** Return the curve of the whole run, which zoom and pan do not change. */
  #curveOf(steps, pixels) {
    const { whole } = this.#range;
    const known = this.#curve;
    if (known?.steps === steps && known.whole === whole && known.most.length === pixels)
      return known.most;
    const most = perPixel(steps, 0, whole, pixels);
    this.#curve = { steps, whole, most };
    return most;
  }
  #paintErrors(trace, pen2, plane, colours) {
    pen2.fillStyle = colours.error;
    for (const call of trace.failed)
      pen2.fillRect(plane.left + trace.end(call) / this.#range.whole * plane.width - 1, 2, 2, 4);
  }
  #paintWindow(pen2, { left, width }, { shade, accent }) {
    if (this.#range.isWhole) return;
    const from = left + this.#range.from / this.#range.whole * width;
    const to = left + this.#range.to / this.#range.whole * width;
    pen2.fillStyle = shade;
    pen2.fillRect(left, 0, from - left, HEIGHT2);
    pen2.fillRect(to, 0, left + width - to, HEIGHT2);
    pen2.strokeStyle = accent;
    pen2.lineWidth = 1.5;
    pen2.strokeRect(from, 0.75, Math.max(3, to - from), HEIGHT2 - 1.5);
  }
  /** Zoom to a dragged range; a click moves to a time. */
  #brush(start) {
    const from = this.#time(start);
    const move = (event) => {
      if (Math.abs(event.clientX - start.clientX) <= CLICK) return;
      const to = this.#time(event);
      this.#range.show(Math.min(from, to), Math.max(from, to));
      this.#changed();
    };
    const released = (event) => {
      if (Math.abs(event.clientX - start.clientX) > CLICK || this.#range.isWhole) return;
      this.#range.pan(from - (this.#range.from + this.#range.to) / 2);
      this.#changed();
    };
    drag(this.element, start, move, released);
  }
  #time(event) {
    const { left, width } = this.#plane;
    const x = event.clientX - this.element.getBoundingClientRect().left - left;
    return x / width * this.#range.whole;
  }
};
var Axis = class {
  element = h("canvas", { class: "axis", "aria-hidden": "true" });
  /** Label round times; returns them for the grid below. */
  paint(plane, colours, rows2) {
    const pen2 = context(this.element, plane.right, AXIS_HEIGHT);
    label(pen2, colours, [counted(rows2, "row")], plane.left, AXIS_HEIGHT / 2);
    const { times, step } = ticks(plane.range, plane.width);
    const written = timeText(plane.range, step);
    for (const us of times) {
      const text = written(us);
      const [x, half] = [plane.x(us), pen2.measureText(text).width / 2];
      if (x + half > plane.right) continue;
      pen2.fillText(text, Math.max(plane.left, x - half), AXIS_HEIGHT / 2);
    }
    return times;
  }
};
function label(pen2, { font, fg2 }, texts2, end, middle2) {
  pen2.font = `10.5px ${font}`;
  pen2.textBaseline = "middle";
  pen2.fillStyle = fg2;
  const fits = texts2.find((text) => LABEL_AT + pen2.measureText(text).width < end);
  pen2.fillText(fits ?? texts2[texts2.length - 1], LABEL_AT, middle2);
}

// src/timeline/timeline.ts
var INITIAL_ROWS = 24;
var PAGE2 = 10;
var ZOOM_STEP = 0.7;
var PAN_STEP = 0.2;
var Timeline = class {
  element;
  range = new TimeRange();
  #session;
  #rows;
  #cursor = "";
  /** Whether the user changed folds, which are then kept while a run grows. */
  #touched = false;
  #strip = new Strip(this.range, () => this.repaint());
  #axis = new Axis();
  #canvas = h("canvas", { class: "bars", "aria-hidden": "true" });
  #elements;
  #tree;
  #frame = 0;
  #top = 0;
  constructor(session, id) {
    this.#session = session;
    this.#rows = new Rows(session.trace);
    this.#elements = new RowElements(session, id);
    const label2 = { "aria-label": "Timeline of calls", "aria-multiselectable": "true" };
    this.#tree = h(
      "div",
      { class: "tree", role: "tree", tabindex: 0, ...label2 },
      this.#elements.element,
      this.#canvas
    );
    this.element = h(
      "div",
      { class: "timeline" },
      this.#strip.element,
      this.#axis.element,
      this.#tree
    );
    this.#listen();
  }
  /** Show the rows of a trace; unfolded rows stay unfolded. */
  draw(trace) {
    this.#rows = new Rows(trace, this.#rows.open);
    if (!this.#touched) this.#rows.openDefault(INITIAL_ROWS);
    this.range.grow(Math.max(trace.wall, trace.comparison?.baseline.wall ?? 0));
    this.#resized();
    if (this.range.following && trace.header.run.state === "running") this.#scrollToLatest();
  }
  /** Scroll position of the rows; an element out of the page loses it. */
  get top() {
    return this.#top;
  }
  set top(top2) {
    this.#tree.scrollTop = top2;
  }
  /** Show the selection; with `reveal` unfold its path and scroll to its row. */
  mark(reveal) {
    const { selection } = this.#session;
    if (!selection) return this.repaint();
    let row5;
    if (selection.kind === "call" && reveal) {
      row5 = this.#rows.reveal(selection.call);
      this.#touched = true;
      this.#resized();
    } else row5 = this.#rows.list.find((each) => isSelected(each, selection));
    if (row5 && (reveal || !this.#cursor)) this.#cursor = row5.key;
    if (row5 && reveal) this.#scrollTo(row5, true);
    this.repaint();
  }
  /** Keys of unfolded rows, for another view of the run. */
  get open() {
    return [...this.#rows.open];
  }
  callsOf(key) {
    return this.#rows.find(key)?.calls;
  }
  restore(open) {
    if (open.length === 0) return;
    this.#rows = new Rows(this.#rows.trace, open);
    this.#touched = true;
    this.#resized();
  }
  focus() {
    this.#tree.focus();
  }
  /** Height that shows all rows. */
  get wantedHeight() {
    return this.#rows.list.length * ROW_HEIGHT2 + 56;
  }
  repaint() {
    this.#frame ||= requestAnimationFrame(() => this.paintNow());
  }
  /** Paint at once: a page that is printed has no next frame. */
  paintNow() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#paint();
  }
  dispose() {
    cancelAnimationFrame(this.#frame);
    this.element.remove();
  }
  #resized() {
    this.#elements.element.style.height = `${this.#rows.list.length * ROW_HEIGHT2}px`;
    this.repaint();
  }
  #plane() {
    const { comparison } = this.#session.trace;
    const plane = planeOf(this.range, this.#tree.clientWidth, comparison !== null);
    this.element.style.setProperty("--names", `${plane.left}px`);
    return plane;
  }
  #paint() {
    const { trace, colours } = this.#session;
    const [rows2, height] = [this.#rows, this.#tree.clientHeight];
    if (this.#tree.clientWidth === 0) return;
    const plane = this.#plane();
    const top2 = this.#tree.scrollTop;
    const first = Math.max(0, Math.floor(top2 / ROW_HEIGHT2));
    const visible2 = rows2.list.slice(first, Math.ceil((top2 + height) / ROW_HEIGHT2));
    const cursor = this.#elements.show(visible2, rows2, this.#cursor);
    if (cursor) this.#tree.setAttribute("aria-activedescendant", cursor.id);
    else this.#tree.removeAttribute("aria-activedescendant");
    this.#tree.setAttribute("aria-description", `shows ${this.range.words}`);
    const times = this.#axis.paint(plane, colours, rows2.list.length);
    paintRows(this.#canvas, this.#session, { plane, rows: rows2, visible: visible2, top: top2, height, times });
    this.#strip.paint(trace, plane, colours);
  }
  #listen() {
    const tree = this.#tree;
    tree.addEventListener("scroll", () => {
      if (tree.isConnected) this.#top = tree.scrollTop;
      this.#leave();
      this.repaint();
    });
    tree.addEventListener("keydown", (event) => this.#key(event));
    tree.addEventListener("click", (event) => this.#click(event));
    tree.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    tree.addEventListener("pointermove", (event) => this.#hover(event));
    tree.addEventListener("pointerleave", () => this.#leave());
  }
  #click(event) {
    const row5 = this.#elements.rowAt(event);
    if (!row5) return;
    this.range.following = false;
    this.#cursor = row5.key;
    const onTriangle = event.target.closest(".triangle") !== null;
    if (onTriangle && this.#rows.hasChildren(row5)) this.#toggle(row5);
    else this.#select(row5);
  }
  #select(row5) {
    this.#cursor = row5.key;
    const { kind, key, model, calls, missing } = row5;
    if (kind === "call") this.#session.select({ kind, call: calls[0] });
    else if (kind === "missing") this.#session.select({ kind, key, missing });
    else this.#session.select({ kind: "fold", key, model, calls });
  }
  #toggle(row5, show) {
    this.#touched = true;
    this.range.following = false;
    this.#rows.toggle(row5, show);
    this.#resized();
  }
  /** Scroll a row into view, after a jump to the middle. */
  #scrollTo(row5, jump = false) {
    const top2 = row5.index * ROW_HEIGHT2;
    const { clientHeight, scrollTop } = this.#tree;
    const bottom = top2 + ROW_HEIGHT2 - clientHeight;
    if (top2 >= scrollTop && bottom <= scrollTop) return;
    if (jump) this.#tree.scrollTop = top2 - clientHeight / 2;
    else this.#tree.scrollTop = top2 < scrollTop ? top2 : bottom;
    this.repaint();
  }
  /** Scroll to the last call, or to its caller if that is folded. */
  #scrollToLatest() {
    const rows2 = this.#rows;
    if (rows2.trace.n === 0) return;
    const latest = rows2.trace.n - 1;
    const path = /* @__PURE__ */ new Set([...rows2.trace.ancestors(latest), latest]);
    const row5 = rows2.list.findLast(({ calls }) => path.has(calls[calls.length - 1]));
    if (row5) this.#scrollTo(row5);
  }
  #wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      const x = event.clientX - this.#tree.getBoundingClientRect().left;
      this.#zoom(() => this.range.zoom(Math.exp(event.deltaY * 2e-3), this.#plane().time(x)));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const pixels = event.deltaX || event.deltaY;
      this.#zoom(() => this.range.pan(pixels / this.#plane().width * this.range.width));
    } else {
      this.range.following = false;
      return;
    }
    event.preventDefault();
  }
  #zoom(change) {
    change();
    this.repaint();
  }
  #hover(event) {
    const row5 = this.#elements.rowAt(event);
    const x = event.clientX - this.#tree.getBoundingClientRect().left;
    if (!row5 || x < this.#plane().left) return this.#leave();
    const { call, tip } = tipOf(this.#session.trace, row5, this.#plane().time(x));
    this.#session.hover(call < 0 ? null : { call });
    this.#session.tip(tip, event);
  }
  #leave() {
    this.#session.hover(null);
    this.#session.tip(null);
  }
  #key(event) {
    const command = commandOf(event);
    if (!command || EVERYWHERE.has(command)) return;
    event.preventDefault();
    this.#leave();
    this.#run(command);
  }
  #run(command) {
    const { list } = this.#rows;
    const at2 = list.findIndex((row6) => row6.key === this.#cursor);
    const row5 = list[at2];
    const targets = {
      down: at2 + 1,
      up: at2 - 1,
      first: 0,
      last: list.length - 1,
      pageDown: at2 + PAGE2,
      pageUp: at2 - PAGE2
    };
    const target = targets[command];
    if (target !== void 0) return this.#goTo(target);
    switch (command) {
      case "unfold":
        return row5 && this.#unfold(row5);
      case "fold":
        return row5 && this.#fold(row5);
      case "zoomIn":
        return this.#zoom(() => this.range.zoom(ZOOM_STEP));
      case "zoomOut":
        return this.#zoom(() => this.range.zoom(1 / ZOOM_STEP));
      case "zoomAll":
        return this.#zoom(() => this.range.all());
      case "zoomSelected":
        return row5 && this.#zoom(() => this.range.show(...extentOf(this.#session.trace, row5)));
      case "panLeft":
        return this.#zoom(() => this.range.pan(-PAN_STEP * this.range.width));
      case "panRight":
        return this.#zoom(() => this.range.pan(PAN_STEP * this.range.width));
      default:
        return this.#session.command(command);
    }
  }
  #goTo(index) {
    const { list } = this.#rows;
    if (list.length === 0) return;
    this.range.following = false;
    const row5 = list[Math.max(0, Math.min(list.length - 1, index))];
    this.#scrollTo(row5);
    this.#select(row5);
  }
  #unfold(row5) {
    if (!this.#rows.hasChildren(row5)) return;
    if (this.#rows.isOpen(row5)) this.#goTo(row5.index + 1);
    else this.#toggle(row5, true);
  }
  #fold(row5) {
    if (this.#rows.isOpen(row5)) this.#toggle(row5, false);
    else if (row5.parent) this.#goTo(row5.parent.index);
  }
};

// src/page/repaint.ts
var MANY_CALLS = 2e4;
var SLOW_MS = 500;
function everyFrame(draw3, slow) {
  let frame = 0;
  let timer;
  let last = -Infinity;
  const paint = () => {
    frame = 0;
    last = performance.now();
    draw3();
  };
  const request = () => {
    const wait = slow() ? SLOW_MS - (performance.now() - last) : 0;
    clearTimeout(timer);
    if (wait > 0) timer = setTimeout(request, wait);
    else frame ||= requestAnimationFrame(paint);
  };
  const cancel = () => {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
  };
  return { request, cancel };
}

// src/frame/toolbar.ts
var Toolbar = class {
  element;
  filter;
  #critical;
  #state = h("span", { class: "state", role: "img" });
  #title = h("span", { class: "title" });
  #facts = h("span", { class: "figures" });
  constructor(actions) {
    const onclick = () => actions.toggleCritical();
    const critical = {
      type: "button",
      "aria-pressed": "false",
      title: "Critical path (c)",
      onclick
    };
    this.#critical = h("button", critical, "critical path");
    const oninput = () => actions.filter(this.filter.value);
    const onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      if (event.key === "Escape") this.clearFilter();
      actions.leave();
      event.preventDefault();
    };
    const field = {
      class: "filter",
      type: "search",
      placeholder: "Filter calls  /",
      "aria-label": "Filter calls"
    };
    this.filter = h("input", { ...field, oninput, onkeydown });
    const help = {
      type: "button",
      title: "Keyboard help (?)",
      "aria-label": "? Keyboard help",
      onclick: () => actions.toggleHelp()
    };
    this.element = h(
      "div",
      { class: "toolbar", role: "toolbar", "aria-label": "Run" },
      this.#state,
      this.#title,
      this.#facts,
      h("span", { class: "space" }),
      h("span", { class: "legend", "aria-hidden": "true" }, phaseLegend()),
      this.#critical,
      this.filter,
      h("button", help, "?")
    );
  }
  draw(trace) {
    const { run } = trace.header;
    const { title, request_id, state, calls = trace.n, errors: errors2 = trace.errors } = run;
    const shown = state === "running" ? "running" : state === "cancelled" ? "cancelled" : errors2 ? "error" : "done";
    const words2 = shown === "running" ? runningWords(run) : shown;
    this.#state.className = `state ${words2 === shown ? shown : "cancelled"}`;
    this.#state.setAttribute("aria-label", words2);
    this.#state.setAttribute("title", words2);
    setText(this.#title, request_id ? `${title} · request ${request_id}` : title);
    this.#title.setAttribute("title", this.#title.textContent ?? "");
    const models = new Set(trace.calls.model).size;
    const facts = [
      ...run.simulated ? [h("span", { class: "simulated" }, "simulated, not measured")] : [],
      figure(time(trace.wall), "wall"),
      figure(count(calls), plural(calls, "call")),
      figure(count(models), plural(models, "model"))
    ];
    if (errors2) facts.push(figure(count(errors2), plural(errors2, "error"), "failed"));
    if (run.folded?.length) {
      const title2 = "the first, the last, failed and slowest calls; the others are only counted";
      facts.push(h("span", { class: "folded", title: title2 }, `${count(trace.n)} shown one by one`));
    }
    facts.push(...compared(trace));
    if (shown === "running" || shown === "cancelled")
      facts.push(h("span", { class: shown }, words2));
    if (words2 === "running" && trace.n > MANY_CALLS)
      facts.push(h("span", { class: "slow" }, "drawn twice a second"));
    if (run.file) facts.push(h("span", { class: "file" }, `from ${run.file}`));
    this.#facts.replaceChildren(...facts);
    this.element.classList.toggle("compared", trace.comparison !== null);
  }
  press(critical) {
    this.#critical.setAttribute("aria-pressed", String(critical));
  }
  clearFilter() {
    this.filter.value = "";
    this.filter.dispatchEvent(new Event("input"));
  }
};
function runningWords({ saved, lost, silent }) {
  if (lost) return "the kernel is gone";
  if (silent) return `no news since ${silent}`;
  return saved ? "still running when saved" : "running";
}
function figure(number, noun, kind = "") {
  return h("span", { class: kind }, h("b", {}, number), ` ${noun}`);
}
function compared({ comparison, header }) {
  if (!comparison || !header.counts) return [];
  const { baseline } = comparison;
  const [changed, added, missing, notCompared] = header.counts;
  const counts = [
    [changed, "changed"],
    [added, "new"],
    [missing, "missing"]
  ];
  const differing = counts.filter(([number]) => number > 0);
  return [
    h("span", {}, `vs ${time(baseline.wall)} baseline`),
    ...differing.map(([number, what]) => figure(count(number), what)),
    ...differing.length ? [] : [h("span", {}, notCompared ? "no change known" : "no call changed")],
    ...notCompared ? [figure(count(notCompared), "not compared")] : []
  ];
}
function plural(number, noun) {
  return number === 1 ? noun : `${noun}s`;
}

// src/frame/tooltip.ts
var PHASES2 = [
  ["queue", "queue"],
  ["input", "input"],
  ["infer", "infer"],
  ["child", "in child calls"],
  ["between", "between steps"],
  ["output", "output"]
];
var [BESIDE2, MARGIN3] = [14, 8];
var ERROR_LENGTH = 160;
var Tooltip = class {
  element = h("div", { class: "tip", role: "tooltip" });
  constructor() {
    this.hide();
  }
  hide() {
    this.element.hidden = true;
  }
  /** Show a tip beside the pointer, inside the frame. */
  show(tip, { clientX, clientY }, frame) {
    this.element.replaceChildren(...content(tip));
    this.element.hidden = false;
    const box = frame.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = this.element;
    const x = Math.min(clientX - box.left + BESIDE2, box.width - offsetWidth - MARGIN3);
    const [below, above] = [clientY - box.top + BESIDE2, clientY - box.top - offsetHeight - MARGIN3];
    const y = below + offsetHeight < box.height ? below : above;
    this.element.style.translate = `${Math.max(MARGIN3, x)}px ${Math.max(MARGIN3, y)}px`;
  }
};
function content({ title, phases, facts, error }) {
  const whole = Object.values(phases).reduce((sum, us) => sum + us, 0);
  const rows2 = PHASES2.filter(([part]) => phases[part] > 0).flatMap(([part, text]) => [
    h("span", {}, h("i", { class: `swatch ${part} back-${part}` }), text),
    h("span", {}, time(phases[part])),
    h("span", { class: "share" }, percent(phases[part], whole))
  ]);
  const parts = [h("b", {}, title)];
  if (facts) parts.push(h("div", { class: "share" }, facts));
  parts.push(h("div", { class: "shares" }, rows2));
  if (error) parts.push(h("div", { class: "failed" }, error.slice(0, ERROR_LENGTH)));
  return parts;
}

// src/frame/frame.ts
var BORDERS_HEIGHT = 6;
var MAX_ROOM = 460;
var frames = 0;
var Frame = class {
  kernel;
  trace;
  showsCritical = false;
  #options;
  #root;
  #skin;
  #panes;
  #tip = new Tooltip();
  #announcer = new Announcer();
  #help;
  #toolbar;
  #graph;
  #timeline;
  #inspector;
  #notices = h("div", { class: "notices", role: "note", "aria-label": "No longer kept" });
  #emphasis = new Emphasis();
  #width = 0;
  #room = 0;
  #selected = new Selected();
  #stops = [];
  #isPressed;
  /** The store that is drawn after the pointer is released; null if none waits. */
  #late = null;
  constructor(options) {
    this.#options = options;
    this.kernel = options.kernel;
    this.trace = new Trace(options.store);
    const id = `blsnb-${++frames}`;
    this.#toolbar = new Toolbar({
      filter: (text) => this.#filter(text),
      toggleCritical: () => this.#toggleCritical(),
      toggleHelp: () => this.#help.toggle(),
      leave: () => this.#timeline.focus()
    });
    this.#graph = new CallGraph(this, id);
    this.#timeline = new Timeline(this, id);
    this.#inspector = new Inspector(this);
    this.#panes = new Panes(this.#graph, this.#timeline, this.#inspector, () => {
      this.#graph.fit();
      this.#timeline.repaint();
    });
    const above = [this.#toolbar.element, this.#notices, this.#panes.element];
    this.#root = h("div", { class: "view" }, above, this.#tip.element, this.#announcer.element);
    this.#help = new Help(this.#root, () => this.#timeline.focus());
    this.#skin = new Skin(this.#root);
    this.#isPressed = pressedIn(this.#root, () => this.#late && this.show(this.#late));
    holdOnce(this.#root);
    this.#root.addEventListener("keydown", (event) => this.#key(event));
    const observer = new ResizeObserver(() => this.#resized());
    observer.observe(this.#root);
    const watched = this.#skin.watch(
      () => this.#themeChanged(),
      () => {
        this.#resized();
        this.#timeline.paintNow();
      }
    );
    this.#stops.push(() => observer.disconnect(), watched);
  }
  /** The element of the view; it must be in the page before `draw`. */
  get element() {
    return this.#skin.element;
  }
  get selection() {
    return this.#selected.value;
  }
  get colours() {
    return this.#skin.colours;
  }
  get buffer() {
    return this.#options.store.buffer;
  }
  /** Show the calls in the store; the element must be in the page. */
  draw() {
    this.show(this.#late ?? this.#options.store);
  }
  #draw() {
    this.#selected.refind(this.trace);
    this.#skin.apply();
    this.#toolbar.draw(this.trace);
    this.#notices.replaceChildren(...notices(this.trace.header.run.dropped));
    this.#timeline.draw(this.trace);
    this.#drawGraph();
    this.#refreshSelection();
    this.#relate();
    this.#inspector.draw();
  }
  /** Draw first, with the state of an earlier view, else with the first call selected. */
  start() {
    this.#draw();
    const { state } = this.#options;
    if (state) this.#restore(state);
    else if (this.trace.roots.length)
      this.#take({ kind: "call", call: this.trace.roots[0] }, false);
    if (state || this.trace.header.run.state === "running") return;
    this.#room = Math.min(MAX_ROOM, this.#inspector.wantedHeight);
    this.#drawGraph();
  }
  /** Show a store of the same run; selection and zoom stay. */
  show(store) {
    this.#late = this.#isPressed() ? store : null;
    if (this.#late) return;
    const isOther = store !== this.#options.store;
    this.#options.store = store;
    this.trace = new Trace(store);
    this.#draw();
    if (isOther) this.#inspector.reach();
  }
  connect(kernel, onSelect) {
    this.kernel = kernel;
    this.#options.onSelect = onSelect;
    this.#inspector.forget();
    this.#inspector.draw();
  }
  noteDropped(dropped) {
    const { run } = this.trace.header;
    if (JSON.stringify(run.dropped) === JSON.stringify(dropped)) return;
    run.dropped = dropped;
    this.#notices.replaceChildren(...notices(dropped));
    this.#drawGraph();
    this.#timeline.repaint();
    this.#inspector.draw();
  }
  get state() {
    const { range, open, top: top2 } = this.#timeline;
    return {
      selection: this.#selected.held,
      open,
      range: range.isWhole ? null : [range.from, range.to],
      filter: this.#toolbar.filter.value,
      critical: this.showsCritical,
      sizes: this.#panes.sizes,
      top: top2,
      room: this.#room,
      tensors: this.#inspector.tensors
    };
  }
  select(selection, { reveal = false } = {}) {
    this.#timeline.range.following = false;
    this.tip(null);
    this.#take(selection, reveal);
    this.#announcer.selected(selection, this.trace);
    this.#options.onSelect?.(this.#selected.id);
  }
  /** Select a call by id, as Python does; an unknown id changes nothing. */
  selectCall(id) {
    if (this.#selected.id === id) return;
    const call = this.trace.at(id);
    if (call >= 0) this.select({ kind: "call", call }, { reveal: true });
    else if (this.trace.wasDropped(id)) this.select({ kind: "dropped", id });
  }
  /** Set the filter, as Python does. */
  filterBy(text) {
    if (this.#toolbar.filter.value === text) return;
    this.#toolbar.filter.value = text;
    this.#relate();
  }
  hover(over) {
    if (this.#emphasis.hover(over)) this.#relate();
  }
  tip(tip, event) {
    if (tip && event) this.#tip.show(tip, event, this.#root);
    else this.#tip.hide();
  }
  dims(row5, open) {
    return this.#emphasis.dims(row5, open);
  }
  command(name) {
    if (name === "nextError") this.#nextError();
    else if (name === "criticalPath") this.#toggleCritical();
    else if (name === "inspect") this.#inspector.focus();
    else if (name === "filter") this.#toolbar.filter.focus();
    else if (name === "help") this.#help.toggle();
    else if (name === "clear") this.#clear();
  }
  dispose() {
    this.#late = null;
    for (const stop of this.#stops) stop();
    this.#graph.dispose();
    this.#timeline.dispose();
    this.#inspector.dispose();
    this.element.remove();
  }
  #themeChanged() {
    if (!this.element.isConnected) return;
    this.#skin.apply();
    this.#timeline.repaint();
  }
  #resized() {
    const width = this.#root.clientWidth;
    if (width === 0) {
      this.#width = 0;
      return;
    }
    this.#options.onHeight?.(this.element.offsetHeight);
    if (width !== this.#width) {
      this.#width = width;
      this.#themeChanged();
      this.#drawGraph();
      this.#relate();
    }
    this.#timeline.repaint();
  }
  #drawGraph() {
    const above = this.#toolbar.element.offsetHeight + this.#notices.offsetHeight + BORDERS_HEIGHT;
    this.#panes.arrange({
      graph: this.#graph.draw(this.trace),
      timeline: this.#timeline.wantedHeight,
      least: Math.max(this.#room, (this.trace.header.ui.height ?? 0) - above)
    });
  }
  /** Add new calls to a selected fold. */
  #refreshSelection() {
    if (this.selection?.kind !== "fold") return;
    const calls = this.#timeline.callsOf(this.selection.key);
    if (calls) this.#selected.set(this.trace, { ...this.selection, calls });
  }
  #restore({ selection, open, range, filter, critical, sizes, top: top2, room, tensors: tensors2 }) {
    this.#timeline.restore(open);
    this.#toolbar.filter.value = filter;
    if (critical) this.#toggleCritical();
    this.#panes.sizes = sizes;
    this.#room = room;
    this.#inspector.tensors = tensors2;
    this.#drawGraph();
    if (range) this.#timeline.range.show(...range);
    this.#take(found(this.trace, selection), false);
    this.#timeline.top = top2;
  }
  #take(selection, reveal) {
    this.#selected.set(this.trace, selection);
    this.#relate();
    this.#timeline.mark(reveal);
    this.#inspector.draw();
  }
  /** Compute the emphasis of graph and rows. */
  #relate() {
    const { value: value2 } = this.#toolbar.filter;
    this.#graph.mark(this.#emphasis.relate(this.trace, value2, this.selection));
    this.#timeline.repaint();
  }
  #filter(text) {
    this.#relate();
    this.#options.onFilter?.(text);
  }
  /** Handle keys of every pane, unless a field or a pane has handled them. */
  #key(event) {
    const command = commandEverywhere(event);
    if (!command) return;
    event.preventDefault();
    this.hover(null);
    this.tip(null);
    if (command === "clear" && event.target.closest(".inspector")) this.#timeline.focus();
    else this.command(command);
  }
  #toggleCritical() {
    this.showsCritical = !this.showsCritical;
    this.#toolbar.press(this.showsCritical);
    this.#timeline.repaint();
  }
  #nextError() {
    const { selection } = this;
    const call = this.trace.nextFailed(selection?.kind === "call" ? selection.call : -1);
    if (call >= 0) this.select({ kind: "call", call }, { reveal: true });
    else this.#announcer.say("no errors");
  }
  #clear() {
    this.#toolbar.clearFilter();
    this.select(null);
  }
};

// src/trace/header.ts
var FORMAT = 2;
var TABLES = [
  "sources",
  "errors",
  "codes",
  "notes",
  "logs",
  "batching",
  "copies",
  "device_use",
  "requests",
  "response_parameters",
  "tensors"
];
function complete(header) {
  if (header.format !== FORMAT)
    throw new Error(`trace format ${header.format}, this view reads ${FORMAT}`);
  const tables = Object.fromEntries(TABLES.map((name) => [name, {}]));
  return {
    format: FORMAT,
    run: { id: "", title: "", request_id: "", state: "done" },
    models: [],
    instances: [""],
    columns: {},
    ui: {},
    ...tables,
    ...header
  };
}

// src/trace/store.ts
var Store = class _Store {
  header = complete({ format: FORMAT });
  /** The buffer of embedded previews. */
  buffer = new ArrayBuffer(0);
  n = 0;
  /** Number of the last message. */
  seq = 0;
  /** The baseline, and how its calls are paired with those of this run. */
  baseline = null;
  compared = null;
  /** The samples of the run; null without. */
  profile = null;
  #calls = emptyCalls(0);
  #responses = /* @__PURE__ */ new Map();
  /** Return a store with the run of a document. */
  static of(header, buffer) {
    const store = new _Store();
    store.replace(header, buffer);
    return store;
  }
  /** Replace everything. */
  replace(header, buffer, seq = 0) {
    this.header = complete(header);
    this.buffer = buffer;
    this.n = 0;
    this.#calls = emptyCalls(0);
    this.#responses = /* @__PURE__ */ new Map();
    const part = this.#add(this.header.columns, buffer);
    this.profile = profileOf(header, buffer);
    this.#addBaseline(this.header, buffer, part);
    this.seq = seq;
  }
  /** Translate ids of both runs to rows. */
  #addBaseline(header, buffer, part) {
    const { baseline, changed, changes = {}, columns, unknown = {} } = header;
    this.baseline = baseline ? _Store.of(baseline, buffer) : null;
    this.compared = null;
    if (!this.baseline || !columns.baseline || !part) return;
    const before2 = this.baseline.ids;
    const of = new Int32Array(this.n);
    column(buffer, columns.baseline).forEach((id, k) => {
      of[part.rows[k]] = id < 0 ? id : rowOf(before2, id);
    });
    const missing = columns.missing ? column(buffer, columns.missing) : [];
    const row5 = (id) => rowOf(this.ids, id);
    this.compared = {
      of,
      missing: Array.from(missing, (id) => rowOf(before2, id)).filter((each) => each >= 0),
      changed: changed?.map(row5).filter((each) => each >= 0),
      changes: Object.fromEntries(Object.entries(changes).map(([id, each]) => [row5(Number(id)), each])),
      unknown: Object.fromEntries(
        Object.entries(unknown).map(([why, stretches]) => [
          why,
          stretches.map(([first, many]) => [row5(first), many])
        ])
      )
    };
  }
  /** Add the rows of a message; false if earlier messages are missing. */
  upsert(header, buffer, seq) {
    if (seq <= this.seq) return true;
    if (seq > this.seq + 1) return false;
    const before2 = this.header;
    const after = complete({ ...before2, ...header, format: header.format ?? FORMAT });
    for (const key of TABLES) Object.assign(after, { [key]: { ...before2[key], ...header[key] } });
    this.header = after;
    this.#add(header.columns ?? {}, buffer);
    this.profile = profileOf(header, buffer) ?? this.profile;
    this.seq = seq;
    return true;
  }
  /** The ids of the calls received, in ascending order. */
  get ids() {
    return this.#calls.id.subarray(0, this.n);
  }
  /** The columns, cut to the calls received; callers are rows. */
  get calls() {
    const cut = LAYOUT.map(([name]) => [name, this.#calls[name].subarray(0, this.n)]);
    const calls = Object.fromEntries(cut);
    const { id } = calls;
    if (this.n && id[this.n - 1] !== this.n - 1)
      calls.parent = calls.parent.map((caller) => caller < 0 ? -1 : rowOf(id, caller));
    return calls;
  }
  /** Return the times of the responses of a call, by id, in microseconds after its start. */
  responses(id) {
    return this.#responses.get(id)?.us ?? [];
  }
  /** Return the times between responses that follow each other; others may lie between the rest. */
  gaps(id) {
    const { us, numbers } = this.#responses.get(id) ?? { us: [], numbers: [] };
    const gaps = [];
    for (let k = 1; k < us.length; k++)
      if (numbers[k] === numbers[k - 1] + 1) gaps.push(us[k] - us[k - 1]);
    return gaps;
  }
  #add(columns, buffer) {
    if (!columns.parent) return null;
    const size = columns.parent[2];
    const ids = columns.id ? column(buffer, columns.id) : Int32Array.from({ length: size }, (_, k) => k);
    const first = this.n;
    const rows2 = this.#makeRoom(ids);
    const isAppended = this.n === first + size && rows2.every((row5, k) => row5 === first + k);
    for (const [name] of LAYOUT) {
      const from = name === "id" ? ids : columns[name] && column(buffer, columns[name]);
      const to = this.#calls[name];
      if (from && isAppended) to.set(from, first);
      else if (from) for (let k = 0; k < size; k++) to[rows2[k]] = from[k];
    }
    this.#addResponses(columns, buffer);
    return { ids, rows: rows2 };
  }
  /** Return rows for calls; others keep their rows unless a call is inserted before them. */
  #makeRoom(ids) {
    const last = this.n ? this.#calls.id[this.n - 1] : -1;
    const known = this.ids;
    const fresh = ids.filter((id) => id > last || rowOf(known, id) < 0).sort();
    if (fresh.length && fresh[0] < last) this.#mergeIn(fresh);
    else {
      this.#grow(this.n + fresh.length);
      this.#calls.id.set(fresh, this.n);
      this.n += fresh.length;
    }
    const now = this.ids;
    return ids.map((id) => rowOf(now, id));
  }
  #mergeIn(fresh) {
    const before2 = this.#calls;
    const old = this.ids;
    const all2 = new Int32Array(old.length + fresh.length);
    all2.set(old);
    all2.set(fresh, old.length);
    all2.sort();
    const merged = emptyCalls(Math.max(256, 2 * all2.length));
    old.forEach((id, from) => {
      const to = rowOf(all2, id);
      for (const [name] of LAYOUT) merged[name][to] = before2[name][from];
    });
    merged.id.set(all2);
    this.#calls = merged;
    this.n = all2.length;
  }
  #addResponses(columns, buffer) {
    if (!columns.response_call || !columns.response_us) return;
    const ids = column(buffer, columns.response_call);
    const times = column(buffer, columns.response_us);
    const numbers = columns.response_number && column(buffer, columns.response_number);
    for (let k = 0, first = 0; k < ids.length; k++) {
      if (ids[k] !== ids[first]) first = k;
      this.#addResponse(ids[k], times[k], numbers ? numbers[k] : k - first);
    }
  }
  #addResponse(id, us, number) {
    const known = this.#responses.get(id);
    if (!known) this.#responses.set(id, { us: [us], numbers: [number] });
    else if (number > known.numbers[known.numbers.length - 1]) {
      known.us.push(us);
      known.numbers.push(number);
    }
  }
  #grow(length) {
    const capacity = this.#calls.parent.length;
    if (length <= capacity) return;
    const larger = emptyCalls(Math.max(256, 2 * capacity, length));
    for (const [name] of LAYOUT) larger[name].set(this.#calls[name]);
    this.#calls = larger;
  }
};
function profileOf({ profile }, buffer) {
  return profile ? new Profile(profile, buffer) : null;
}

// src/live/live.ts
var SILENT_MS = 5e3;
var Live = class {
  store = new Store();
  model;
  #listeners = /* @__PURE__ */ new Set();
  #resyncing = false;
  #silence;
  #stop;
  #receive = (message, buffers = []) => this.#received(message, buffers);
  constructor(model) {
    this.model = model;
    model.on("msg:custom", this.#receive);
    this.#stop = watchKernel(model, () => this.#lost());
    this.#hello();
  }
  get isRunning() {
    const { state, lost } = this.store.header.run;
    return state === "running" && !lost;
  }
  /** Call back after each change; returns how to stop. */
  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  dispose() {
    this.model.off("msg:custom", this.#receive);
    this.#stop();
    clearTimeout(this.#silence);
    this.#listeners.clear();
  }
  #received(message, buffers) {
    switch (message?.type) {
      case "snapshot":
        if (message.seq < this.store.seq) return;
        this.store.replace(message.header, ownBuffer(buffers[0]), message.seq);
        this.#resyncing = false;
        break;
      case "rows":
        if (!this.store.upsert(message.header, ownBuffer(buffers[0]), message.seq))
          return this.#resync();
        break;
      case "finished":
        if (this.store.header.run.state === "running") this.store.header.run.state = "done";
        break;
      default:
        return;
    }
    this.#expectMessage();
    this.#notify();
  }
  /** Wait for the next message; after a pause show when the last one arrived. */
  #expectMessage() {
    const last = (/* @__PURE__ */ new Date()).toLocaleTimeString();
    clearTimeout(this.#silence);
    if (!this.isRunning) return;
    this.#silence = setTimeout(() => {
      this.store.header.run.silent = last;
      this.#notify();
    }, SILENT_MS);
  }
  /** The kernel was restarted or died, unless it replies with a snapshot. */
  #lost() {
    this.store.header.run.lost = true;
    clearTimeout(this.#silence);
    this.#notify();
    try {
      this.#hello();
    } catch {
    }
  }
  #hello() {
    this.model.send({ v: VERSION, type: "hello", have: this.store.seq });
  }
  #notify() {
    for (const listener of this.#listeners) listener();
  }
  /** Request all rows, once, since messages are missing. */
  #resync() {
    if (this.#resyncing) return;
    this.#resyncing = true;
    this.model.send({ v: VERSION, type: "resync" });
  }
};

// src/live/moving.ts
var Moving = class {
  #element;
  #root;
  #focused = null;
  #dragged = null;
  #scrolled = /* @__PURE__ */ new Map();
  constructor(element, root) {
    this.#element = element;
    this.#root = root;
    const listen = (name, listener) => root.addEventListener(
      name,
      (event) => element.isConnected && listener(event.target),
      { capture: true }
    );
    listen("focusin", (target) => this.#focused = target);
    listen("focusout", () => setTimeout(() => this.#look()));
    listen(
      "scroll",
      (target) => this.#scrolled.set(target, [target.scrollTop, target.scrollLeft])
    );
    root.addEventListener("gotpointercapture", (event) => {
      const { target, pointerId } = event;
      this.#dragged = { element: target, pointer: pointerId };
    });
    for (const end of ["pointerup", "pointercancel"])
      root.addEventListener(end, () => this.#dragged = null, { capture: true });
  }
  #look() {
    if (this.#element.isConnected) this.#focused = this.#root.activeElement;
  }
  #dragOn() {
    if (!this.#dragged?.element.isConnected) return;
    try {
      this.#dragged.element.setPointerCapture(this.#dragged.pointer);
    } catch {
      this.#dragged = null;
    }
  }
  /** Replace the content of another element by this one. */
  into(host) {
    const [focused, scrolled] = [this.#focused, [...this.#scrolled]];
    this.#scrolled.clear();
    host.replaceChildren(this.#element);
    for (const [element, [top2, left]] of scrolled)
      if (element.isConnected) {
        element.scrollTo(left, top2);
        this.#scrolled.set(element, [top2, left]);
      }
    focused?.focus({ preventScroll: true });
    this.#dragOn();
  }
};

// src/live/liveview.ts
var TRAITS = ["change:selected", "change:filter"];
var LiveView = class {
  #live;
  #model;
  #kernel;
  #host;
  #frame = null;
  #moving = null;
  #repaint = everyFrame(
    () => this.#draw(),
    () => this.#live.store.n > MANY_CALLS && this.#live.isRunning
  );
  #state;
  #stop;
  /** Elements that leave the page lose their size, and have it again when they return. */
  #visits = new ResizeObserver(() => this.#visit());
  /** Draw in the host when the first rows arrive, with the state of an earlier view. */
  constructor(live, model, host, state) {
    this.#live = live;
    this.#model = model;
    this.#host = host;
    this.#state = state;
    this.#kernel = new Kernel(() => modelsOf2(live));
    this.#follow();
    this.#visits.observe(host);
    if (live.store.n > 0) this.#repaint.request();
  }
  /** Its host. */
  get element() {
    return this.#host;
  }
  /** The state of the view, to be handed over. */
  get state() {
    return this.#frame?.state ?? this.#state;
  }
  /** Whether its output was replaced; a hidden output still has a parent. */
  get isLeft() {
    return this.#host.parentElement === null;
  }
  /** Move to another element of the page, before the page is painted. */
  moveTo(host) {
    this.#visits.disconnect();
    this.#host = host;
    this.#visits.observe(host);
    if (this.#moving) this.#moving.into(host);
    else if (this.#live.store.n > 0) this.#draw();
  }
  /** Show the whole run, which has ended, and stop listening. */
  complete(store) {
    this.#leave();
    this.#frame?.show(store);
  }
  dispose() {
    this.#leave();
    this.#frame?.dispose();
    this.#kernel.dispose();
  }
  /** Follow the run while the host is in the page: a cell that was moved leaves its view behind. */
  #visit() {
    if (!this.#host.isConnected) this.#rest();
    else if (!this.#stop) {
      this.#follow();
      this.#repaint.request();
    }
  }
  #follow() {
    const apply = () => this.#applyTraits();
    const unfollow = this.#live.onChange(this.#repaint.request);
    for (const each of TRAITS) this.#model.on(each, apply);
    this.#stop = () => {
      unfollow();
      for (const each of TRAITS) this.#model.off(each, apply);
    };
  }
  #rest() {
    this.#stop?.();
    this.#stop = void 0;
    this.#repaint.cancel();
  }
  #leave() {
    this.#visits.disconnect();
    this.#rest();
  }
  #draw() {
    if (this.#frame) return this.#frame.draw();
    const frame = this.#newFrame();
    const before2 = [...this.#host.childNodes];
    const moving = new Moving(frame.element, frame.element.shadowRoot);
    moving.into(this.#host);
    try {
      frame.start();
    } catch (error) {
      frame.dispose();
      this.#host.replaceChildren(...before2);
      throw error;
    }
    this.#frame = frame;
    this.#moving = moving;
    this.#applyTraits();
  }
  #newFrame() {
    return new Frame({
      store: this.#live.store,
      kernel: this.#kernel,
      state: this.#state,
      onSelect: selectedIn(this.#model),
      onFilter: setter(this.#model, "filter"),
      onHeight: setter(this.#model, "height")
    });
  }
  #applyTraits() {
    const [id, filter] = [this.#model.get("selected"), this.#model.get("filter")];
    if (typeof filter === "string") this.#frame?.filterBy(filter);
    if (typeof id === "number") this.#frame?.selectCall(id);
  }
};
function modelsOf2(live) {
  if (!live) return [...connections()];
  return live.isRunning ? [live.model] : [...connections(), live.model];
}
function selectedIn(model) {
  return setter(model, "selected");
}
function setter(model, name) {
  return (value2) => {
    const before2 = model.get(name);
    if (before2 === void 0 || before2 === value2) return;
    model.set(name, value2);
    model.save_changes();
  };
}

// src/session/handover.ts
function rememberView(run, view) {
  const alive = views(run).filter((each) => each.deref());
  all().set(run, [...alive, new WeakRef(view)]);
}
function leftState(run) {
  const isLeft = (view) => view !== void 0 && !view.element.isConnected;
  return views(run).findLast((each) => isLeft(each.deref()))?.deref()?.state;
}
function views(run) {
  return all().get(run) ?? [];
}
function all() {
  const page = globalThis;
  return page[/* @__PURE__ */ Symbol.for("blsnb-views")] ??= /* @__PURE__ */ new Map();
}

// src/view.ts
var REGISTERED = "blsnb-registered";
var mounted = /* @__PURE__ */ new WeakMap();
function mount(host, header, buffer) {
  const known = registry().get(header?.run?.id ?? host.dataset.run ?? "");
  let shown = mounted.get(host);
  if (known && header?.run?.state === "running") header = void 0;
  if (known?.live.isRunning && shown && !shown.isLive) {
    shown.dispose();
    shown = void 0;
  }
  if (known && !shown) shown = place3(host, known);
  if (shown?.isLive && !header) return shown.dispose;
  const store = header && buffer ? Store.of(header, buffer) : known?.store;
  if (!store || store.n === 0) return () => shown?.dispose();
  if (shown) shown.complete(store);
  else mounted.set(host, shown = draw2(host, store, known));
  return shown.dispose;
}
function place3(host, known) {
  const { live, model, views: views2 } = known;
  const left = views2.find((each) => each.deref()?.isLeft)?.deref();
  if (!left && !live.isRunning) return void 0;
  const view = left ?? new LiveView(live, model, host, known.state?.());
  if (!left) views2.push(new WeakRef(view));
  view.moveTo(host);
  widen(host);
  known.state = () => view.state;
  const leave = () => void (known.views = known.views.filter((each) => each.deref() !== view));
  const complete2 = (whole) => {
    leave();
    view.complete(whole);
  };
  const dispose = () => {
    mounted.delete(host);
    leave();
    view.dispose();
  };
  const placed = { complete: complete2, dispose, isLive: true };
  mounted.set(host, placed);
  return placed;
}
function draw2(host, store, known) {
  const kernel = kernelOf(store);
  const same = store.baseline ? void 0 : known;
  const { id } = store.header.run;
  const name = store.baseline ? `${id}-vs-${store.baseline.header.run.id}` : id;
  const state = leftState(name) ?? same?.state?.();
  const frame = new Frame({ store, kernel, state, onSelect: same && selectedIn(same.model) });
  rememberView(name, frame);
  const connecting = new Connecting(frame, store);
  const dispose = () => {
    mounted.delete(host);
    connecting.stop();
    frame.dispose();
    frame.kernel?.dispose();
  };
  const before2 = [...host.childNodes];
  widen(host);
  host.append(frame.element);
  try {
    frame.start();
  } catch (error) {
    dispose();
    throw error;
  }
  for (const child of before2) child.remove();
  return { complete: (whole) => frame.show(whole), dispose };
}
function kernelOf({ header }) {
  const models = () => modelsOf2(registry().get(header.run.id)?.live);
  return models().length ? new Kernel(models) : null;
}
var Connecting = class {
  stop;
  #frame;
  #store;
  constructor(frame, store) {
    [this.#frame, this.#store] = [frame, store];
    this.stop = listenWeakly(this, [REGISTERED, CONNECTED], (each) => each.#connect());
  }
  #connect() {
    if (this.#frame.kernel) return;
    const known = this.#store.baseline ? void 0 : registry().get(this.#store.header.run.id);
    this.#frame.connect(kernelOf(this.#store), known && selectedIn(known.model));
  }
};
function widen({ parentElement: parent }) {
  if (parent?.classList.contains("jp-RenderedHTMLCommon")) parent.style.paddingRight = "0";
}
var lives = /* @__PURE__ */ new WeakMap();
function initialize({ model }) {
  const live = new Live(model);
  lives.set(model, live);
  const stop = live.onChange(() => register(live));
  return () => {
    stop();
    live.dispose();
    const { id } = live.store.header.run;
    if (registry().get(id)?.live === live) registry().delete(id);
  };
}
function render({ model, el }) {
  const found3 = liveOf(model);
  const live = found3 ?? new Live(model);
  const run = String(model.get("run_id"));
  const view = new LiveView(live, model, el, leftState(run));
  rememberView(run, view);
  const remember = (state) => {
    const known = registry().get(live.store.header.run.id);
    if (known) known.state = state;
  };
  const stop = live.onChange(() => remember(() => view.state));
  remember(() => view.state);
  return () => {
    stop();
    const { state } = view;
    remember(() => state);
    view.dispose();
    if (!found3) live.dispose();
  };
}
function liveOf(model) {
  return lives.get(model) ?? registry().get(String(model.get("run_id")))?.live;
}
function register(live) {
  const { id } = live.store.header.run;
  const known = registry().get(id);
  if (known?.live === live) return;
  const { model, store } = live;
  registry().set(id, { model, mount, store, live, views: known?.views ?? [], state: known?.state });
  globalThis.dispatchEvent(new Event(REGISTERED));
}
function registry() {
  const page = globalThis;
  return page[/* @__PURE__ */ Symbol.for("blsnb")] ??= /* @__PURE__ */ new Map();
}
var view_default = { initialize, render };
export {
  view_default as default,
  mount
};
