import { fileURLToPath } from 'node:url'

/** The repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * `debug`, far below Elysia, takes supports-color where it is there, as it is for tools of development: the executable
 * would hold what it does not depend on, or look for it where it is started.
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
 * How the program is bundled, compiled or not. Names stay as they are: shortening them has open faults in Elysia and saves
 * next to nothing. Without NODE_ENV, Elysia starts in its development mode, which a request can make work for seconds.
 * In place of __dirname, where pino looks for workers that are not used, the bundler would write the folder of the build.
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
