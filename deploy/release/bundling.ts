import { fileURLToPath } from 'node:url'

/** Path of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Elysia depends on `debug`, which uses supports-color if it is installed. Only development tools install
 * supports-color. Without this plugin, it would be bundled, or searched for in the working directory.
 */
const withoutSupportsColor: Bun.BunPlugin = {
  name: 'without supports-color',
  setup(bundler) {
    const namespace = 'empty'
    bundler.onResolve({ filter: /^supports-color$/ }, ({ path }) => ({ path, namespace }))
    bundler.onLoad({ filter: /./, namespace }, () => ({ contents: 'module.exports = {}', loader: 'js' }))
  },
}

/**
 * Bundler options for the executable and for tests.
 * - identifiers: not minified. Elysia has open bugs with minified identifiers, and little would be saved.
 * - NODE_ENV: otherwise Elysia runs in development mode, in which a request can take seconds of CPU time.
 * - __dirname and __filename: otherwise the bundler inserts the folder of the build. pino needs both only for workers,
 *   which are not used.
 */
export const bundling = {
  root,
  target: 'bun',
  format: 'esm',
  splitting: true,
  minify: { whitespace: true, syntax: true, identifiers: false },
  define: { 'process.env.NODE_ENV': '"production"', __dirname: '""', __filename: '""' },
  plugins: [withoutSupportsColor],
} satisfies Partial<Bun.BuildConfig>
