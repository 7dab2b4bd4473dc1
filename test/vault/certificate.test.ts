import { afterAll, expect, test } from 'bun:test'
import { chmodSync, writeFileSync } from 'node:fs'
import { Refusal } from '../../src/domain/errors'
import { certificateNotes, readCertificate } from '../../src/vault/certificate'
import { makeCertificate } from '../support/certificates'
import { Folder } from '../support/folder'

const folder = new Folder()
const madeAt = Date.UTC(2026, 10, 22, 6)
const dayMillis = 24 * 60 * 60_000
const one = makeCertificate(folder, 'one', 90, madeAt)
const two = makeCertificate(folder, 'two', 20, madeAt)
const later = makeCertificate(folder, 'later', 90, madeAt + 3 * dayMillis)
afterAll(() => folder[Symbol.dispose]())

const written = (name: string, text: string, mode = 0o600) => {
  const path = folder.file(name)
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}

const read = (certificate: string, key: string, at = madeAt + 1000, isCredential = false) =>
  readCertificate({ certificate, key, isCredential }, at)

const day = (at: number) => new Date(at).toISOString().slice(0, 10)

test('vault: a certificate chain is valid until the earliest expiry of its certificates', () => {
  const chain = written('chain.crt', `${one.cert}\n${two.cert}`, 0o644)
  const { cert, key, validUntil } = read(chain, one.key)
  expect([cert, key]).toEqual([`${one.cert}\n${two.cert}`, one.pem])
  expect(validUntil).toBe(madeAt + 20 * dayMillis)
})

test('vault: a TLS key that systemd passes as a credential may be readable by others', () => {
  const key = written('credential', one.pem, 0o440)
  expect(() => read(one.certificate, key)).toThrow(
    `other users can access the TLS key file ${key}; run chmod 600 ${key}`,
  )
  expect(read(one.certificate, key, undefined, true).key).toBe(one.pem)
})

test.each<[string, () => [certificate: string, key: string, at?: number], () => string]>([
  [
    'a missing certificate file',
    () => ['/nowhere.crt', one.key],
    () => 'there is no TLS certificate file at /nowhere.crt',
  ],
  ['a missing key file', () => [one.certificate, '/nowhere'], () => 'there is no TLS key file at /nowhere'],
  [
    'a folder instead of a certificate file',
    () => [folder.path, one.key],
    () => `the TLS certificate path is not a file: ${folder.path}`,
  ],
  [
    'the key of another certificate',
    () => [one.certificate, two.key],
    () =>
      `the TLS key ${two.key} does not match the first certificate in ${one.certificate}; put the server's certificate first`,
  ],
  [
    'a chain that does not begin with the certificate of the key',
    () => [written('turned.crt', `${two.cert}${one.cert}`), one.key],
    () =>
      `the TLS key ${one.key} does not match the first certificate in ${folder.file('turned.crt')}; put the server's certificate first`,
  ],
  [
    'a certificate file that is not PEM',
    () => [written('text.crt', 'certificate'), one.key],
    () =>
      `the TLS certificate file ${folder.file('text.crt')} contains no PEM certificate (-----BEGIN CERTIFICATE-----)`,
  ],
  [
    'a chain with a damaged certificate',
    () => [written('damaged.crt', one.cert + two.cert.replace(/\n\w{8}/, '\nAAAAAAAA')), one.key],
    () => `certificate 2 in the TLS certificate file ${folder.file('damaged.crt')} is invalid`,
  ],
  [
    'a certificate file with a private key in it',
    () => [written('both.crt', one.cert + one.pem), one.key],
    () =>
      `the TLS certificate file ${folder.file('both.crt')} also contains a private key; move the key to a separate file`,
  ],
  [
    'a swap of certificate file and key file',
    () => [one.key, one.certificate],
    () =>
      `the TLS certificate file ${one.key} contains a private key; swap it with --tls-key, or name another file`,
  ],
  [
    'a certificate instead of a key',
    () => [one.certificate, written('no.key', one.cert)],
    () =>
      `the TLS key file ${folder.file('no.key')} contains no PEM private key (-----BEGIN PRIVATE KEY-----)`,
  ],
  [
    'a key with a passphrase',
    () => [one.certificate, written('locked.key', one.pem.replaceAll('PRIVATE', 'ENCRYPTED PRIVATE'))],
    () =>
      `the TLS key ${folder.file('locked.key')} is encrypted, and the server cannot ask for the passphrase; remove the passphrase with openssl pkey -in ${folder.file('locked.key')}`,
  ],
  [
    'an expired certificate',
    () => [one.certificate, one.key, madeAt + 91 * dayMillis],
    () => `the TLS certificate ${one.certificate} expired on ${day(madeAt + 90 * dayMillis)}; renew it`,
  ],
  [
    'a certificate that is not valid yet',
    () => [one.certificate, one.key, madeAt - dayMillis],
    () => `the TLS certificate ${one.certificate} is not valid before ${day(madeAt)}`,
  ],
  [
    'a chain with a certificate that is not valid yet',
    () => [written('early.crt', `${one.cert}${later.cert}`), one.key],
    () =>
      `the TLS certificate ${folder.file('early.crt')} is not valid before ${day(madeAt + 3 * dayMillis)}`,
  ],
])('vault: %s is rejected with an error that names the cause', (_, files, message) => {
  const [certificate, key, at] = files()
  expect(() => read(certificate, key, at)).toThrow(new Refusal('settings_invalid', message()))
})

test('vault: certificateNotes warns of a certificate that expires within fourteen days', () => {
  const certificate = read(two.certificate, two.key)
  const at = (days: number) =>
    certificateNotes(certificate, 'https://localhost:8443/x', certificate.validUntil - days * dayMillis)
  expect(at(14)).toEqual([])
  expect(at(13.9)).toEqual([
    `the TLS certificate expires on ${day(certificate.validUntil)}; renew it, then send SIGHUP (or restart, if systemd passes it as a credential)`,
  ])
})

test('vault: certificateNotes warns of a certificate that is not for the host of the base URL', () => {
  const certificate = read(one.certificate, one.key)
  const notes = (baseUrl: string) => certificateNotes(certificate, baseUrl, madeAt)
  expect(notes('https://api.example.org')).toEqual([
    'the TLS certificate is not for api.example.org, the host of --base-url; partners will reject it',
  ])
  expect(notes('https://[2001:db8::1]/')).toEqual([
    'the TLS certificate is not for 2001:db8::1, the host of --base-url; partners will reject it',
  ])
  expect([notes('https://localhost'), notes('https://127.0.0.1:8443')]).toEqual([[], []])
})

test('vault: a byte order mark at the start of a certificate file is ignored', () => {
  const marked = written('marked.crt', `\uFEFF${one.cert}`)
  expect(read(marked, one.key).cert).toBe(one.cert)
})
