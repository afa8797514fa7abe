// Numbers as words: values with few digits, round steps, and the ticks of an axis.

const MINUS = "\u2212";

/** A value with some significant digits; a gap is a dash. */
export function format(value, digits = 4) {
  if (!Number.isFinite(value)) {
    return "\u2013";
  }
  const size = Math.abs(value);
  const text = size !== 0 && (size >= 1e6 || size < 1e-4)
    ? value.toExponential(digits - 1)
    : String(Number(value.toPrecision(digits)));
  return text.replaceAll("-", MINUS);
}

/** A value with a fixed number of decimals, so that it keeps its width. */
export function fixed(value, decimals) {
  return Number.isFinite(value) ? value.toFixed(decimals).replace("-", MINUS) : "\u2013";
}

/** The greatest of 1, 2 and 5 times a power of ten that is not above a size. */
export function roundBelow(size) {
  const power = 10 ** Math.floor(Math.log10(size) + 1e-9);
  const lead = [5, 2, 1].find((digit) => digit * power <= size * (1 + 1e-9)) ?? 1;
  return Number((lead * power).toPrecision(1));
}

/** Round values of an axis from low to high, about so many, with their words. */
export function ticks(low, high, count) {
  if (!(high > low)) {
    return [];
  }
  let step = roundBelow((high - low) / Math.max(1, count));
  while ((high - low) / step > count * 1.5 + 1) {
    step = roundBelow(step * 2.6);
  }
  return multiples(low, high, step).map((value) => ({ value, text: tickText(value, step, Math.max(-low, high)) }));
}

function multiples(low, high, step) {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, k) => (first + k) * step);
}

function tickText(value, step, size) {
  if (Math.abs(value) < step * 1e-6) {
    return "0";
  }
  if (size >= 1e5 || step < 1e-5) {
    return format(value, Math.max(2, Math.ceil(Math.log10(Math.abs(value) / step) + 1e-9) + 1));
  }
  return fixed(value, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}
