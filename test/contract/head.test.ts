import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { booking, provider, region } from '../support/builders'
import { startService } from '../support/service'
import { expectRefusal, paths, sendRaw } from './contract'

let service: Awaited<ReturnType<typeof startService>>
beforeAll(async () => {
  service = await startService({ directory: { regions: [region({ id: 9 })], providers: [provider('p-1')] } })
  await service.post(paths.booking, booking('headed'))
})
afterAll(() => service.stop())

/** Sends one request over a new connection and returns all bytes of the response. */
function exchange(method: string, target: string): Promise<string> {
  const { hostname, port } = new URL(service.baseUrl)
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.on('close', () => resolve(received))
    socket.on('error', reject)
    const head = [`${method} ${target} HTTP/1.1`, 'Host: localhost', 'Connection: close']
    socket.write(`${[...head, `Authorization: Bearer ${service.partner.token}`].join('\r\n')}\r\n\r\n`)
  })
}

function headOf(answer: string): string[] {
  const [statusLine = '', ...lines] = answer.slice(0, answer.indexOf('\r\n\r\n')).split('\r\n')
  const folded = lines.map((line) => line.replace(/^[^:]*/, (name) => name.toLowerCase()))
  // The date and the request id differ for each response.
  return [statusLine, ...folded.filter((line) => !/^(date|x-request-id):/.test(line)).sort()]
}

test.each([
  `${paths.regions}?country_code=CA`,
  `${paths.regions}?country_code=CA&page_size=1`,
  `${paths.regions}`,
  `${paths.providers}?region_id=9`,
  `${paths.providers}?region_id=9&page=2`,
  `${paths.user}?external_user_id=headed`,
  `${paths.user}?external_user_id=nobody`,
  `${paths.user.slice(0, -1)}?external_user_id=headed`,
])('contract: HEAD %s has the status and headers of GET and no body', async (target) => {
  const [head, get] = await Promise.all([exchange('HEAD', target), exchange('GET', target)])
  expect(headOf(head)).toEqual(headOf(get))
  expect(head).toMatch(/\r\ndate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/i)
  expect(headOf(head).some((line) => /^content-length: [1-9]/.test(line))).toBe(true)
  expect(head.slice(head.indexOf('\r\n\r\n') + 4)).toBe('')
  expect(get.slice(get.indexOf('\r\n\r\n') + 4)).not.toBe('')
})

test('contract: HEAD of the POST path is 405', async () => {
  const answer = await service.send(paths.booking, {
    method: 'HEAD',
    headers: { Authorization: `Bearer ${service.partner.token}` },
  })
  expect([answer.status, answer.headers.get('allow'), answer.headers.get('x-error-code')]).toEqual([
    405,
    'POST',
    'method_not_allowed',
  ])
})

test('contract: HEAD of an unknown path is 404, and a 405 lists HEAD and GET in Allow', async () => {
  expect((await service.send('/partners/v1/nothing/', { method: 'HEAD' })).status).toBe(404)
  const authorization = `Authorization: Bearer ${service.partner.token}`
  const answer = await sendRaw(service.baseUrl, [
    `PUT ${paths.user} HTTP/1.1`,
    'Host: localhost',
    authorization,
  ])
  expectRefusal(answer, { status: 405, kind: 'method_not_allowed' })
  expect(answer.headers.get('allow')).toBe('GET, HEAD')
})
