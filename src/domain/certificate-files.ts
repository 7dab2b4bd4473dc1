/** Where a server's certificate and its key are. */
export interface CertificateFiles {
  readonly certificate: string
  readonly key: string
  /** Whether systemd passes on the key, and so decides who can read it. */
  readonly isCredential: boolean
}
