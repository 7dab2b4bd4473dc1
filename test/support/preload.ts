import { useLongTimeouts } from './patience'

// Loaded before each test file (bunfig.toml).
useLongTimeouts()
// PostgreSQL connections are refused if the machine sets these.
for (const name of ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR']) delete process.env[name]
