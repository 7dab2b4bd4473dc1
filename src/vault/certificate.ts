import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { CertificateFiles } from '../domain/certificate-files'
import { Refusal } from '../domain/errors'
import { formatInstant } from '../scheduling/calendar'
import { readSecretFile } from './secret-file'

/** What a server proves with who it is. */
export interface Certificate {
  /** In PEM, the chain behind it. */
  readonly cert: string
  /** In PEM. */
  readonly key: string
  /** The last instant of all of the chain, in ms. */
  readonly validUntil: number
}

/**
 * Reads a certificate and its key, and looks at them as a client will.
 *
 * @param now ms
 * @throws Refusal settings_invalid for what is not there, may not be read, can be read by others, is not PEM, does not fit, or
 *   is not valid now
 */
export function readCertificate(files: CertificateFiles, now: number): Certificate {
  const cert = read(files.certificate, 'TLS certificate', true)
  const key = read(files.key, 'TLS key', files.isCredential)
  const chain = chainIn(cert)
  if (!chain[0]?.checkPrivateKey(keyIn(key))) {
    throw unusable('the TLS key does not fit the certificate, which is to be the first of its file')
  }
  const [from, until] = [Math.max(...chain.map(begin)), Math.min(...chain.map(end))]
  if (now < from) throw unusable(`the TLS certificate is not valid before ${day(from)}`)
  if (now > until) throw unusable(`the TLS certificate expired on ${day(until)}`)
  return { cert, key, validUntil: until }
}

const dayMillis = 24 * 60 * 60_000

/** How long before its end a certificate is spoken of: whoever renews it by machine has done so by then. */
const noticeDays = 14

/** What an operator has to know of a certificate that is in force; null for nothing. @param now ms */
export function certificateNote({ validUntil }: Certificate, now: number): string | null {
  if (validUntil - now >= noticeDays * dayMillis) return null
  return `the TLS certificate expires on ${day(validUntil)}: renew it, then send SIGHUP`
}

function read(path: string, what: string, anyMode: boolean): string {
  try {
    return readSecretFile(path, { what, anyMode })
  } catch (error) {
    throw error instanceof Refusal ? unusable(error.message) : error
  }
}

/** The certificates of a file (RFC 7468 §5), the server's own first. */
function chainIn(text: string): X509Certificate[] {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    throw unusable('the TLS certificate file holds a private key too: keep that in a file of its own')
  }
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g)
  if (!blocks) throw unusable('the TLS certificate file holds no certificate in PEM')
  return blocks.map((block, at) => {
    try {
      return new X509Certificate(block)
    } catch {
      throw unusable(`certificate ${at + 1} of the TLS certificate file cannot be read`)
    }
  })
}

function keyIn(text: string): KeyObject {
  if (/ENCRYPTED/.test(text)) throw unusable('the TLS key is encrypted: nobody can give its passphrase here')
  try {
    return createPrivateKey(text)
  } catch {
    throw unusable('the TLS key file holds no private key in PEM')
  }
}

const begin = ({ validFrom }: X509Certificate) => Date.parse(validFrom)
const end = ({ validTo }: X509Certificate) => Date.parse(validTo)

function day(at: number): string {
  return formatInstant(at).slice(0, 10)
}

function unusable(message: string): Refusal {
  return new Refusal('settings_invalid', message)
}
