import { afterAll, expect, test } from 'bun:test'
import { chmodSync, writeFileSync } from 'node:fs'
import { Refusal } from '../../src/domain/errors'
import { certificateNote, readCertificate } from '../../src/vault/certificate'
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

test.each<[string, () => [certificate: string, key: string, at?: number], string]>([
  [
    'a certificate that is not there',
    () => ['/nowhere.crt', one.key],
    'there is no TLS certificate file at /nowhere.crt',
  ],
  ['a key that is not there', () => [one.certificate, '/nowhere'], 'there is no TLS key file at /nowhere'],
  ['a folder', () => [folder.path, one.key], 'what is at the TLS certificate path is not a file'],
  [
    'another key',
    () => [one.certificate, two.key],
    'the TLS key does not fit the certificate, which is to be the first of its file',
  ],
  [
    'a chain that does not begin with its own',
    () => [written('turned.crt', `${two.cert}${one.cert}`), one.key],
    'the TLS key does not fit the certificate, which is to be the first of its file',
  ],
  [
    'what is no PEM',
    () => [written('text.crt', 'certificate'), one.key],
    'the TLS certificate file holds no certificate in PEM',
  ],
  [
    'a damaged certificate',
    () => [written('damaged.crt', one.cert + two.cert.replace(/\n\w{8}/, '\nAAAAAAAA')), one.key],
    'certificate 2 of the TLS certificate file cannot be read',
  ],
  [
    'a key among the certificates',
    () => [written('both.crt', one.cert + one.pem), one.key],
    'the TLS certificate file holds a private key too: keep that in a file of its own',
  ],
  [
    'a certificate for a key',
    () => [one.certificate, written('no.key', one.cert)],
    'the TLS key file holds no private key in PEM',
  ],
  [
    'a key under a passphrase',
    () => [one.certificate, written('locked.key', one.pem.replaceAll('PRIVATE', 'ENCRYPTED PRIVATE'))],
    'the TLS key is encrypted: nobody can give its passphrase here',
  ],
  [
    'one that is over',
    () => [one.certificate, one.key, madeAt + 91 * dayMillis],
    `the TLS certificate expired on ${day(madeAt + 90 * dayMillis)}`,
  ],
  [
    'one that is to begin',
    () => [one.certificate, one.key, madeAt - dayMillis],
    `the TLS certificate is not valid before ${day(madeAt)}`,
  ],
  [
    'a chain of which one is to begin',
    () => [written('early.crt', `${one.cert}${later.cert}`), one.key],
    `the TLS certificate is not valid before ${day(madeAt + 3 * dayMillis)}`,
  ],
])('%s is refused in one line', (_, files, message) => {
  const [certificate, key, at] = files()
  expect(() => read(certificate, key, at)).toThrow(new Refusal('settings_invalid', message))
})

test('a certificate is spoken of in its last fourteen days', () => {
  const certificate = read(two.certificate, two.key)
  const at = (days: number) => certificateNote(certificate, certificate.validUntil - days * dayMillis)
  expect(at(14)).toBeNull()
  expect(at(13.9)).toBe(
    `the TLS certificate expires on ${day(certificate.validUntil)}: renew it, then send SIGHUP`,
  )
})
