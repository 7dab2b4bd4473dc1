import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, copyFileSync, readFileSync } from 'node:fs'
import { signToken } from '../../src/auth/token'
import { openService, type Service } from '../../src/service'
import { booking } from '../support/builders'
import { Folder } from '../support/folder'

// What version 1.0.0 answered from the database of the first release, at one instant: look-ups, regions and searches,
// under every key that it ever had; and all requests as its staff saw them.
const fixtures = new URL('../../fixtures', import.meta.url).pathname
const known: Known = JSON.parse(readFileSync(`${fixtures}/first-release-answers.json`, 'utf8'))

interface Known {
  readonly now: number
  readonly answers: readonly { key: number; path: string; status: number; body: unknown }[]
  readonly requests: readonly unknown[]
  readonly partners: readonly object[]
}

const folder = new Folder()
let service: Service

beforeAll(async () => {
  const database = folder.file('a.sqlite')
  copyFileSync(`${fixtures}/first-release.sqlite`, database)
  copyFileSync(`${fixtures}/first-release.sqlite.key`, `${database}.key`)
  chmodSync(`${database}.key`, 0o600)
  service = await openService({
    purpose: 'production',
    database,
    masterKey: { file: `${database}.key` },
    create: false,
    upgrade: true,
    clock: { now: () => known.now },
    report: () => {},
  })
})

afterAll(async () => {
  await service.close()
  folder[Symbol.dispose]()
})

test('a database that was upgraded answers every partner as it did before', async () => {
  const server = await service.listen('localhost', 0, 'https://api.example')
  const keys = service.context.directory.listKeys().sort((a, b) => a.issuedAt - b.issuedAt)
  const tokens = await Promise.all(keys.map(signToken))
  const answers = await Promise.all(
    known.answers.map(async ({ key, path }) => {
      const headers = { Authorization: `Bearer ${tokens[key]}` }
      const response = await fetch(`http://localhost:${server.port}${path}`, { headers })
      return { key, path, status: response.status, body: await response.json() }
    }),
  )
  await server.stop()
  expect(new Set(known.answers.map(({ status }) => status))).toEqual(new Set([200, 401, 403, 404]))
  expect(answers).toEqual([...known.answers])
})

test('and shows its staff the same requests and partners', async () => {
  const { store } = service.context
  expect(await store.listRequests({})).toEqual(known.requests as never)
  expect(await store.listPartners()).toMatchObject(known.partners as never)
})

test('and answers retries from then on', async () => {
  const server = await service.listen('localhost', 0)
  const { key: mine = 0 } = known.answers.find(({ status }) => status === 200) ?? {}
  const key = service.context.directory.listKeys().sort((a, b) => a.issuedAt - b.issuedAt)[mine]
  const token = await signToken(key as NonNullable<typeof key>)
  const send = async () => {
    const response = await fetch(`${server.baseUrl}/partners/v1/booking-request/`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Bearer ${token}`,
        'Idempotency-Key': 'after the upgrade',
      },
      body: JSON.stringify(booking('upgraded')),
    })
    return [response.status, response.headers.get('idempotency-replayed'), await response.text()]
  }
  const [status, replayed, text] = await send()
  expect([status, replayed]).toEqual([201, null])
  expect(await send()).toEqual([201, 'true', text as string])
  await server.stop()
})
