// The page: what is given, the samples, and the workers that draw them.

const MODEL = "model.zip", MAX_WORKERS = 4, EVERY = 10;

const element = (id) => document.getElementById(id);
const [form, status, progress, canvas, stop, save] =
  ["form", "status", "progress", "samples", "stop", "save"].map(element);

const workers = [];
let about = null, drawing = null, number = 0;

start().catch((error) => say(`This page cannot start: ${error.message}`));

async function start() {
  const response = await fetch(MODEL);
  if (!response.ok) throw new Error(`${MODEL} is missing`);
  const buffer = await response.arrayBuffer();
  const count = Math.min(navigator.hardwareConcurrency || 1, MAX_WORKERS);
  [about] = await Promise.all(Array.from({ length: count }, () => loadWorker(buffer)));
  showConditions();
  draw();
  form.addEventListener("submit", (event) => { event.preventDefault(); draw(); });
  form.addEventListener("change", draw);
  stop.addEventListener("click", () => finish("Stopped."));
  save.addEventListener("click", download);
}

/** Start a worker, and return what it says about the model. */
function loadWorker(buffer) {
  return new Promise((resolve, reject) => {
    const worker = new Worker("worker.js", { type: "module" });
    worker.onerror = (event) => reject(new Error(event.message || "a worker cannot start"));
    worker.onmessage = ({ data }) => {
      if (data.loaded) {
        workers.push(worker);
        resolve(data.loaded);
      } else if (data.error) {
        if (!about) reject(new Error(data.error));
        else finish(`Something went wrong: ${data.error}`);
      } else receive(data);
    };
    worker.postMessage({ load: buffer });
  });
}

/** Draw samples: each worker draws some of them. */
function draw() {
  finish("");
  const n = Number(element("n").value), id = ++number, given = conditions();
  const seed = Number(element("seed").value) || 0, each = Math.ceil(n / workers.length);
  drawing = { id, n, started: performance.now(), steps: 0, left: 0, firsts: new Map() };
  layOut(n);
  workers.forEach((worker, i) => {
    const first = i * each, own = Math.min(each, n - first);
    if (own <= 0) return;
    drawing.left += 1;
    const part = `${id}.${i}`;
    drawing.firsts.set(part, first);
    worker.postMessage({ sample: { id: part, n: own, given, seed, first, every: EVERY } });
  });
  drawing.parts = drawing.left;
  stop.disabled = false;
  say(`Drawing ${n} samples…`);
}

/** Show what a worker has drawn so far, or in the end. */
function receive({ step, done }) {
  const part = step || done;
  if (!drawing || !drawing.firsts.has(part.id)) return;
  paint(part.images, drawing.firsts.get(part.id));
  if (step) {
    drawing.steps += EVERY;
    progress.value = drawing.steps / (about.steps * drawing.parts);
  } else if (--drawing.left === 0) {
    const seconds = (performance.now() - drawing.started) / 1000;
    const text = `${drawing.n} samples in ${seconds.toFixed(1)} s, ${Math.round(drawing.n / seconds)} a second.`;
    finish(text);
    element("seed").value = Number(element("seed").value) + 1; // the next ones are others
  }
}

/** End drawing, and say how it ended. */
function finish(text) {
  if (drawing) workers.forEach((worker, i) => worker.postMessage({ stop: `${drawing.id}.${i}` }));
  drawing = null;
  stop.disabled = true;
  progress.value = text ? 1 : 0;
  say(text);
}

function say(text) {
  status.textContent = text;
}

/** Return what is chosen: a class number, numbers, or the painted image. */
function conditions() {
  const data = new FormData(form);
  if (about.mask) return painted();
  if (about.classes) return Number(data.get("given"));
  return Array.from({ length: about.l }, (_, i) => Number(data.get(`given-${i}`)));
}

/** Show a button for each class, or a slider for each number, or a canvas to paint on. */
function showConditions() {
  const box = element("given");
  if (about.classes) {
    about.classes.forEach((name, i) => box.append(choice(String(name), i)));
  } else if (about.mask) {
    box.append(painting());
  } else {
    for (let i = 0; i < about.l; i++) box.append(slider(about.names[i] || `y${i + 1}`, i));
  }
  box.hidden = !box.childElementCount;
  element("legend").textContent = about.mask ? "Paint" : "Given";
}

function choice(name, i) {
  const label = document.createElement("label"), input = document.createElement("input");
  Object.assign(input, { type: "radio", name: "given", value: i, checked: i === 0 });
  label.className = "choice";
  const text = document.createElement("span");
  text.textContent = name;
  label.append(input, text);
  return label;
}

function slider(name, i) {
  const label = document.createElement("label"), input = document.createElement("input");
  const [low, high] = about.ranges[i] ?? [-1, 1], value = document.createElement("span");
  const settings = { type: "range", min: low, max: high, step: (high - low) / 100 || 1 };
  Object.assign(input, settings, { name: `given-${i}`, value: (low + high) / 2 });
  const show = () => { value.textContent = Number(input.value).toPrecision(4); };
  input.addEventListener("input", show);
  show();
  label.append(`${name} `, input, value);
  return label;
}

let paper = null;

/** Return a canvas on which the observed pixels can be painted; the others are to be filled in. */
function painting() {
  const [, height, width] = about.shape, paint = document.createElement("canvas");
  const hint = document.createElement("p");
  hint.textContent = "Paint the bright part; the striped part is filled in. Double-click to clear.";
  Object.assign(paint, { width, height, className: "paper", tabIndex: 0 });
  paint.setAttribute("aria-label", "The observed part of the image");
  paper = new Uint8ClampedArray(about.shape.reduce((a, b) => a * b));
  const put = (event) => {
    if (!event.buttons) return;
    const box = paint.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * width;
    const y = ((event.clientY - box.top) / box.height) * height;
    brush(x, y);
    showPaper(paint);
  };
  paint.addEventListener("pointerdown", put);
  paint.addEventListener("pointermove", put);
  paint.addEventListener("pointerup", draw);
  paint.addEventListener("dblclick", () => { paper.fill(0); showPaper(paint); draw(); });
  showPaper(paint);
  const box = document.createElement("div");
  box.append(paint, hint);
  return box;
}

function brush(x, y) {
  const [channels, height, width] = about.shape;
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const distance = Math.hypot(column + 0.5 - x, row + 0.5 - y);
      const light = 255 * Math.min(1, Math.max(0, 1.8 - distance));
      for (let c = 0; c < channels; c++) {
        const at = (c * height + row) * width + column;
        paper[at] = Math.max(paper[at], light);
      }
    }
  }
}

function painted() {
  return Array.from(paper);
}

function showPaper(paint) {
  const [, height, width] = about.shape, context = paint.getContext("2d");
  const shown = context.createImageData(width, height);
  fill(shown.data, paper, 0, (pixel) => {
    if (about.mask[pixel]) return null;
    return (pixel + Math.floor(pixel / width)) % 3 ? [64, 64, 72] : [90, 90, 100];
  });
  context.putImageData(shown, 0, 0);
}

/** Size the canvas for n samples. */
function layOut(n) {
  const [, height, width] = about.shape, columns = Math.ceil(Math.sqrt(n));
  canvas.width = columns * width;
  canvas.height = Math.ceil(n / columns) * height;
  canvas.style.aspectRatio = `${canvas.width} / ${canvas.height}`;
}

/** Paint images, from the one with this number on. */
function paint(images, first) {
  const [, height, width] = about.shape, size = about.shape.reduce((a, b) => a * b);
  const context = canvas.getContext("2d"), columns = canvas.width / width;
  for (let i = 0; i * size < images.length; i++) {
    const tile = context.createImageData(width, height), place = first + i;
    fill(tile.data, images, i * size, () => null);
    context.putImageData(tile, (place % columns) * width, Math.floor(place / columns) * height);
  }
}

/** Write an image (C, h, w) as red, green, blue and alpha; ``instead`` may give another colour. */
function fill(data, images, from, instead) {
  const [channels, height, width] = about.shape, pixels = height * width;
  for (let pixel = 0; pixel < pixels; pixel++) {
    const other = instead(pixel);
    for (let c = 0; c < 3; c++) {
      const channel = channels < 3 ? 0 : c;
      data[4 * pixel + c] = other ? other[c] : images[from + channel * pixels + pixel];
    }
    data[4 * pixel + 3] = 255;
  }
}

/** Save the samples as a picture. */
function download() {
  const link = document.createElement("a");
  Object.assign(link, { download: "samples.png", href: canvas.toDataURL("image/png") });
  link.click();
}
