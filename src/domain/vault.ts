/**
 * Seals what must not lie readable in the database. A sealed value is bound to the record that it belongs
 * to: opened under another record's key, or altered, it is refused.
 */
export interface Vault {
  /** @param recordKey from newRecordKey, known before the record is inserted */
  seal(plain: Uint8Array, recordKey: string): Uint8Array
  /** @throws Error if the value was altered, belongs to another record or was sealed under another key */
  open(sealed: Uint8Array, recordKey: string): Uint8Array
}

/** A new random key for a record. */
export function newRecordKey(): string {
  return crypto.randomUUID()
}
