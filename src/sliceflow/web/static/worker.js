// Samples in the background, so that the page stays responsive.
// In: {load: buffer}, {sample: {id, n, given, seed, first, every}}, {stop: id}.
// Out: {loaded}, {step: {id, done, images}}, {done: {id, images}}, {error}.

import { Model } from "./flow.js";

const PAUSE_MS = 30;
let model = null, current = null;

self.onmessage = async ({ data }) => {
  try {
    if (data.load) load(data.load);
    if (data.sample) await sample(data.sample);
    if ("stop" in data && current === data.stop) current = null;
  } catch (error) {
    self.postMessage({ error: error.message });
  }
};

function load(buffer) {
  model = new Model(buffer);
  const { shape, classes, names, ranges, mask, steps, l } = model;
  self.postMessage({ loaded: { shape, classes, names, ranges, mask, steps, l } });
}

async function sample({ id, n, given, seed, first, every }) {
  current = id;
  let step = 0, last = null, paused = performance.now();
  for (const particles of model.sample(n, given, BigInt(seed), first)) {
    last = particles;
    if (++step % every === 0) self.postMessage({ step: { id, done: step, images: particles.images() } });
    if (performance.now() - paused > PAUSE_MS) { // let a message to stop come in
      await new Promise((resolve) => setTimeout(resolve));
      paused = performance.now();
      if (current !== id) return;
    }
  }
  self.postMessage({ done: { id, images: last.images() } });
}
