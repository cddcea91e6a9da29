// The linear algebra of a flow. A matrix is a Float64Array, row by row. Particles are columns.

/**
 * dst[d_i] (+)= Σ_k A[i, k] src[s_k], for n particles: A is (rows, columns), and s and d say where
 * the rows of src and dst begin. n is a multiple of 4.
 */
export function multiply(A, rows, columns, src, s, dst, d, n, isAdded) {
  let i = 0;
  for (; i + 1 < rows; i += 2) {
    const top = i * columns, bottom = top + columns, first = d[i], second = d[i + 1];
    for (let m = 0; m < n; m += 4) {
      let a = 0, b = 0, c = 0, e = 0, f = 0, g = 0, h = 0, j = 0;
      for (let k = 0; k < columns; k++) {
        const at = s[k] + m, p = A[top + k], q = A[bottom + k];
        const w = src[at], x = src[at + 1], y = src[at + 2], z = src[at + 3];
        a += p * w; b += p * x; c += p * y; e += p * z;
        f += q * w; g += q * x; h += q * y; j += q * z;
      }
      const u = first + m, v = second + m;
      if (isAdded) {
        dst[u] += a; dst[u + 1] += b; dst[u + 2] += c; dst[u + 3] += e;
        dst[v] += f; dst[v + 1] += g; dst[v + 2] += h; dst[v + 3] += j;
      } else {
        dst[u] = a; dst[u + 1] = b; dst[u + 2] = c; dst[u + 3] = e;
        dst[v] = f; dst[v + 1] = g; dst[v + 2] = h; dst[v + 3] = j;
      }
    }
  }
  if (i < rows) {
    for (let m = 0; m < n; m++) {
      let sum = 0;
      for (let k = 0; k < columns; k++) sum += A[i * columns + k] * src[s[k] + m];
      dst[d[i] + m] = isAdded ? dst[d[i] + m] + sum : sum;
    }
  }
}

/** Return where rows of n particles begin: [0, n, 2n, …]. */
export function offsets(rows, n) {
  return Int32Array.from({ length: rows }, (_, i) => i * n);
}

export function transposed(A, rows, columns) {
  const T = new Float64Array(A.length);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) T[j * rows + i] = A[i * columns + j];
  return T;
}

/** Return A B for matrices (rows, inner) and (inner, columns). */
export function product(A, B, rows, inner, columns) {
  const C = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    for (let k = 0; k < inner; k++) {
      const a = A[i * inner + k];
      for (let j = 0; j < columns; j++) C[i * columns + j] += a * B[k * columns + j];
    }
  }
  return C;
}

/** Make the columns of a square matrix orthonormal, in place: the Q of QR with R positive. */
export function orthonormalize(A, p) {
  const Q = transposed(A, p, p); // its rows are the columns
  for (let i = 0; i < p; i++) {
    const row = Q.subarray(i * p, i * p + p);
    for (let twice = 0; twice < 2; twice++) { // once is not exact enough
      for (let j = 0; j < i; j++) {
        const other = Q.subarray(j * p, j * p + p);
        let along = 0;
        for (let k = 0; k < p; k++) along += row[k] * other[k];
        for (let k = 0; k < p; k++) row[k] -= along * other[k];
      }
    }
    let square = 0;
    for (let k = 0; k < p; k++) square += row[k] * row[k];
    for (let k = 0; k < p; k++) row[k] /= Math.sqrt(square);
  }
  return transposed(Q, p, p);
}

/** Return the Lanczos matrix that resamples k pixels to n, (n, k). */
function lanczos(n, k, lobes = 5) {
  const sinc = (t) => (t === 0 ? 1 : Math.sin(Math.PI * t) / (Math.PI * t));
  const R = new Float64Array(n * k);
  for (let i = 0; i < n; i++) {
    const position = ((i + 0.5) * k) / n - 0.5;
    const row = R.subarray(i * k, i * k + k);
    for (let j = 0; j < k; j++) {
      const t = position - j;
      row[j] = Math.abs(t) < lobes ? sinc(t) * sinc(t / lobes) : 0;
    }
    const sum = row.reduce((a, b) => a + b);
    for (let j = 0; j < k; j++) row[j] /= sum;
  }
  return R;
}

/** Return the orthonormal basis nearest to the Lanczos matrix, (n, k): Newton–Schulz steps. */
export function levelBasis(n, k) {
  let X = lanczos(n, k);
  const size = Math.sqrt(n / k); // the singular values are about this large
  X = X.map((value) => value / size);
  for (let step = 0; step < 40; step++) {
    const gram = product(transposed(X, n, k), X, k, n, k);
    const half = gram.map((value, i) => (i % (k + 1) === 0 ? 1.5 : 0) - value / 2);
    X = product(X, half, n, k, k);
  }
  return X;
}
