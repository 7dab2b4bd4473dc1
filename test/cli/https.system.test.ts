import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { appendFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:tls'
import { makeCertificate } from '../support/certificates'
import { messagesIn, Operator, stopping } from '../support/operator'
import { eventually } from '../support/process'

setDefaultTimeout(300_000)

const operator = new Operator()
const file = (name: string) => operator.folder.file(name)
beforeAll(() => operator.do('init'))
afterAll(() => operator[Symbol.dispose]())

const serve = (...flags: string[]) =>
  operator.run(['serve', '--port', '0', '--base-url', 'https://x.example', ...flags])

test('cli: serve exits with code 2 for plain HTTP beyond loopback and for a missing certificate', async () => {
  expect(await serve('--host', '0.0.0.0')).toEqual({
    code: 2,
    signal: null,
    stdout: '',
    stderr:
      'error: --host: without HTTPS, requests to 0.0.0.0 cross the network unencrypted\nTry: put it behind an HTTPS proxy and set --behind-proxy (ANTEROOM_BEHIND_PROXY) to its address (127.0.0.1 if it is on this machine), set --tls-certificate and --tls-key, or listen on loopback with --host 127.0.0.1\n',
  })
  expect(await serve('--tls-certificate', file('no.crt'), '--tls-key', file('no.key'))).toEqual({
    code: 2,
    signal: null,
    stdout: '',
    stderr: `error: there is no TLS certificate file at ${file('no.crt')}\n`,
  })
})

test('cli: serve uses HTTPS if the settings file names a certificate, and loads a new certificate on SIGHUP', async () => {
  const [one, two] = [makeCertificate(operator.folder, 'one', 13), makeCertificate(operator.folder, 'two')]
  const [certificate, key] = [file('own.crt'), file('own.key')]
  const put = ({ cert, pem }: typeof one) => {
    writeFileSync(certificate, cert)
    writeFileSync(key, pem, { mode: 0o600 })
  }
  put(one)
  writeFileSync(
    file('settings'),
    `# of this machine\nANTEROOM_TLS_CERTIFICATE=${certificate}\nANTEROOM_TLS_KEY=${key}\nANTEROOM_HOST=0.0.0.0\nANTEROOM_BEHIND_PROXY=127.0.0.1\n`,
  )
  await using service = await operator.serve('--settings', file('settings'), '--base-url', 'http://x.example')
  expect(await certificateNameOf(service.port)).toBe('one')
  expect(JSON.parse((await operator.run(['status', '--json'])).stdout).service.state).toBe('up')
  put(two)
  appendFileSync(file('settings'), 'ANTEROOM_BOOKINGS_PER_MINUTE=7\n')
  service.signal('SIGHUP')
  await eventually('the settings to be read', () => service.stderr.includes('settings reloaded'))
  expect(await certificateNameOf(service.port)).toBe('two')
  const { code, stderr } = await service.stop()
  expect(code).toBe(0)
  const inForce =
    'the certificate that is valid until \\S+Z is in use; the TLS certificate is not for x.example, the host of --base-url; partners will reject it; applied now: --bookings-per-minute'
  expect(messagesIn(stderr)).toEqual([
    'warn: --base-url begins with http:, so partners that follow links send their tokens unencrypted',
    'warn: --tls-certificate and --behind-proxy are both set, so only requests through the proxy are accepted, even over HTTPS; without a proxy, remove --behind-proxy (ANTEROOM_BEHIND_PROXY)',
    expect.stringMatching(
      /^warn: the TLS certificate expires on \S+; renew it, then send SIGHUP \(or restart, if systemd passes it as a credential\)$/,
    ),
    'warn: the TLS certificate is not for x.example, the host of --base-url; partners will reject it',
    expect.stringMatching(new RegExp(`^warn: settings reloaded: ${inForce}$`)),
    ...stopping,
  ])
})

async function certificateNameOf(port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, resolve)
  socket.on('error', reject)
  await promise
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}
