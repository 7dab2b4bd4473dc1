/** A library that Bun links. */
export interface RuntimePart {
  readonly name: string
  /** Its release, or the commit of the fork that Bun builds; null where Bun does not tell. */
  readonly version: string | null
  /** An SPDX expression; null where it is no single one of the list. */
  readonly license: string | null
}

/** By their names in `process.versions`: what Bun tells of what it links, under the licenses that its own page names. */
const told = {
  webkit: ['WebKit JavaScriptCore', 'LGPL-2.0-or-later'],
  boringssl: ['BoringSSL', null],
  sqlite: ['SQLite', 'blessing'],
  icu: ['ICU', 'Unicode-3.0'],
  libarchive: ['libarchive', null],
  mimalloc: ['mimalloc', 'MIT'],
  picohttpparser: ['picohttpparser', 'MIT'],
  uwebsockets: ['uWebSockets', 'Apache-2.0'],
  usockets: ['uSockets', 'Apache-2.0'],
  lolhtml: ['lol-html', 'BSD-3-Clause'],
  ares: ['c-ares', 'MIT'],
  libdeflate: ['libdeflate', 'MIT'],
  lshpack: ['ls-hpack', 'MIT'],
  llhttp: ['llhttp', 'MIT'],
  tinycc: ['TinyCC', 'LGPL-2.1-only'],
  zlib: ['zlib-ng', 'Zlib'],
  zstd: ['Zstandard', 'BSD-3-Clause'],
} as const

/** Linked according to Bun's page of licenses, in versions that it does not tell. */
const untold = {
  brotli: 'MIT',
  lsquic: 'MIT',
  'ls-qpack': 'MIT',
  simdutf: 'Apache-2.0',
  base64: 'BSD-2-Clause',
  'libjpeg-turbo': null,
  libspng: 'BSD-2-Clause',
  libwebp: 'BSD-3-Clause',
  highway: 'Apache-2.0',
  HdrHistogram_c: 'BSD-2-Clause',
} as const

/** What the Bun that runs this is made of, as far as it tells: Bun of one version is made of the same on each platform. */
export function runtimeParts(): RuntimePart[] {
  const versions: Readonly<Record<string, string | undefined>> = process.versions
  return [
    ...Object.entries(told).map(([key, [name, license]]) => ({
      name,
      version: versions[key] ?? null,
      license,
    })),
    ...Object.entries(untold).map(([name, license]) => ({ name, version: null, license })),
  ]
}
