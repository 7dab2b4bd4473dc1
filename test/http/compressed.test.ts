import { describe, expect, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'
import { prefersGzip, toDocument } from '../../src/http/representation'

describe('http: Accept-Encoding', () => {
  test.each([
    ['gzip', true],
    ['gzip, deflate, br, zstd', true],
    ['deflate, GZIP;q=0.5', true],
    ['x-gzip', true],
    ['*', true],
    ['br;q=1.0, *;q=0.1', true],
    ['gzip;q=0.001', true],
    ['gzip;q=1.000 , identity;q=0.5', true],
    ['identity;q=0, *', true],
    ['gzip; q=0.8, identity; q=0.8', true],
    [null, false],
    ['', false],
    ['br', false],
    ['identity', false],
    ['gzip;q=0', false],
    ['gzip;q=0.000', false],
    ['gzip;q=0, *', false],
    ['*;q=0', false],
    ['gzip;q=0.4, identity;q=0.5', false],
    ['gzip;q=2', false],
    ['gzip;q=x', false],
    ['gzip;q=', false],
    ['gzipped', false],
  ])('%p selects gzip: %p', (header, is) => {
    expect(prefersGzip(header)).toBe(is)
  })
})

describe('http: a static document', () => {
  test('is compressed once for many concurrent requests', async () => {
    let read = 0
    const blob = new Blob(['a text '.repeat(10_000)])
    const counted = new Proxy(blob, {
      get(target, name) {
        if (name === 'bytes') read++
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const { compressed } = toDocument(counted, 'text/plain', 'no-cache')
    const made = await Promise.all(Array.from({ length: 20 }, () => compressed?.()))
    expect(read).toBe(1)
    expect(new Set(made).size).toBe(1)
    expect(made[0]?.length).toBeLessThan(1_000)
    expect(gunzipSync(made[0] as Uint8Array).toString()).toBe(await blob.text())
  })

  test('that is an image is not compressed', () => {
    expect(toDocument(new Blob(['']), 'image/png', 'no-cache').compressed).toBeNull()
  })
})
