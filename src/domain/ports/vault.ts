import type { ReportProgress } from '../measures'

/** The table cell that a sealed value is bound to. In any other cell, the value does not open. */
export interface SealedCell {
  readonly table: string
  readonly column: string
  /** From newRecordKey, known before the record is inserted. */
  readonly recordKey: string
  /** Further values that the sealed value is bound to, for example the partner and kid of a secret. */
  readonly context?: readonly (string | number)[]
}

/** Encrypts values for the database. A value that was altered or moved to another cell does not open. */
export interface Vault {
  seal(plain: Uint8Array, place: SealedCell): Uint8Array
  /** @throws Error if the value was altered, belongs to another cell or was sealed under another key */
  open(sealed: Uint8Array, place: SealedCell): Uint8Array
  /** A keyed hash of 32 bytes (HMAC-SHA-256, RFC 2104), under a separate key for each purpose. */
  keyedHash(purpose: HashPurpose, text: string): Uint8Array
}

/** Envelope encryption: the master key seals the data key, and the data key seals all values. */
export interface MasterKey {
  /** Seals under the master key itself. */
  readonly vault: Vault
  newDataKey(): Uint8Array
  vaultOf(dataKey: Uint8Array): Vault
}

export interface Protection {
  /** Public keys in the age format. */
  readonly recipients: readonly string[]
  /** The path of a file with a passphrase. The backup is then encrypted with it instead of the master key. */
  readonly passphraseFile?: string | undefined
}

/** Encrypts one file into another and verifies the result. */
export type Protect = (plain: string, encrypted: string, progress?: ReportProgress) => Promise<void>

export interface Keyring {
  /** @throws Refusal field_invalid for a bad recipient, database_unusable for an unreadable passphrase */
  protect(protection: Protection): Promise<Protect>
  /** True if loading the key completed an interrupted rotation. */
  readonly hasRotated: boolean
  /**
   * Replaces the master key after `putInForce` succeeds. Returns the path of the new key.
   *
   * @param newKeyFile another path for the new key; a key left there by an interrupted rotation is reused
   * @throws Refusal field_invalid if the current key is in no file and no path is given
   */
  rotate(newKeyFile: string | undefined, putInForce: (next: MasterKey) => Promise<unknown>): Promise<string>
}

/** Domain separation: the same text has a different hash for each purpose. */
export type HashPurpose =
  | 'audit line'
  | 'audit head'
  | 'external id'
  | 'email'
  | 'idempotency key'
  | 'request body'

export function newRecordKey(): string {
  return crypto.randomUUID()
}
