// Quantities as the terminal shows them: three digits, units scaled.

function three(v: number): string {
  if (v === 0) return '0';
  return Number(v.toPrecision(3)).toString();
}

function scaled(v: number, units: [number, string][], small: string): string {
  const size = Math.abs(v);
  for (const [factor, unit] of units) if (Number((size / factor).toPrecision(3)) >= 1) return `${three(v / factor)} ${unit}`;
  const [factor, unit] = units[units.length - 1]!;
  return v === 0 ? `0 ${small}` : `${three(v / factor)} ${unit}`;
}

export function seconds(s: number): string {
  return scaled(s, [[3600, 'h'], [1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns'], [1e-12, 'ps']], 's');
}
export function bytes(b: number): string {
  return scaled(b, [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']], 'B');
}
export function count(n: number): string {
  return n.toLocaleString('en');
}
// As the text has them: without exponents at either end.
export function percent(ratio: number): string {
  const p = ratio * 100;
  const size = Math.abs(p);
  if (p !== 0 && size < 0.9995e-4) return p > 0 ? '<0.0001 %' : '>-0.0001 %';
  if (size >= 999.5 && Number.isFinite(p)) return `${count(Math.round(p))} %`;
  return `${three(p)} %`;
}
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
