import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { $ } from 'bun'
import type { Folder } from './folder'

/** The files of a certificate for localhost, and what is in them. */
export interface TestCertificate {
  readonly certificate: string
  readonly key: string
  readonly cert: string
  readonly pem: string
}

/** Makes a certificate by openssl, with its key, in a folder. @param days how long it is valid from now on */
export async function makeCertificate(folder: Folder, name: string, days = 90): Promise<TestCertificate> {
  const [key, certificate] = [join(folder.path, `${name}.key`), join(folder.path, `${name}.crt`)]
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1'
  await $`openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ${key} -out ${certificate} -days ${days} -subj /CN=${name} -addext ${names}`.quiet()
  return { certificate, key, cert: readFileSync(certificate, 'utf8'), pem: readFileSync(key, 'utf8') }
}
