/**
 * Has whoever was answered over HTTPS never ask without, for a year (RFC 6797 §6.1). It is told in no answer to a plain request
 * (§7.2).
 */
export const strictTransport = { 'Strict-Transport-Security': 'max-age=31536000' }
