import type { Partner, PartnerKey } from '../../src/domain/partner'
import { newRecordKey, type Vault } from '../../src/domain/ports/vault'
import type { Records } from '../../src/domain/ports/writes'
import { openSealed, secretCell } from './binding'

interface KeyRow extends Omit<PartnerKey, 'secret' | 'partner'> {
  readonly recordKey: string
  readonly partnerId: number
  readonly sealedSecret: Buffer
}

const secretBytes = 32

/** Seals the secret of a new key. Secrets never change, so an update of a key has no secret. */
export function keyColumns(vault: Vault, { secret, ...row }: Partial<Records['key']>) {
  const { partnerId, kid } = row
  if (!secret || partnerId === undefined || kid === undefined) return row
  const recordKey = newRecordKey()
  const sealed = vault.seal(secret, secretCell({ recordKey, partnerId, kid }))
  return { ...row, recordKey, sealedSecret: Buffer.from(sealed) }
}

/** Opens keys. If a secret cannot be opened, that key gets a random secret, which verifies no token. */
export function openKeys(vault: Vault, rows: readonly KeyRow[], partners: readonly Partner[]): PartnerKey[] {
  const byId = new Map(partners.map((partner) => [partner.id, partner]))
  return rows.flatMap((key) => {
    const { kid, issuedAt, startsAt, endsAt } = key
    const partner = byId.get(key.partnerId)
    if (!partner) return []
    const secret = openSecret(vault, key) ?? crypto.getRandomValues(new Uint8Array(secretBytes))
    return [{ kid, secret, issuedAt, startsAt, endsAt, partner }]
  })
}

export function openSecret(vault: Vault, key: KeyRow): Uint8Array | null {
  try {
    return openSealed(vault, key.sealedSecret, secretCell(key), `the key ${key.kid}`)
  } catch {
    return null
  }
}
