// The random numbers of a model: NumPy's SeedSequence and PCG64, and normal numbers made from them.
// `sliceflow/core/_random.py` makes the same ones. A 128-bit number is four words of 32 bits, the
// lowest first.

/** What is drawn: part of each seed. */
export const Draw = { DIRECTIONS: 2, SAMPLE_START: 6 };

const POOL = 4;

/** Mixes integers of any size into a pool of words, from which seeds are made. */
class SeedSequence {
  constructor(integers) {
    const entropy = integers.flatMap(wordsOf);
    let constant = 0x43b0d7e5;
    const hash = (value) => {
      value ^= constant;
      constant = Math.imul(constant, 0x931e8875);
      value = Math.imul(value, constant);
      return value ^ (value >>> 16);
    };
    const mix = (x, y) => {
      const mixed = Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y);
      return mixed ^ (mixed >>> 16);
    };
    const pool = Array.from({ length: POOL }, (_, i) => hash(entropy[i] ?? 0));
    for (let from = 0; from < POOL; from++) {
      for (let to = 0; to < POOL; to++) {
        if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
      }
    }
    for (const word of entropy.slice(POOL)) {
      for (let to = 0; to < POOL; to++) pool[to] = mix(pool[to], hash(word));
    }
    this.pool = pool;
  }

  /** Return n words. */
  words(n) {
    let constant = 0x8b51f9dd;
    return Array.from({ length: n }, (_, i) => {
      let value = this.pool[i % POOL] ^ constant;
      constant = Math.imul(constant, 0x58f38ded);
      value = Math.imul(value, constant);
      return (value ^ (value >>> 16)) >>> 0;
    });
  }
}

/** Return the words of an integer that is not negative, the lowest first; one word for 0. */
function wordsOf(integer) {
  const words = [];
  let rest = BigInt(integer);
  do {
    words.push(Number(rest & 0xffffffffn));
    rest >>= 32n;
  } while (rest > 0n);
  return words;
}

/** Return the seed of one of many draws, by its number, from a common seed. */
export function childSeed(seed, number) {
  const [low, high] = new SeedSequence([seed, number]).words(2);
  return (BigInt(high) << 32n) | BigInt(low);
}

const MULTIPLIER = [0x9fccf645, 0x4385df64, 0x1fc65da4, 0x2360ed05];

/** The random numbers of one draw of one step. */
export class Random {
  constructor(seed, draw, stage = 0, step = 0) {
    const words = new SeedSequence([seed, stage, step, draw]).words(8);
    const halves = (high, low) => [words[low], words[low + 1], words[high], words[high + 1]];
    const initial = halves(0, 2), sequence = halves(4, 6);
    this.increment = Uint32Array.from(sequence, (word, i) =>
      (word << 1) | (i === 0 ? 1 : sequence[i - 1] >>> 31));
    this.state = new Uint32Array(4);
    this.advance();
    add(this.state, initial);
    this.advance();
  }

  advance() {
    multiply(this.state, MULTIPLIER);
    add(this.state, this.increment);
  }

  /** Set `low` and `high` to the halves of the next 64-bit integer. */
  next() {
    this.advance();
    const [a, b, c, d] = this.state;
    const low = a ^ c, high = b ^ d;
    const turn = d >>> 26;
    const [x, y] = turn & 32 ? [high, low] : [low, high];
    const by = turn & 31;
    this.low = (by ? (x >>> by) | (y << (32 - by)) : x) >>> 0;
    this.high = (by ? (y >>> by) | (x << (32 - by)) : y) >>> 0;
  }

  /** Return an integer from 0 to n − 1. */
  integer(n) {
    this.next();
    const fraction = (this.high * 2 ** 21 + (this.low >>> 11)) * 2 ** -53;
    return Math.floor(n * fraction);
  }

  /** Return n normal numbers. */
  normal(n) {
    const numbers = new Float64Array(n);
    for (let i = 0; i < n; i += 2) {
      this.next();
      numbers[i] = normalQuantile(this.low);
      if (i + 1 < n) numbers[i + 1] = normalQuantile(this.high);
    }
    return numbers;
  }
}

function add(state, other) {
  let carry = 0;
  for (let i = 0; i < 4; i++) {
    const sum = state[i] + other[i] + carry;
    state[i] = sum;
    carry = sum > 0xffffffff ? 1 : 0;
  }
}

const product = new Uint32Array(4);

/** Multiply in place, modulo 2¹²⁸: schoolbook, with words cut into halves so that sums are exact. */
function multiply(state, other) {
  product.fill(0);
  for (let i = 0; i < 4; i++) {
    const low = other[i] & 0xffff, high = other[i] >>> 16;
    let carry = 0;
    for (let j = 0; i + j < 4; j++) {
      const first = state[j] * low + product[i + j] + carry;
      const second = state[j] * high + Math.floor(first / 65536);
      product[i + j] = (second % 65536) * 65536 + (first % 65536);
      carry = Math.floor(second / 65536);
    }
  }
  state.set(product);
}

/** Return the quantile of N(0, 1) at probability (k + ½) 2⁻³² (Wichura's PPND7). */
function normalQuantile(k) {
  const q = (k - (2 ** 31 - 0.5)) * 2 ** -32;
  if (Math.abs(q) <= 0.425) {
    const r = 0.180625 - q * q;
    const above = ((59.10937472 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179;
    const below = ((67.1875636 * r + 78.757757664) * r + 17.895169469) * r + 1;
    return q * (above / below);
  }
  const r = Math.sqrt(-log(0.5 - Math.abs(q))) - 1.6;
  const above = ((0.17023821103 * r + 1.3067284816) * r + 2.75681539) * r + 1.4234372777;
  const below = (0.12021132975 * r + 0.7370016425) * r + 1;
  return Math.sign(q) * (above / below);
}

/** Return log x to 1e-9, for 0 < x < 1: `Math.log` would differ in the last bits. */
function log(x) {
  let e = Math.ceil(Math.log2(x));
  if (x * 2 ** -e >= 1) e++;
  if (x * 2 ** -e < 0.5) e--;
  const m = x * 2 ** -e, c = 0.7071067811865476; // m from ½ to 1, c = √½
  const s = (m - c) / (m + c), square = s * s;
  const series = ((((1 / 9) * square + 1 / 7) * square + 1 / 5) * square + 1 / 3) * square + 1;
  return 2 * s * series + (e - 0.5) * 0.6931471805599453;
}
