/** Sample runs: a pipeline with everything in it, and sweeps of any size. */

import type { GridPreview, Header, ImagePreview, TensorEntry } from "../src/trace/header.ts";
import { Flag } from "../src/trace/wire.ts";
import { call, encode, model, Packer, random, type Call, type Encoded } from "./fixture.ts";

const SOURCE = `import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.read(request) for request in requests]

    def read(self, request):
        pixels = call("decode_image", request)
        page = call("text_detector", pixels)
        layout = call_async("layout_model", pixels)
        texts = gather(call_async("crop_recognizer", crop) for crop in page)
        ranked = call("rerank", texts)
        for delta in call_stream("llm_extract", ranked):
            answer = answer + delta
        for attempt in range(3):
            checked = call("schema_check", answer)
        return checked
`;

function stats(low: number, high: number): Pick<TensorEntry, "stats" | "histogram"> {
  const counts = Array.from({ length: 48 }, (_, k) =>
    Math.round(900 * Math.exp(-(((k - 20) / 11) ** 2))),
  );
  const mean = (low + high) / 2;
  return {
    stats: {
      count: 4800,
      min: low,
      max: high,
      mean,
      std: (high - low) / 5,
      nan: 0,
      inf: 0,
      zeros: 12,
    },
    histogram: { low, high, counts },
  };
}

function grid(
  packer: Packer,
  index: number[],
  rows: number,
  columns: number,
  low: number,
  high: number,
): GridPreview {
  const values = new Uint8Array(rows * columns);
  for (let y = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++) {
      const [dy, dx] = [y / rows - 0.4, x / columns - 0.5];
      values[y * columns + x] = Math.round(254 * Math.exp(-9 * (dx * dx + 3 * dy * dy)));
    }
  }
  const size = {
    rows,
    columns,
    of: [rows, columns] as [number, number],
    data: packer.data(values),
  };
  return { kind: "grid", index, ...size, low, high, reduced: "" };
}

function image(
  packer: Packer,
  rows: number,
  columns: number,
  full: [number, number],
): ImagePreview {
  const pixels = new Uint8Array(rows * columns * 3).fill(244);
  const next = random(5);
  for (let y = 8; y < rows - 6; y++) {
    for (let x = 6; x < columns - 6; x++) {
      if (y % 7 < 3 && next() < 0.6)
        pixels.fill(60, 3 * (y * columns + x), 3 * (y * columns + x) + 3);
    }
  }
  return {
    kind: "image",
    index: [0],
    rows,
    columns,
    of: full,
    layout: "HWC",
    data: packer.data(pixels),
  };
}

function tensor(
  role: "input" | "output",
  name: string,
  datatype: string,
  shape: number[],
  rest: Partial<TensorEntry>,
): TensorEntry {
  const byte_size = shape.reduce((product, size) => product * size, datatype === "UINT8" ? 1 : 4);
  const empty = { stats: null, histogram: null, preview: null };
  return {
    name,
    datatype,
    shape,
    device: "cpu",
    byte_size,
    role,
    response: 0,
    evicted: false,
    ...empty,
    ...rest,
  };
}

/** 27 calls of nine models: fan-out, a stream, a nested loop, three errors. */
export function invoice(): Encoded {
  const names: [string, string, string][] = [
    ["invoice_pipeline", "python", "cpu"],
    ["decode_image", "dali", "gpu:0"],
    ["text_detector", "tensorrt", "gpu:0"],
    ["layout_model", "onnxruntime", "gpu:1"],
    ["crop_recognizer", "onnxruntime", "gpu:0"],
    ["rerank", "python", "cpu"],
    ["embedder", "onnxruntime", "gpu:1"],
    ["llm_extract", "vllm", "gpu:1"],
    ["schema_check", "python", "cpu"],
  ];
  const next = random(3);
  const phases = (queue: number, input: number, infer: number, output: number): Partial<Call> => ({
    pre_us: 6,
    queue_us: queue,
    compute_input_us: input,
    compute_infer_us: infer,
    compute_output_us: output,
    post_us: 4,
  });
  const calls: Call[] = [
    call(-1, 0, 0, { ...phases(140, 60, 75_700, 90), instance: 1, execution: 1 }),
  ];
  const add = (parent: number, id: number, start: number, rest: Partial<Call>): number => {
    calls.push(call(parent, id, start, { execution: calls.length + 1, ...rest }));
    return calls.length - 1;
  };
  add(0, 1, 420, { ...phases(160, 210, 2900, 120), line: 9 });
  const detector = add(0, 2, 4000, { ...phases(900, 420, 9800, 260), line: 10, instance: 2 });
  add(0, 3, 4080, { ...phases(2100, 380, 12_400, 310), flags: Flag.ASYNC, line: 11 });
  const crops: number[] = [];
  for (let k = 0; k < 12; k++) {
    const failed = k === 9;
    const times = phases(
      260 + Math.floor(k / 4) * 3050 + next() * 250,
      210,
      failed ? NaN : 2500 + next() * 600,
      failed ? NaN : 110,
    );
    crops.push(
      add(0, 4, 15_900 + k * 55, {
        ...times,
        flags: Flag.ASYNC | (failed ? Flag.ERROR : 0),
        line: 12,
      }),
    );
  }
  const rerank = add(0, 5, 26_300, { ...phases(180, 70, 12_200, 60), line: 13 });
  for (let k = 0; k < 6; k++)
    add(rerank, 6, 26_700 + k * 1980, { ...phases(210, 90, 1500 + next() * 100, 60), line: 4 });
  const llm = add(0, 7, 39_100, {
    ...phases(1500, 240, 31_000, 900),
    flags: Flag.DECOUPLED,
    responses: 46,
    line: 14,
  });
  const checks = [0, 1, 2].map((k) =>
    add(0, 8, 73_000 + k * 960, {
      ...phases(90, 40, 620 + k * 90, 40),
      flags: k < 2 ? Flag.ERROR : 0,
      line: 17,
    }),
  );
  const packer = new Packer();
  const wrongShape =
    "crop_recognizer: unexpected shape for input 'crops': expected [-1,3,48,320], got [0,3,48,320]";
  const wrongField = "ValueError: field 'total_due': expected decimal, got '1.204,5O'";
  const text = [
    '{"vendor":"Löwenbräu Söhne GmbH","currency":"EUR"}',
    "<b onclick=alert(1)>&\u202e evil",
  ];
  const header: Partial<Header> = {
    run: { id: "run-1", title: "invoice_pipeline", request_id: "7f3a", state: "error" },
    models: names.map((each) => model(...each)),
    instances: ["", "invoice_pipeline_0_0", "text_detector_0_0"],
    sources: {
      "0": SOURCE,
      "5": "import math\n\ndef execute(self, requests):\n    call('embedder')\n",
    },
    errors: { [crops[9]]: wrongShape, [checks[0]]: wrongField, [checks[1]]: wrongField },
    codes: { [crops[9]]: "INVALID_ARG", [checks[0]]: "INTERNAL", [checks[1]]: "INTERNAL" },
    notes: { "0": ["12 calls to crop_recognizer waited for its only instance."] },
    logs: {
      "0": [
        [500, "INFO", "page decoded"],
        [15_800, "PRINT", "12 crops\n"],
      ],
    },
    requests: { "0": { request_id: "7f3a" } },
    tensors: {
      "0": [
        tensor("input", "IMAGE", "UINT8", [1, 2339, 1654, 3], {
          ...stats(0, 255),
          preview: image(packer, 112, 84, [2339, 1654]),
        }),
        tensor("output", "RESULT", "BYTES", [2], {
          preview: { kind: "text", strings: text, count: 2 },
        }),
      ],
      [detector]: [
        tensor("input", "PIXELS", "FP32", [1, 3, 640, 640], { device: "gpu:0" }),
        tensor("output", "SCORE_MAP", "FP32", [1, 3, 160, 160], {
          ...stats(5.45e-5, 1.038),
          device: "gpu:0",
          preview: grid(packer, [0, 0], 80, 60, 5.45e-5, 1.038),
        }),
        tensor("output", "BOXES", "FP32", [24, 4], {
          ...stats(0, 640),
          preview: grid(packer, [], 24, 4, 0, 640),
        }),
      ],
      [crops[9]]: [
        tensor("input", "crops", "FP32", [2, 3, 48, 320], {
          ...stats(-3.958, 3.782),
          preview: grid(packer, [0, 0], 48, 128, -3.958, 3.782),
        }),
      ],
    },
    ui: { height: 480 },
  };
  const responses = Array.from({ length: 46 }, (_, k): [number, number] => [
    llm,
    1800 + k * 670 + next() * 200,
  ]);
  return encode(calls, header, { responses, packer });
}

/** A sweep of `size` calls: a root, routers, and loops with nested calls below them. */
export function sweep(size: number, seed = 1): Encoded {
  const next = random(seed);
  const exponential = (mean: number): number => -mean * Math.log(1 - next());
  const names = [
    "batch_eval",
    "router",
    "tokenizer",
    "encoder",
    "decoder",
    "cache_lookup",
    "ranker",
    "embedder",
    "guard",
    "llm",
    "detok",
    "metrics",
  ];
  const [ranker, embedder, llm] = [6, 7, 9];
  const calls: Call[] = [call(-1, 0, 0)];
  const errors: Record<string, string> = {};
  let clock = 300;
  while (calls.length < size) {
    const router = calls.length;
    const queue = exponential(300);
    calls.push(
      call(0, 1, clock, {
        queue_us: queue,
        compute_input_us: 60,
        compute_output_us: 50,
        flags: Flag.ASYNC,
      }),
    );
    let at = clock + queue + 80;
    for (let left = 6 + Math.floor(next() * 18); left > 0 && calls.length < size; left--) {
      const id = 2 + Math.floor(next() * 10);
      const times = {
        queue_us: exponential(120),
        compute_input_us: 40,
        compute_infer_us: 200 + exponential(400),
        compute_output_us: 30,
      };
      const failed = next() < 0.002;
      if (failed) errors[calls.length] = "timeout";
      const flags = (id === llm ? Flag.DECOUPLED : 0) | (failed ? Flag.ERROR : 0);
      const row = calls.length;
      calls.push(call(router, id, at, { ...times, flags, responses: id === llm ? 30 : 1 }));
      if ((id === llm || id === ranker) && calls.length < size) {
        calls.push(
          call(row, embedder, at + times.queue_us + 60, {
            queue_us: 50,
            compute_infer_us: times.compute_infer_us * 0.6,
          }),
        );
      }
      at += times.queue_us + times.compute_infer_us + 100;
    }
    calls[router].compute_infer_us = at - clock - queue - 60;
    clock += exponential(900);
  }
  const last = Math.max(
    ...calls.map(
      (each) =>
        each.start_us +
        each.queue_us +
        each.compute_input_us +
        each.compute_infer_us +
        each.compute_output_us,
    ),
  );
  calls[0].compute_infer_us = last + 400;
  const models = names.map((name, k) =>
    model(name, k % 3 ? "onnxruntime" : "python", k % 3 ? `gpu:${k % 2}` : "cpu"),
  );
  const run = { id: "sweep", title: "batch_eval", request_id: "", state: "done" as const };
  return encode(calls, { models, errors, run });
}
