// A recorded flow: moves particles from noise to images by the maps of a model file, as
// `sliceflow/runtime` does, in float64 too. Particles are columns: row i of n particles begins at i n.

import { ModelFile } from "./file.js";
import { levelBasis, multiply, offsets, orthonormalize, product, transposed } from "./matrix.js";
import { Draw, Random, childSeed } from "./random.js";

/** Samples start from seeds that so many of them share. */
const SAMPLE_BATCH = 256;

/** A model of images that draws samples. */
export class Model {
  /** Read a model from the bytes of its file. */
  constructor(buffer) {
    const file = new ModelFile(buffer), { config, seed } = file;
    this.shape = config.shape;
    this.size = config.shape.reduce((a, b) => a * b);
    this.condition = config.condition;
    this.l = config.condition.l;
    this.classes = config.classes && config.classes[1];
    this.names = config.names ? config.names.slice(this.size) : [];
    if (config.shape.length !== 3 || config.engine.name !== "Fast" || this.condition.n_summary) {
      throw new Error("only models of images by the engine Fast can be sampled here");
    }
    const { shift, scale } = file.tensors("scaling.safetensors");
    [this.shift, this.scale] = [shift.values, scale.values];
    this.ranges = config.has_support ? pairs(file.tensors("support.safetensors").edges) : [];
    this.mask = this.condition.name === "Observed"
      ? file.tensors("observed.safetensors").mask.values : null;
    this.start = config.start.name === "NoiseSampler"
      ? config.start : { ...config.start, ...file.tensors("start.safetensors") };
    this.stages = config.schedule.map((row, number) =>
      new Stage(row, number, seed, this, file.tensors(stageName(number)), config.engine.step_size));
    this.steps = this.stages.reduce((sum, stage) => sum + stage.steps, 0);
  }

  /**
   * Move n particles, whose numbers among all of this seed begin with `first`, from noise to
   * samples. `given` is one class number, a list of numbers, or the brightness of an image.
   * Yields after each step; `Particles.images()` shows where they are.
   */
  *sample(n, given, seed, first = 0) {
    const particles = new Particles(this, n);
    particles.give(given);
    particles.begin(seed, first);
    for (const stage of this.stages) yield* stage.run(particles);
    yield particles;
  }
}

/** Particles (D, n) with their conditions; n is rounded up to a multiple of 4. */
export class Particles {
  constructor(model, n) {
    this.model = model;
    this.n = n;
    this.width = Math.ceil(n / 4) * 4;
    this.x = new Float64Array((model.size + model.l) * this.width);
    this.atLevel = null;
  }

  /** Set what is given. */
  give(given) {
    const { model, width, x } = this;
    const scaled = (value, i) => (value - model.shift[i]) / model.scale[i];
    for (let i = 0; i < model.l; i++) {
      const [low, high] = model.ranges[i] ?? [-Infinity, Infinity];
      const value = model.classes ? Number(i === given) : Math.min(Math.max(given[i], low), high);
      const row = model.size + i;
      x.fill(scaled(value, row), row * width, (row + 1) * width);
    }
    if (!model.mask) return;
    for (let i = 0; i < model.size; i++) {
      if (model.mask[i]) x.fill(scaled(given[i], i), i * width, (i + 1) * width);
    }
  }

  /** Draw where the particles begin. */
  begin(seed, first) {
    const { model, width, x } = this, { means, factors, clusters = 0, together } = model.start;
    const rank = means ? factors.shape[2] : model.size;
    for (let p = 0; p < this.n; p++) {
      let noise = drawn(seed, first + p, clusters + rank), group = model.classes ? this.group(p) : 0;
      if (together) {
        group = clusters * group + indexOfLargest(noise.slice(0, clusters));
        noise = largest(noise.slice(clusters), together);
      }
      for (let i = 0; i < model.size; i++) {
        if (model.mask && model.mask[i]) continue;
        x[i * width + p] = means ? means.values[group * model.size + i] : model.start.std * noise[i];
        if (!means) continue;
        const row = (group * model.size + i) * rank;
        let sum = 0;
        for (let k = 0; k < rank; k++) sum += factors.values[row + k] * noise[k];
        x[i * width + p] += sum;
      }
    }
  }

  group(p) {
    const { model, width, x } = this;
    const values = Array.from({ length: model.l }, (_, i) => x[(model.size + i) * width + p]);
    return indexOfLargest(values);
  }

  /** Return the images as bytes, one after the other: channel, row, column. */
  images() {
    const { model, n, width } = this, { shift, scale, size } = model;
    const x = this.atLevel ? this.atLevel() : this.x;
    const bytes = new Uint8ClampedArray(n * size);
    for (let p = 0; p < n; p++) {
      for (let i = 0; i < size; i++) {
        bytes[p * size + i] = Math.round(x[i * width + p] * scale[i] + shift[i]);
      }
    }
    return bytes;
  }
}

let noises = { key: null, random: null, next: 0 };

/** Return the noise of a sample, by its number: samples of a batch share the numbers of one seed. */
function drawn(seed, number, size) {
  const batch = Math.floor(number / SAMPLE_BATCH), key = `${seed} ${batch} ${size}`;
  if (noises.key !== key || noises.next > number) {
    const random = new Random(childSeed(seed, batch), Draw.SAMPLE_START);
    noises = { key, random, next: batch * SAMPLE_BATCH };
  }
  while (noises.next < number) {
    noises.random.normal(size);
    noises.next++;
  }
  noises.next++;
  return noises.random.normal(size).map(Math.fround);
}

function indexOfLargest(numbers) {
  return numbers.indexOf(Math.max(...numbers));
}

/** Return the n largest numbers, brought to the length √r of all r, and zero for others. */
function largest(numbers, n) {
  const weights = new Float64Array(numbers.length);
  const order = [...numbers.keys()].sort((i, j) => numbers[j] - numbers[i]).slice(0, n);
  const scale = Math.sqrt(numbers.length) / Math.hypot(...order.map((i) => numbers[i]));
  for (const i of order) weights[i] = scale * numbers[i];
  return weights;
}

/** A stage: its level, its maps, and the directions of each step. */
class Stage {
  constructor(row, number, seed, model, { knots, low, high, axes }, weight) {
    const [channels, height, width] = model.shape, smaller = Math.min(height, width);
    const k = row.resolution ?? smaller;
    Object.assign(this, { row, number, seed, model, axes, steps: row.steps });
    this.shape = [channels, ...[height, width].map((side) => Math.round((side * k) / smaller))];
    this.size = channels * this.shape[1] * this.shape[2];
    this.isFull = k === smaller;
    if (!this.isFull) {
      this.basis = [levelBasis(height, this.shape[1]), levelBasis(width, this.shape[2])];
    }
    this.maps = new Maps(knots, low, high);
    const sizes = Array.isArray(row.step_size) ? row.step_size : [row.step_size, row.step_size];
    this.weightOf = (step) =>
      weight * sizes[0] * (sizes[1] / sizes[0]) ** (step / Math.max(1, row.steps - 1));
    this.directions = Array(row.steps);
  }

  /** Do all steps, and yield the particles after each. */
  *run(particles) {
    const { model } = this, stays = !model.mask;
    let u = this.enter(particles);
    particles.atLevel = () => this.left(particles, u);
    for (let step = 0; step < this.steps; step++) {
      this.step(u, step, particles.width);
      if (!stays) {
        this.update(particles, u);
        u = this.enter(particles);
      }
      yield particles;
    }
    if (stays) this.update(particles, u);
    particles.atLevel = null;
  }

  /** x ← x + w Aᵀ (T(A x) − A x) */
  step(u, step, n) {
    this.directions[step] ??= this.draw(step);
    const { theta, back, condition, tiles, p } = this.directions[step];
    const l = this.model.l, w = this.weightOf(step);
    const z = new Float64Array(p * n), rows = offsets(p, n);
    const given = Int32Array.from({ length: l }, (_, i) => (this.size + i) * n);
    const seen = new Float64Array(p * n);
    if (l) multiply(condition, p, l, u, given, seen, rows, n, false);
    tiles.forEach((tile, number) => {
      const at = tile.map((row) => row * n);
      z.set(seen);
      multiply(theta, p, p, u, at, z, rows, n, true);
      this.maps.displace(z, step, this.row.shared ? 0 : number * p, p, n, w);
      multiply(back, p, p, z, rows, u, at, n, true);
    });
  }

  /** Draw the directions of a step: θ, its transpose, the part of the condition, and the tiles. */
  draw(step) {
    const { row, model, shape, size } = this, random = new Random(this.seed, Draw.DIRECTIONS, this.number, step);
    const isWhole = row.patch === null || row.patch >= Math.max(shape[1], shape[2]);
    const sides = isWhole ? shape.slice(1) : shape.slice(1).map((side) => Math.min(row.patch, side));
    const p = shape[0] * sides[0] * sides[1];
    const bands = Array.isArray(row.band) ? row.band : [row.band];
    const band = bands.length > 1 ? bands[random.integer(bands.length)] : bands[0];
    const theta = this.basisOf(random, band, p);
    let { amplifier } = model.condition, condition = null;
    if (model.l) {
      if (row.resolution === null) amplifier *= (model.l / p) ** 0.5;
      condition = sphere(random, p, model.l).map((value) => value * amplifier);
    }
    const tiles = isWhole ? [Int32Array.from({ length: size }, (_, i) => i)] : cut(random, shape, sides);
    return { theta, back: transposed(theta, p, p), condition, tiles, p };
  }

  /** Draw an orthonormal basis (p, p): a rotation, or axes rotated within bands. */
  basisOf(random, band, p) {
    if (band === null) return rotation(random, p);
    const axes = this.axes.values;
    if (band === 1) return axes;
    const basis = new Float64Array(p * p);
    const whole = Math.floor(p / band), turns = random.normal(whole * band * band);
    for (let first = 0, i = 0; first < p; first += band, i++) {
      const rows = Math.min(band, p - first), entries = rows * rows;
      const normal = i < whole ? turns.subarray(i * entries, (i + 1) * entries) : random.normal(entries);
      const turn = orthonormalize(normal, rows);
      basis.set(product(turn, axes.subarray(first * p, (first + rows) * p), rows, rows, p), first * p);
    }
    return basis;
  }

  /** Return the particles in the coordinates of the level: u = Rᵀ x Q. */
  enter({ x, width }) {
    const [rows, columns] = this.isFull ? [] : this.basis;
    if (this.isFull) return x.slice();
    const [c, h, w] = this.model.shape, [, a, b] = this.shape;
    const u = resample(transposed(rows, h, a), transposed(columns, w, b), x, c, [h, w], [a, b], width);
    return joined(u, x.subarray(this.model.size * width));
  }

  /** Return full-size particles with the coordinates u: x + R (u − Rᵀ x Q) Qᵀ. */
  left(particles, u) {
    if (this.isFull) return u;
    const { width } = particles, [c, h, w] = this.model.shape, [, a, b] = this.shape;
    const change = this.enter(particles).map((value, i) => u[i] - value);
    const moved = resample(...this.basis, change, c, [a, b], [h, w], width);
    return particles.x.map((value, i) => (i < moved.length ? value + moved[i] : value));
  }

  /** Move the particles to u, except for what is given. */
  update(particles, u) {
    const { mask } = this.model, x = this.left(particles, u), { width } = particles;
    for (let i = 0; i < this.model.size; i++) {
      if (mask && mask[i]) continue;
      particles.x.set(x.subarray(i * width, (i + 1) * width), i * width);
    }
  }
}

/** Maps of all steps of a stage, as integers: (steps, 2, H, K), with extremes of each row. */
class Maps {
  constructor(knots, low, high) {
    [, , this.h, this.k] = knots.shape;
    Object.assign(this, { knots: knots.values, low: low.values, high: high.values });
    this.half = 2 ** (8 * knots.values.BYTES_PER_ELEMENT - 1);
    this.x = new Float64Array(this.k);
    this.moveBy = new Float64Array(this.k);
  }

  /** Replace values (p, n) by w (T(z) − z), with maps of this step from `first` on. */
  displace(z, step, first, p, n, w) {
    const { h, k, x, moveBy } = this;
    for (let i = 0; i < p; i++) {
      this.place(x, 2 * step * h + first + i);
      this.unpack(moveBy, (2 * step + 1) * h + first + i);
      const end = (i + 1) * n, low = x[0], high = x[k - 1];
      for (let at = i * n; at < end; at++) {
        const value = z[at];
        let knot = 0, above = k - 1; // the last knot at or below the value
        while (above - knot > 1) {
          const middle = (knot + above) >> 1;
          if (x[middle] <= value) knot = middle;
          else above = middle;
        }
        const inside = value < low ? low : value > high ? high : value;
        const width = x[knot + 1] - x[knot];
        const slope = width > 1e-30 ? (moveBy[knot + 1] - moveBy[knot]) / width : 0;
        z[at] = w * (moveBy[knot] + (inside - x[knot]) * slope + (inside - value));
      }
    }
  }

  /** Write the positions of knots. Bytes are square roots of the gaps between them. */
  place(x, row) {
    const { k, half, knots, low, high } = this, from = row * k;
    if (half > 128) {
      this.unpack(x, row);
      return;
    }
    const width = (high[row] - low[row]) / 255 ** 2;
    for (let j = 0, sum = 0; j < k; j++) {
      sum += (knots[from + j] + half) ** 2 * width;
      x[j] = low[row] + sum;
    }
  }

  unpack(values, row) {
    const { k, half, knots, low, high } = this;
    const step = (high[row] - low[row]) / (2 * half - 1), from = row * k;
    for (let j = 0; j < k; j++) values[j] = low[row] + (knots[from + j] + half) * step;
  }
}

function stageName(number) {
  return `stage-${String(number).padStart(3, "0")}.safetensors`;
}

function pairs({ values }) {
  return Array.from({ length: values.length / 2 }, (_, i) => [values[2 * i], values[2 * i + 1]]);
}

function rotation(random, p) {
  return orthonormalize(random.normal(p * p), p);
}

/** Draw points uniformly on the unit sphere, (n, d). */
function sphere(random, n, d) {
  const points = random.normal(n * d).map(Math.fround);
  for (let i = 0; i < n; i++) {
    const point = points.subarray(i * d, i * d + d);
    const length = Math.sqrt(point.reduce((sum, value) => sum + value * value, 0));
    for (let k = 0; k < d; k++) point[k] /= length;
  }
  return points;
}

/** Draw an offset; return the coordinates of each tile of images (C, h, w). */
function cut(random, [channels, height, width], sides) {
  const [rows, columns] = [height, width].map((side, i) => {
    const first = sides[i] < side ? random.integer(side) : 0;
    return Array.from({ length: Math.floor(side / sides[i]) }, (_, tile) =>
      Array.from({ length: sides[i] }, (_, j) => (tile * sides[i] + j + first) % side));
  });
  const tiles = [];
  for (const row of rows) {
    for (const column of columns) {
      const places = [];
      for (let c = 0; c < channels; c++) {
        for (const y of row) for (const x of column) places.push((c * height + y) * width + x);
      }
      tiles.push(Int32Array.from(places));
    }
  }
  return tiles;
}

/** Return A x Bᵀ for n images of c channels: from size (h, w) to (a, b), A (a, h) and B (b, w). */
function resample(A, B, x, c, [h, w], [a, b], n) {
  const middle = new Float64Array(c * a * w * n), out = new Float64Array(c * a * b * n);
  for (let channel = 0; channel < c; channel++) {
    const from = offsets(h, w * n).map((at) => at + channel * h * w * n);
    const to = offsets(a, w * n).map((at) => at + channel * a * w * n);
    multiply(A, a, h, x, from, middle, to, w * n, false);
  }
  for (let row = 0; row < c * a; row++) {
    const from = offsets(w, n).map((at) => at + row * w * n);
    const to = offsets(b, n).map((at) => at + row * b * n);
    multiply(B, b, w, middle, from, out, to, n, false);
  }
  return out;
}

function joined(u, rest) {
  const all = new Float64Array(u.length + rest.length);
  all.set(u);
  all.set(rest, u.length);
  return all;
}
