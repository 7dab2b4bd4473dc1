import { fileURLToPath } from 'node:url'

/** Path of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * `debug`, an indirect dependency of Elysia, uses supports-color if it is installed. Only development tools install it.
 * Without this plugin, supports-color would be bundled, or searched for in the working directory.
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
 * Bundler options, for the executable and for tests. Identifiers are not minified: Elysia has open bugs with that, and it
 * saves little. Without NODE_ENV, Elysia runs in development mode, in which one request can take seconds of CPU time.
 * __dirname and __filename are empty, because the bundler would insert the folder of the build. pino uses them only to
 * find workers, which are not used here.
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
