import { generateKeyPairSync, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { Folder } from './folder'

export interface TestCertificate {
  readonly certificate: string
  readonly key: string
  readonly cert: string
  readonly pem: string
}

const dayMillis = 24 * 60 * 60_000

/**
 * Makes a self-signed certificate (RFC 5280 §4.1) and its key. The certificate is valid for `days` days from `from`
 * (ms).
 */
export function makeCertificate(folder: Folder, name: string, days = 90, from = Date.now()): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const subject = sequence(set(sequence(commonName, der(0x0c, Buffer.from(name)))))
  const names = sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])))
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, Buffer.from([1])), // serial number
    sequence(ecdsaWithSha256),
    subject,
    sequence(utcTime(from), utcTime(from + days * dayMillis)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(subjectAltName, der(0x04, names)))),
  )
  const bits = Buffer.concat([Buffer.from([0]), sign('sha256', signed, privateKey)])
  const body = sequence(signed, sequence(ecdsaWithSha256), der(0x03, bits)).toString('base64')
  const cert = `-----BEGIN CERTIFICATE-----\n${body.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const [certificate, key] = [folder.file(`${name}.crt`), folder.file(`${name}.key`)]
  writeFileSync(certificate, cert)
  writeFileSync(key, pem, { mode: 0o600 })
  return { certificate, key, cert, pem }
}

// Object identifiers of commonName, subjectAltName and ecdsa-with-SHA256.
const commonName = der(0x06, Buffer.from('550403', 'hex'))
const subjectAltName = der(0x06, Buffer.from('551d11', 'hex'))
const ecdsaWithSha256 = der(0x06, Buffer.from('2a8648ce3d040302', 'hex'))

/** A value with its tag and length (X.690 §8.1). */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const value = Buffer.concat(parts)
  const { length } = value
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...(length < 0x80 ? [length] : long)]), value])
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, ...parts)
}

function set(...parts: Buffer[]): Buffer {
  return der(0x31, ...parts)
}

function utcTime(at: number): Buffer {
  const digits = new Date(at).toISOString().replaceAll(/\D/g, '').slice(2, 14)
  return der(0x17, Buffer.from(`${digits}Z`))
}
