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

test('a chain and the key of its first certificate are read, and the first to end tells until when', () => {
  const chain = written('chain.crt', `${one.cert}\n${two.cert}`, 0o644)
  const { cert, key, validUntil } = read(chain, one.key)
  expect([cert, key]).toEqual([`${one.cert}\n${two.cert}`, one.pem])
  expect(validUntil).toBe(madeAt + 20 * dayMillis)
})

test('a key that systemd passes on is read, whoever it says can read it', () => {
  const key = written('credential', one.pem, 0o440)
  expect(() => read(one.certificate, key)).toThrow(
    `others can read the TLS key file ${key}: chmod 600 ${key}`,
  )
  expect(read(one.certificate, key, undefined, true).key).toBe(one.pem)
})

test.each<[string, () => [certificate: string, key: string, at?: number], () => string]>([
  [
    'a certificate that is not there',
    () => ['/nowhere.crt', one.key],
    () => 'there is no TLS certificate file at /nowhere.crt',
  ],
  [
    'a key that is not there',
    () => [one.certificate, '/nowhere'],
    () => 'there is no TLS key file at /nowhere',
  ],
  [
    'a folder',
    () => [folder.path, one.key],
    () => `what is at the TLS certificate path is not a file: ${folder.path}`,
  ],
  [
    'another key',
    () => [one.certificate, two.key],
    () =>
      `the TLS key ${two.key} does not fit the first certificate of ${one.certificate}, which is to be the server's own`,
  ],
  [
    'a chain that does not begin with its own',
    () => [written('turned.crt', `${two.cert}${one.cert}`), one.key],
    () =>
      `the TLS key ${one.key} does not fit the first certificate of ${folder.file('turned.crt')}, which is to be the server's own`,
  ],
  [
    'what is no PEM',
    () => [written('text.crt', 'certificate'), one.key],
    () =>
      `the TLS certificate file ${folder.file('text.crt')} holds no certificate in PEM, as begins with -----BEGIN CERTIFICATE-----`,
  ],
  [
    'a damaged certificate',
    () => [written('damaged.crt', one.cert + two.cert.replace(/\n\w{8}/, '\nAAAAAAAA')), one.key],
    () => `certificate 2 of the TLS certificate file ${folder.file('damaged.crt')} cannot be read`,
  ],
  [
    'a key among the certificates',
    () => [written('both.crt', one.cert + one.pem), one.key],
    () =>
      `the TLS certificate file ${folder.file('both.crt')} holds a private key too: keep that in a file of its own`,
  ],
  [
    'one file for the other',
    () => [one.key, one.certificate],
    () => `the TLS certificate file ${one.key} holds a private key: is it the one for --tls-key?`,
  ],
  [
    'a certificate for a key',
    () => [one.certificate, written('no.key', one.cert)],
    () =>
      `the TLS key file ${folder.file('no.key')} holds no private key in PEM, as begins with -----BEGIN PRIVATE KEY-----`,
  ],
  [
    'a key under a passphrase',
    () => [one.certificate, written('locked.key', one.pem.replaceAll('PRIVATE', 'ENCRYPTED PRIVATE'))],
    () =>
      `the TLS key ${folder.file('locked.key')} is encrypted, and nobody can give its passphrase here: write it without one by openssl pkey -in ${folder.file('locked.key')}`,
  ],
  [
    'one that is over',
    () => [one.certificate, one.key, madeAt + 91 * dayMillis],
    () => `the TLS certificate ${one.certificate} expired on ${day(madeAt + 90 * dayMillis)}: renew it`,
  ],
  [
    'one that is to begin',
    () => [one.certificate, one.key, madeAt - dayMillis],
    () => `the TLS certificate ${one.certificate} is not valid before ${day(madeAt)}`,
  ],
  [
    'a chain of which one is to begin',
    () => [written('early.crt', `${one.cert}${later.cert}`), one.key],
    () =>
      `the TLS certificate ${folder.file('early.crt')} is not valid before ${day(madeAt + 3 * dayMillis)}`,
  ],
])('%s is refused in one line', (_, files, message) => {
  const [certificate, key, at] = files()
  expect(() => read(certificate, key, at)).toThrow(new Refusal('settings_invalid', message()))
})

test('a certificate is spoken of in its last fourteen days', () => {
  const certificate = read(two.certificate, two.key)
  const at = (days: number) =>
    certificateNotes(certificate, 'https://localhost:8443/x', certificate.validUntil - days * dayMillis)
  expect(at(14)).toEqual([])
  expect(at(13.9)).toEqual([
    `the TLS certificate expires on ${day(certificate.validUntil)}: renew it, then send SIGHUP, or restart where systemd hands it over as a credential`,
  ])
})

test('a certificate that is for another name or address than partners connect to is spoken of', () => {
  const certificate = read(one.certificate, one.key)
  const notes = (baseUrl: string) => certificateNotes(certificate, baseUrl, madeAt)
  expect(notes('https://api.example.org')).toEqual([
    'the TLS certificate is not for api.example.org, as --base-url says: partners will refuse it',
  ])
  expect(notes('https://[2001:db8::1]/')).toEqual([
    'the TLS certificate is not for 2001:db8::1, as --base-url says: partners will refuse it',
  ])
  expect([notes('https://localhost'), notes('https://127.0.0.1:8443')]).toEqual([[], []])
})

test('a mark before the text of a file, as some editors put it, is left out', () => {
  const marked = written('marked.crt', `\uFEFF${one.cert}`)
  expect(read(marked, one.key).cert).toBe(one.cert)
})
