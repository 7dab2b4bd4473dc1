/** A library that Bun links. */
export interface RuntimePart {
  readonly name: string
  /** Version of the library, or commit of Bun's fork; null if Bun does not report the version. */
  readonly version: string | null
  /** An SPDX license id; null if no single id describes the license. */
  readonly license: string | null
}

/** Linked libraries by key in `process.versions`. The licenses are from Bun's license page. */
const versioned = {
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

/** Linked libraries on Bun's license page. Bun does not report their versions. */
const unversioned = {
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

/** Returns the libraries of the running Bun. They are the same on all platforms. */
export function runtimeParts(): RuntimePart[] {
  const versions: Readonly<Record<string, string | undefined>> = process.versions
  return [
    ...Object.entries(versioned).map(([key, [name, license]]) => ({
      name,
      version: versions[key] ?? null,
      license,
    })),
    ...Object.entries(unversioned).map(([name, license]) => ({ name, version: null, license })),
  ]
}
