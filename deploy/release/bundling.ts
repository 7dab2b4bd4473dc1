import { fileURLToPath } from 'node:url'

/** The repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * How the program is bundled, compiled or not. Names stay as they are: shortening them has open faults in Elysia and saves
 * next to nothing. Without NODE_ENV, Elysia starts in its development mode, which a request can make work for seconds.
 */
export const bundling = {
  root,
  target: 'bun',
  format: 'esm',
  splitting: true,
  minify: { whitespace: true, syntax: true, identifiers: false },
  define: { 'process.env.NODE_ENV': '"production"' },
} as const
