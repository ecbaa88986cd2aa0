// Quantities as the terminal shows them: the rules are those of core/quantity_text.cpp, and tests/core/data/quantities.txt holds both to
// them.

// As C's "%.3g": halfway the even digit, an exponent from 1000 on and below 0.0001.
export function three(v: number): string {
  const tie = /^(-?\d\.\d[02468])50*(e.*)/.exec(v.toExponential(40));
  const rounded = tie ? `${tie[1]}${tie[2]}` : v.toExponential(2);
  const [digits, power] = rounded.split('e').map(Number) as [number, number];
  if (power >= -4 && power < 3) return String(Number(rounded));
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
// Of what has been brought to a unit: at least 999.5 of the one before may be a little below 1 of this one.
function threeDigits(v: number, firstUnit: boolean): string {
  return three(!firstUnit && Math.abs(v) < 1 ? Math.sign(v) : v);
}
// To the nearest whole number, halfway the even one.
function whole(v: number): number {
  const up = Math.round(v);
  return Math.abs(v % 1) === 0.5 && up % 2 !== 0 ? up - 1 : up;
}

const kPrefixes = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
function scaled(v: number, unit: string): string {
  let i = 0;
  for (; Math.abs(v) >= 999.5 && i + 1 < kPrefixes.length; ++i) v /= 1000;
  return `${threeDigits(v, i === 0)} ${kPrefixes[i]}${unit}`;
}

const kTimes: [number, string][] = [[1e12, 'ps'], [1e9, 'ns'], [1e6, 'us'], [1e3, 'ms'], [1, 's']]; // per second
export function seconds(s: number): string {
  if (s === 0) return '0 s';
  for (const [i, [perSecond, unit]] of kTimes.entries()) if (Math.abs(s * perSecond) < 999.5) return `${threeDigits(s * perSecond, i === 0)} ${unit}`;
  return `${whole(s)} s`;
}
export function bytes(b: number): string {
  return scaled(b, 'B');
}
export function byteRate(perSecond: number): string {
  return scaled(perSecond, 'B/s');
}
export function flopRate(flops: number): string {
  return scaled(flops, 'flop/s');
}
// 1,425,277 below 10^7, else "14.3 M".
export function count(n: number): string {
  return Math.abs(n) >= 1e7 ? scaled(n, '').trimEnd() : whole(n).toLocaleString('en');
}
export function percent(ratio: number): string {
  const p = ratio * 100;
  const size = Math.abs(p);
  if (p === 0) return '0 %';
  if (size < 0.9995e-4) return p > 0 ? '<0.0001 %' : '>-0.0001 %';
  if (size >= 999.5 && Number.isFinite(p)) return `${count(p)} %`;
  return `${three(p)} %`;
}
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
