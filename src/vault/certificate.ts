import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { type CertificateFiles, isAddress } from '../domain/addresses'
import { Refusal } from '../domain/errors'
import { formatInstant } from '../scheduling/calendar'
import { readSecretFile } from './secret-file'

export interface Certificate {
  readonly cert: string
  readonly key: string
  /** Earliest expiry in the chain, in ms. */
  readonly validUntil: number
}

/** @param now in ms @throws Refusal settings_invalid if the certificate or its key cannot be used */
export function readCertificate(files: CertificateFiles, now: number): Certificate {
  const cert = readPem(files.certificate, 'TLS certificate', true)
  // Parses the certificate before the key: if the two files are swapped, the error must not be about file modes.
  const chain = chainIn(cert, files.certificate)
  const key = readPem(files.key, 'TLS key', files.isCredential)
  if (!chain[0]?.checkPrivateKey(keyIn(key, files.key))) {
    const first = `the first certificate in ${files.certificate}`
    const action = "put the server's certificate first"
    throw unusableCertificate(`the TLS key ${files.key} does not match ${first}`, action)
  }
  const [from, until] = [Math.max(...chain.map(beginOf)), Math.min(...chain.map(end))]
  const what = `the TLS certificate ${files.certificate}`
  if (now < from) throw unusableCertificate(`${what} is not valid before ${day(from)}`)
  if (now > until) throw unusableCertificate(`${what} expired on ${day(until)}`, 'renew it')
  return { cert, key, validUntil: until }
}

const dayMillis = 24 * 60 * 60_000

/** Days before expiry at which warnings start. Automatic renewal happens earlier. */
const noticeDays = 14

/** Returns warnings for operators. @param baseUrl the address to which partners connect @param now in ms */
export function certificateNotes({ cert, validUntil }: Certificate, baseUrl: string, now: number): string[] {
  const notes: string[] = []
  if (validUntil - now < noticeDays * dayMillis) {
    notes.push(
      `the TLS certificate expires on ${day(validUntil)}; renew it, then send SIGHUP (or restart, if systemd passes it as a credential)`,
    )
  }
  const host = new URL(baseUrl).hostname.replace(/^\[(.*)\]$/, '$1')
  const own = new X509Certificate(cert)
  if (!(isAddress(host) ? own.checkIP(host) : own.checkHost(host))) {
    notes.push(`the TLS certificate is not for ${host}, the host of --base-url; partners will reject it`)
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

/** Returns the certificates in a file (RFC 7468 §5). The first certificate must be the server's. */
function chainIn(text: string, path: string): X509Certificate[] {
  const file = `the TLS certificate file ${path}`
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g)
  const holdsKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)
  if (holdsKey && blocks)
    throw unusableCertificate(`${file} also contains a private key`, 'move the key to a separate file')
  if (holdsKey)
    throw unusableCertificate(
      `${file} contains a private key`,
      'swap it with --tls-key, or name another file',
    )
  if (!blocks) throw unusableCertificate(`${file} contains no PEM certificate (-----BEGIN CERTIFICATE-----)`)
  return blocks.map((block, at) => {
    try {
      return new X509Certificate(block)
    } catch {
      throw unusableCertificate(`certificate ${at + 1} in ${file} is invalid`)
    }
  })
}

function keyIn(text: string, path: string): KeyObject {
  if (/ENCRYPTED/.test(text)) {
    const remedy = `remove the passphrase with openssl pkey -in ${path}`
    throw unusableCertificate(
      `the TLS key ${path} is encrypted, and the server cannot ask for the passphrase`,
      remedy,
    )
  }
  try {
    return createPrivateKey(text)
  } catch {
    throw unusableCertificate(
      `the TLS key file ${path} contains no PEM private key (-----BEGIN PRIVATE KEY-----)`,
    )
  }
}

const beginOf = ({ validFrom }: X509Certificate) => Date.parse(validFrom)
const end = ({ validTo }: X509Certificate) => Date.parse(validTo)

function day(at: number): string {
  return formatInstant(at).slice(0, 10)
}

function unusableCertificate(fault: string, action?: string): Refusal {
  return new Refusal('settings_invalid', fault, { action })
}
