import type { AuditHashes } from '../../src/domain/audit'
import type { Vault } from '../../src/domain/vault'

/** The hashes of the log under the keys of a vault. */
export function auditHashes(vault: Vault): AuditHashes {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  return {
    line: (text) => hex(vault.keyedHash('audit line', text)),
    seal: (text) => hex(vault.keyedHash('audit head', text)),
  }
}
