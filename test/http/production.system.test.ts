import { expect, test } from 'bun:test'
import { bundling } from '../../deploy/release/bundling'

// Elysia reads its mode once, when it is imported.
test('the program is in production mode before anything else of it is imported', async () => {
  const text = await Bun.file('src/main.ts').text()
  const imported = [...text.matchAll(/import(?: .* from |\()'(.*)'/g)].map(([, path]) => path)
  // The first tells the version, and knows nothing of HTTP (test/imports.test.ts).
  expect(imported).toEqual(['./cli/version-line', './production', './cli/program'])
  const imports = "await import('./src/production.ts'); console.log(process.env.NODE_ENV)"
  const { NODE_ENV: _, ...env } = process.env
  const started = Bun.spawnSync([process.execPath, '-e', imports], { env })
  expect(started.stdout.toString()).toBe('production\n')
})

test('the executable is built for production', () => {
  expect(bundling.define['process.env.NODE_ENV']).toBe('"production"')
})
