// Columns of numbers as report/html/packed.hpp writes them: base64 of deflated little-endian values.

export interface Packed {
  type: 'u8' | 'u16' | 'u32' | 'i32' | 'f32' | 'f64';
  data: string;
}
export type Column = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | Float64Array;

const kTypes = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f32: Float32Array, f64: Float64Array };

export async function unpack(packed: Packed): Promise<Column> {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  const opened = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate')));
  return new kTypes[packed.type](await opened.arrayBuffer());
}

// All columns of an object of them.
export async function unpackAll<K extends string>(columns: Record<K, Packed>): Promise<Record<K, Column>> {
  const names = Object.keys(columns) as K[];
  const opened = await Promise.all(names.map((n) => unpack(columns[n])));
  return Object.fromEntries(names.map((n, i) => [n, opened[i]])) as Record<K, Column>;
}

export function largest(column: Column): number {
  let most = 0;
  for (let i = 0; i < column.length; ++i) most = Math.max(most, column[i]!);
  return most;
}
