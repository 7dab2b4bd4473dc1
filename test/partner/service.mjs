// A client of the API, written from its documentation. Staff act by the control routes of a sandbox, or else by commands.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const { ANTEROOM_BASE_URL, ANTEROOM_CONTROL_TOKEN, PARTNER_CARD, PARTNER_COMMAND } = process.env
const [program, ...words] = JSON.parse(PARTNER_COMMAND)

async function send(url, { method = 'GET', token, body, headers }) {
  const authorization = token && { Authorization: `Bearer ${token}` }
  const response = await fetch(url, {
    method,
    headers: { ...authorization, 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  if (text !== '') assert.equal(response.headers.get('Content-Type'), 'application/json')
  return { status: response.status, headers: response.headers, text, body: text && JSON.parse(text) }
}

const controlOf = (baseUrl, controlToken) => (method, path, body, token) =>
  send(`${baseUrl}/sandbox/v1/${path}`, { method, body, token: token ?? controlToken })
export const control = ANTEROOM_CONTROL_TOKEN && controlOf(ANTEROOM_BASE_URL, ANTEROOM_CONTROL_TOKEN)
export const card = control ? (await control('GET', '')).body : JSON.parse(PARTNER_CARD)
export const [first, second] = card.partners.filter(({ state }) => state === 'active')
const forwarded = control ? {} : { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '203.0.113.7' }

/** Calls the API. The path may be a full URL from a response, or begin with a slash. */
export function api(method, path, { baseUrl = ANTEROOM_BASE_URL, token = first.token, headers, body } = {}) {
  const local = path.startsWith('/') ? path : `/partners/v1/${path}`
  const url = baseUrl + (path.startsWith(card.baseUrl) ? path.slice(card.baseUrl.length) : local)
  return send(url, { method, token, headers: { ...forwarded, ...headers }, body })
}
export const read = (id, options) => api('GET', `booking-request/${id}/`, options)
export const cancel = (id, options) => api('POST', `booking-request/${id}/cancel/`, options)
export const reschedule = (id, body, options) =>
  api('POST', `booking-request/${id}/reschedule/`, { body, ...options })

/** Posts to a control route, and checks that it succeeds. */
export async function post(path, body) {
  const response = await control('POST', path, body)
  assert.equal(response.status, 200, response.text)
  return response.body
}
const command = (...more) => promisify(execFile)(program, [...words, ...more])
const onRequest = (action) => (id, slot) => {
  if (control) return post(`requests/${id}/${action}`, slot)
  const { providerId, utcStartTime } = slot ?? {}
  const provider = providerId ? ['--provider', `${providerId}`] : []
  const start = utcStartTime ? ['--slot', utcStartTime] : []
  return command('request', action, `${id}`, ...provider, ...start, '--yes')
}
const onMember = (action, yes) => (externalId) =>
  control
    ? post(`partners/${encodeURIComponent(first.name)}/members/${externalId}/${action}`)
    : command('member', action, '--partner', first.name, '--external-id', externalId, ...yes)
const actions = ['accept', 'decline', 'close', 'cancel', 'assign', 'move']
export const staff = {
  ...Object.fromEntries(actions.map((action) => [action, onRequest(action)])),
  deactivateMember: onMember('deactivate', ['--yes']),
  reactivateMember: onMember('reactivate', []),
  eraseMember: onMember('erase', ['--yes']),
}

/** Starts another sandbox, which stops when stdin is closed. */
export async function startSandbox(...options) {
  const sandbox = ['sandbox', '--port', '0', '--json', '--until-stdin-closes', ...options]
  const child = spawn(program, [...words, ...sandbox], { stdio: ['pipe', 'pipe', 'ignore'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const started = JSON.parse(line)
  const stop = () => {
    child.stdin.end()
    return once(child, 'exit')
  }
  const at = { baseUrl: started.baseUrl, token: started.partners[0].token }
  return { card: started, at, control: controlOf(started.baseUrl, started.controlToken), stop }
}

export const later = (text, minutes) =>
  new Date(Date.parse(text) + minutes * 60_000).toISOString().replace('.000Z', 'Z')
export const slotAt = (utcStartTime, selfSchedulingProviderId = 1, length = 45) => ({
  selfSchedulingProviderId,
  utcStartTime,
  utcEndTime: later(utcStartTime, length),
})
const midnight = `${later(card.now, 2880).slice(0, 10)}T00:00:00Z`
let [slots, members] = [0, 0]
/** A slot that no other test uses: all providers work around the clock in UTC. */
export const newSlot = (providerId = 1) => slotAt(later(midnight, 45 * slots++), providerId)
export const newMember = () => `m-${++members}`
const robin = { firstName: 'Robin', lastName: 'Sample', country: 'CA' }
export const intakeOf = (externalId, more = {}) => ({
  user: { external_user_id: externalId },
  memberData: { email: `${externalId}@example.com`, ...robin, ...more },
  phq9Data: [],
})
export async function submit(body, options) {
  const response = await api('POST', 'booking-request/', { body, ...options })
  assert.equal(response.status, 201, response.text)
  return response.body
}
export const book = (bookingData = newSlot(), externalId = newMember()) =>
  submit({ ...intakeOf(externalId), bookingData })

/** The whole list of changes, and the cursor after it. */
export async function allChanges(options) {
  const found = []
  for (let path = 'booking-request-changes/'; ; ) {
    const { body } = await api('GET', path, options)
    if (body.results.length === 0) return { found, next: body.next }
    found.push(...body.results)
    path = body.next
  }
}

/** The document of the API, and its example of each error. */
export const document = (await api('GET', '/openapi.json')).body
const operations = Object.values(document.paths).flatMap(Object.values)
const documented = [...operations, document.components].flatMap(({ responses }) => Object.values(responses))
const examples = documented.flatMap(({ content }) =>
  Object.entries(content?.['application/json'].examples ?? {}),
)
const errors = new Map(examples.map(([code, { value }]) => [code, value]))
export function isError(
  response,
  code,
  message = errors.get(code).message,
  status = errors.get(code).status ?? 401,
) {
  const body = status === 401 ? { code, message } : { message, status }
  const seen = [response.headers.get('X-Error-Code'), response.status, response.body]
  assert.deepEqual(seen, [code, status, body])
}

async function changesNothing(id, call) {
  const [before, { next }] = [await read(id), await allChanges()]
  const response = await call()
  const after = await read(id)
  assert.deepEqual([after.text, after.headers.get('ETag')], [before.text, before.headers.get('ETag')])
  assert.deepEqual((await api('GET', next)).body, { results: [], next })
  return [response, before]
}
/** Checks that a call is refused, and that it changes neither the request nor the list of changes. */
export const refuses = async (id, call, code, message) =>
  isError((await changesNothing(id, call))[0], code, message)
/** Checks that a call does nothing, because the request is already in the wanted state. */
export async function keeps(id, call) {
  const [{ status, text, headers }, before] = await changesNothing(id, call)
  const tags = [headers.get('ETag'), headers.get('Idempotency-Replayed')]
  assert.deepEqual([status, text, ...tags], [200, before.text, before.headers.get('ETag'), null])
}

/** Checks a response with a request. The named times are the sandbox's time, or about now. Returns the ETag. */
export function isRequest({ status, headers, body, text }, expected, ...stamps) {
  assert.equal(status, 200, text)
  assert.deepEqual(body, { ...expected, ...Object.fromEntries(stamps.map((stamp) => [stamp, body[stamp]])) })
  for (const time of stamps.map((stamp) => body[stamp])) {
    assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    const now = Date.parse(headers.get('X-Sandbox-Now') ?? new Date())
    assert.ok(Math.abs(Date.parse(time) - now) <= (control ? 0 : 60_000), time)
  }
  assert.equal(headers.get('Cache-Control'), 'no-store')
  assert.match(headers.get('ETag'), /^"[^"]+"$/)
  return headers.get('ETag')
}

/** Whether a search offers this slot. */
export async function isOffered({ selfSchedulingProviderId, utcStartTime }) {
  const { results } = (await api('GET', 'providers/?region_id=1')).body
  const provider = results.find(({ providerId }) => providerId === selfSchedulingProviderId)
  return provider.availability.some((slot) => slot.utcStartTime === utcStartTime)
}

/** The rows of a table, one on each line, with a bar between cells. */
export const table = (text) =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
