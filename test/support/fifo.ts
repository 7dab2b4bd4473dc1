import { dlopen } from 'bun:ffi'

const c = dlopen(process.platform === 'darwin' ? 'libSystem.dylib' : 'libc.so.6', {
  mkfifo: { args: ['cstring', 'u32'], returns: 'i32' },
})

export function makeFifo(path: string): void {
  if (c.symbols.mkfifo(Buffer.from(`${path}\0`), 0o600) !== 0) throw new Error(`cannot make ${path}`)
}
