import type { ReportProgress } from '../measures'

/** The cell of a table that a sealed value is bound to. It opens nowhere else. */
export interface SealedCell {
  readonly table: string
  readonly column: string
  /** From newRecordKey, known before the record is inserted. */
  readonly recordKey: string
  /** What else of its record the value holds good for alone, as the partner and kid of a secret. */
  readonly context?: readonly (string | number)[]
}

/**
 * Seals what must not lie readable in the database. A sealed value is bound to its place: altered, or opened as
 * another table's, column's or record's, it is refused.
 */
export interface Vault {
  seal(plain: Uint8Array, place: SealedCell): Uint8Array
  /** @throws Error if the value was altered, belongs to another place or was sealed under another key */
  open(sealed: Uint8Array, place: SealedCell): Uint8Array
  /**
   * A keyed hash (HMAC-SHA-256, RFC 2104) under a key of this purpose alone: 32 bytes, the same for the same text, which
   * nobody without the master key can make or try out.
   */
  keyedHash(purpose: HashPurpose, text: string): Uint8Array
}

/**
 * Envelope encryption: what the operator keeps apart from a database. It seals the data key, under which all the rest
 * is sealed, so that another master key can take its place without touching what is sealed.
 */
export interface MasterKey {
  /** What it seals itself. */
  readonly vault: Vault
  /** A new random data key. */
  newDataKey(): Uint8Array
  vaultOf(dataKey: Uint8Array): Vault
}

/** From whom a copy is kept: nobody but the master key opens it, and whoever is named beside it, or a passphrase. */
export interface Protection {
  /** Public keys in the age format, whose owners can open it too. */
  readonly recipients: readonly string[]
  /** The path of a file with a passphrase, which opens it instead. */
  readonly passphraseFile?: string | undefined
}

/** Writes what one file holds to another, encrypted, and sees that it can be read again. */
export type Protect = (plain: string, encrypted: string, progress?: ReportProgress) => Promise<void>

/** What an operator keeps a master key for beside the database, wherever it is kept. */
export interface Keyring {
  /**
   * Tells how to encrypt a copy.
   *
   * @throws Refusal field_invalid for what is no recipient, database_unusable for a passphrase that cannot be read
   */
  protect(protection: Protection): Promise<Protect>
  /** Whether the key was found to be the next one, of a rotation that was cut short and is finished now. */
  readonly hasRotated: boolean
  /**
   * Makes the next master key, has it put in force, and gives it the place of this one. Tells where it is.
   *
   * @param newKeyFile where to leave it instead; what a rotation that was cut short has left there is taken up
   * @throws Refusal field_invalid if this key is in no file and no other is named; database_unusable where none can be
   *   made; whatever `putInForce` throws
   */
  rotate(newKeyFile: string | undefined, putInForce: (next: MasterKey) => Promise<unknown>): Promise<string>
}

/** What keyed hashes are for: two purposes never have the same hash of a text. */
export type HashPurpose =
  | 'audit line'
  | 'audit head'
  | 'external id'
  | 'email'
  | 'idempotency key'
  | 'request body'

/** A new random key for a record. */
export function newRecordKey(): string {
  return crypto.randomUUID()
}
