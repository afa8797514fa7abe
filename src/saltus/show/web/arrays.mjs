// Arrays of numbers as a record holds them, and where a value stands in a sorted one.

const KINDS = { f32: Float32Array, f64: Float64Array, u8: Uint8Array };

/** Numbers from a plain list (null is a gap) or from base64 of their little-endian bytes. */
export function decode(array) {
  if (Array.isArray(array)) {
    return Float64Array.from(array, (value) => (typeof value === "number" ? value : NaN));
  }
  const kind = Object.keys(KINDS).find((name) => typeof array?.[name] === "string");
  if (!kind) {
    throw new Error(`an array must be a list or one of ${Object.keys(KINDS).join(", ")} in base64`);
  }
  const bytes = bytesOf(array[kind]);
  if (bytes.length % KINDS[kind].BYTES_PER_ELEMENT) {
    throw new Error(`an array of ${kind} has ${bytes.length} bytes, which is no whole number of values`);
  }
  return new KINDS[kind](bytes.buffer);
}

function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k += 1) {
    bytes[k] = letters.charCodeAt(k);
  }
  return bytes;
}

/** How many of the sorted values are at most the given one. */
export function bisect(values, value) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** The values of several arrays in order, each once. */
export function distinct(arrays) {
  const all = Float64Array.from(arrays.flatMap((array) => Array.from(array))).sort();
  return all.filter((value, k) => Number.isFinite(value) && (k === 0 || value !== all[k - 1]));
}

/** The least and the greatest finite value of several arrays, or null where there is none. */
export function spread(arrays) {
  let low = Infinity;
  let high = -Infinity;
  for (const array of arrays) {
    for (const value of array) {
      if (Number.isFinite(value)) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
  }
  return low <= high ? [low, high] : null;
}
