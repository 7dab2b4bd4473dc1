import { expect, test } from 'bun:test'
import { bundling } from '../../deploy/release/bundling'

// Elysia reads NODE_ENV once, when it is imported.
test('http: the program sets production mode before it imports Elysia', async () => {
  const text = await Bun.file('src/main.ts').text()
  const imported = [...text.matchAll(/import(?: .* from |\()'(.*)'/g)].map(([, path]) => path)
  // version-line does not import HTTP code; test/imports.test.ts checks that.
  expect(imported).toEqual(['./cli/version-line', './production', './cli/program'])
  const imports = "await import('./src/production.ts'); console.log(process.env.NODE_ENV)"
  const { NODE_ENV: _, ...env } = process.env
  const started = Bun.spawnSync([process.execPath, '-e', imports], { env })
  expect(started.stdout.toString()).toBe('production\n')
})

test('http: the executable is built for production', () => {
  expect(bundling.define['process.env.NODE_ENV']).toBe('"production"')
})
