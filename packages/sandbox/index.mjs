import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { environment, fault, findExecutable, startFault } from './executable.mjs'

// A test may replace the global one later.
const { fetch } = globalThis

const limitNames = [
  'readsPerMinute',
  'bookingsPerMinute',
  'intakesPerHour',
  'failedAuthenticationsPerMinute',
  'openRequests',
  'openIntakes',
  'emailConflictsPerHour',
]

/** Starts a sandbox on a free port. index.d.ts describes the options and the result. */
export async function startSandbox(options) {
  const { now, seed, frozen, directory, limits, ...unknown } = options ?? {}
  const [surplus] = Object.keys(unknown)
  if (surplus !== undefined) throw new TypeError(`startSandbox has no option ${surplus}`)
  const unlimited = Object.keys(limits ?? {}).find((name) => !limitNames.includes(name))
  if (unlimited !== undefined) throw new TypeError(`startSandbox has no limit ${unlimited}`)
  const executable = findExecutable()
  const folder = typeof directory === 'object' ? await mkdtemp(join(tmpdir(), 'anteroom-')) : undefined
  try {
    const file = folder === undefined ? directory : join(folder, 'directory.json')
    if (folder !== undefined) await writeFile(file, JSON.stringify(directory))
    const given = { now, seed, directory: file, ...limits }
    const words = Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}=${value}`],
    )
    return handleOf(...(await start(executable, frozen ? [...words, '--frozen'] : words)))
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true })
  }
}

/** Returns the child process and the line of JSON that it prints when it is ready. */
async function start(executable, options) {
  const words = ['sandbox', '--json', '--port=0', '--until-stdin-closes', ...options]
  const child = spawn(executable, words, { stdio: ['pipe', 'pipe', 'pipe'], env: environment() })
  let isReady = false
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    if (isReady) process.stderr.write(text)
    else errors += text
  })
  const line = once(createInterface({ input: child.stdout }), 'line')
  const closed = once(child, 'close').catch((error) => Promise.reject(startFault(error)))
  const [first] = await Promise.race([line, closed])
  if (typeof first !== 'string') throw fault(errors.trim().replace(/^(anteroom: |error: )+/, ''))
  isReady = true
  // Does not keep the test runner waiting. When the runner ends, stdin closes and the sandbox stops.
  for (const each of [child, child.stdin, child.stdout, child.stderr]) each.unref?.()
  return [child, JSON.parse(first)]
}

function handleOf(child, card) {
  const { baseUrl, docsUrl, openapiUrl, controlUrl, controlToken, partners: list } = card
  const { name: ownPartner, token } = list.find(({ state }) => state === 'active') ?? {}
  let { examples } = card

  async function call(method, path, body) {
    const response = await fetch(controlUrl + path, {
      method,
      headers: { authorization: `Bearer ${controlToken}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const result = await response.json()
    if (response.ok) return result
    const code = response.headers.get('x-error-code')
    throw Object.assign(new Error(result.message), { status: response.status, code })
  }
  const post = (path, body = {}) => call('POST', path, body)
  async function setClock(change) {
    const result = await post('clock', change)
    examples = (await call('GET', '')).examples
    return result
  }
  const ofRequest = (action) => (id, options) => post(`requests/${id}/${action}`, options)
  const pathOf = (partner) => `partners/${encodeURIComponent(partner)}`
  const ofPartner = (action) => (partner, options) => post(`${pathOf(partner)}/${action}`, options)
  const ofMember =
    (action) =>
    (externalUserId, { partner = ownPartner } = {}) =>
      post(`${pathOf(partner)}/members/${encodeURIComponent(externalUserId)}/${action}`)

  const exited = once(child, 'exit')
  // It may have ended before stop(), for example because it was killed.
  child.stdin.on('error', () => {})
  async function stop() {
    child.ref()
    child.stdin.end()
    await exited
  }
  return {
    ...{ baseUrl, docsUrl, openapiUrl, controlUrl, controlToken, token },
    get examples() {
      return examples
    },
    partners: Object.assign([...list], {
      deactivate: ofPartner('deactivate'),
      reactivate: ofPartner('reactivate'),
      rotate: ofPartner('rotate'),
    }),
    clock: {
      advance: (duration) => setClock({ advance: duration }),
      to: (instant) => setClock({ to: instant }),
      freeze: () => setClock({ frozen: true }),
      unfreeze: () => setClock({ frozen: false }),
    },
    async reset(options) {
      ;({ examples } = await post('reset', options))
    },
    outcomes: {
      add: (outcome) => post('outcomes', outcome).then(({ outcomes }) => outcomes),
      clear: async () => void (await call('DELETE', 'outcomes')),
    },
    requests: {
      accept: ofRequest('accept'),
      decline: ofRequest('decline'),
      assign: ofRequest('assign'),
      move: ofRequest('move'),
      close: ofRequest('close'),
      cancel: ofRequest('cancel'),
    },
    members: {
      deactivate: ofMember('deactivate'),
      reactivate: ofMember('reactivate'),
      erase: ofMember('erase'),
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
