import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { type CertificateFiles, isAddress } from '../domain/addresses'
import { Refusal } from '../domain/errors'
import { formatInstant } from '../scheduling/calendar'
import { readSecretFile } from './secret-file'

export interface Certificate {
  /** PEM, with its chain. */
  readonly cert: string
  readonly key: string
  /** Earliest expiry in the chain, in ms. */
  readonly validUntil: number
}

/**
 * Checks a certificate and its key as a client would, at `now` (ms).
 *
 * @throws Refusal settings_invalid if a file is unusable, others can read the key, they do not match, or the
 *   dates are invalid
 */
export function readCertificate(files: CertificateFiles, now: number): Certificate {
  const cert = readPem(files.certificate, 'TLS certificate', true)
  // Before the key: if the two files are swapped, the error must not be about the mode.
  const chain = chainIn(cert, files.certificate)
  const key = readPem(files.key, 'TLS key', files.isCredential)
  if (!chain[0]?.checkPrivateKey(keyIn(key, files.key))) {
    const first = `the first certificate of ${files.certificate}, which is to be the server's own`
    throw unusableCertificate(`the TLS key ${files.key} does not fit ${first}`)
  }
  const [from, until] = [Math.max(...chain.map(beginOf)), Math.min(...chain.map(end))]
  const what = `the TLS certificate ${files.certificate}`
  if (now < from) throw unusableCertificate(`${what} is not valid before ${day(from)}`)
  if (now > until) throw unusableCertificate(`${what} expired on ${day(until)}: renew it`)
  return { cert, key, validUntil: until }
}

const dayMillis = 24 * 60 * 60_000

/** Days before expiry at which warnings start. Automatic renewal is done by then. */
const noticeDays = 14

/** Warnings for operators. `baseUrl` is the address that partners connect to; `now` in ms. */
export function certificateNotes({ cert, validUntil }: Certificate, baseUrl: string, now: number): string[] {
  const notes: string[] = []
  if (validUntil - now < noticeDays * dayMillis) {
    notes.push(
      `the TLS certificate expires on ${day(validUntil)}: renew it, then send SIGHUP, or restart where systemd hands it over as a credential`,
    )
  }
  const host = new URL(baseUrl).hostname.replace(/^\[(.*)\]$/, '$1')
  const own = new X509Certificate(cert)
  if (!(isAddress(host) ? own.checkIP(host) : own.checkHost(host))) {
    notes.push(`the TLS certificate is not for ${host}, as --base-url says: partners will refuse it`)
  }
  return notes
}

function readPem(path: string, what: string, anyMode: boolean): string {
  try {
    // Some editors write a byte order mark (U+FEFF), which the TLS library rejects.
    return readSecretFile(path, { what, anyMode }).replace(/^\uFEFF/, '')
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw unusableCertificate(error.message.includes(path) ? error.message : `${error.message}: ${path}`)
  }
}

/** Certificates in a file (RFC 7468 §5); the server's own must be first. */
function chainIn(text: string, path: string): X509Certificate[] {
  const file = `the TLS certificate file ${path}`
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g)
  const holdsKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)
  if (holdsKey && blocks)
    throw unusableCertificate(`${file} holds a private key too: keep that in a file of its own`)
  if (holdsKey) throw unusableCertificate(`${file} holds a private key: is it the one for --tls-key?`)
  if (!blocks)
    throw unusableCertificate(
      `${file} holds no certificate in PEM, as begins with -----BEGIN CERTIFICATE-----`,
    )
  return blocks.map((block, at) => {
    try {
      return new X509Certificate(block)
    } catch {
      throw unusableCertificate(`certificate ${at + 1} of ${file} cannot be read`)
    }
  })
}

function keyIn(text: string, path: string): KeyObject {
  if (/ENCRYPTED/.test(text)) {
    const remedy = `write it without one by openssl pkey -in ${path}`
    throw unusableCertificate(
      `the TLS key ${path} is encrypted, and nobody can give its passphrase here: ${remedy}`,
    )
  }
  try {
    return createPrivateKey(text)
  } catch {
    throw unusableCertificate(
      `the TLS key file ${path} holds no private key in PEM, as begins with -----BEGIN PRIVATE KEY-----`,
    )
  }
}

const beginOf = ({ validFrom }: X509Certificate) => Date.parse(validFrom)
const end = ({ validTo }: X509Certificate) => Date.parse(validTo)

function day(at: number): string {
  return formatInstant(at).slice(0, 10)
}

function unusableCertificate(message: string): Refusal {
  return new Refusal('settings_invalid', message)
}
