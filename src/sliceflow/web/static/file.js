// Reads a model file: a zip without compression, with `config.json` and tensors (safetensors).

const END = 0x06054b50, ENTRY = 0x02014b50, ENTRY_BYTES = 46, LOCAL_BYTES = 30;
const TYPES = {
  F64: Float64Array, F32: Float32Array, I8: Int8Array, I16: Int16Array, I32: Int32Array,
  I64: BigInt64Array, BOOL: Uint8Array,
};

/** The parts of a model file, by name. */
export class ModelFile {
  constructor(buffer) {
    this.parts = new Map(entries(buffer));
    const text = new TextDecoder().decode(this.part("config.json"));
    this.config = JSON.parse(text);
    this.seed = BigInt(/"seed":\s*(\d+)/.exec(text)[1]); // JSON numbers have 53 bits
  }

  part(name) {
    const part = this.parts.get(name);
    if (!part) throw new Error(`the model has no ${name}: is it a sliceflow model?`);
    return part;
  }

  /** Return the tensors of a part: {name: {shape, values}}. */
  tensors(name) {
    const bytes = this.part(name);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const size = Number(view.getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
    const tensors = {};
    for (const [key, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(header)) {
      if (key === "__metadata__") continue;
      const data = bytes.slice(8 + size + begin, 8 + size + end); // a copy, so that it is aligned
      tensors[key] = { shape, values: new TYPES[dtype](data.buffer) };
    }
    return tensors;
  }
}

/** Yield the name and the bytes of each part of a zip. */
function* entries(buffer) {
  const view = new DataView(buffer), bytes = new Uint8Array(buffer);
  let end = buffer.byteLength - 22;
  while (end >= 0 && view.getUint32(end, true) !== END) end--;
  if (end < 0) throw new Error("this is not a sliceflow model, or not a complete one");
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  for (let i = 0; i < count; i++) {
    if (view.getUint32(at, true) !== ENTRY) throw new Error("the model is damaged");
    const size = view.getUint32(at + 20, true), local = view.getUint32(at + 42, true);
    const [name, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const skipped = view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const text = new TextDecoder().decode(bytes.subarray(at + ENTRY_BYTES, at + ENTRY_BYTES + name));
    const begin = local + LOCAL_BYTES + skipped;
    yield [text, bytes.subarray(begin, begin + size)];
    at += ENTRY_BYTES + name + extra + comment;
  }
}
